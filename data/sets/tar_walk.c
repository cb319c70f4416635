// Walks over tar archives and writes their headers: ustar, pax and GNU long names.
#include "data/sets/tar_walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "data/sets/source.h"

// Largest pax header; programs write names, times and owners there.
#define MAX_PAX_BYTES (64 << 10)

typedef struct {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
        magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
} Header;
_Static_assert(sizeof(Header) == SR_TAR_BLOCK, "a tar header is one block");

// Content of the extended headers, which describe the member that follows them.
typedef struct {
    char name[SR_TAR_NAME_BYTES]; // "": not given
    uint64_t size;
    bool sized;
} Extended;

// ---- reading

SrStatus sr__tar_open(const char *path, SrTar *out) {
    struct stat st;
    *out = (SrTar){.fd = sr_file_open_fd(path), .path = path};
    if (out->fd < 0)
        return sr__source_fail("cannot open", path);
    if (fstat(out->fd, &st) == 0 && S_ISREG(st.st_mode)) {
        out->size = (uint64_t)st.st_size;
        return SR_OK;
    }
    sr__tar_close(out);
    SR_FAIL(SR_ERR_IO, "cannot read %s: not a regular file", path);
}

void sr__tar_close(SrTar *tar) {
    if (tar->fd >= 0)
        close(tar->fd);
    tar->fd = -1;
}

SrStatus sr__tar_read(int fd, const char *path, uint64_t at, void *out, size_t n) {
    char *to = out;
    for (size_t got = 0; got < n;) {
        ssize_t part = pread(fd, to + got, n - got, (off_t)(at + got));
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return sr__source_fail("cannot read", path);
        if (part == 0)
            SR_FAIL(SR_ERR_IO, "cannot read %s at byte %llu: the file is cut off", path,
                    (unsigned long long)(at + got));
        got += (size_t)part;
    }
    return SR_OK;
}

// Parses octal digits between blanks, or GNU's base 256 if the first bit is set.  False: neither,
// or the number exceeds 63 bits.
static bool number(const char *field, int n, uint64_t *out) {
    uint64_t value = 0;
    int i = 0;
    if ((unsigned char)field[0] & 0x80) {
        for (value = (unsigned char)field[0] & 0x7f, i = 1; i < n; i++) {
            if (value >> 55)
                return false;
            value = value << 8 | (unsigned char)field[i];
        }
        *out = value;
        return true;
    }
    while (i < n && field[i] == ' ')
        i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0'); // 12 digits are 36 bits
    *out = value;
    return i == n || field[i] == ' ' || field[i] == 0;
}

// Sum of all bytes of the header, with the checksum field taken as blanks.
static unsigned checksum(const Header *h) {
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof *h; i++)
        sum += i >= offsetof(Header, checksum) && i < offsetof(Header, type) ? ' ' : p[i];
    return sum;
}

static bool is_zero(const Header *h) {
    const char *p = (const char *)h;
    return p[0] == 0 && memcmp(p, p + 1, sizeof *h - 1) == 0;
}

static SrStatus read_header(SrTar *tar, Header *h, uint64_t *size) {
    uint64_t sum;
    if (tar->at > tar->size || tar->size - tar->at < SR_TAR_BLOCK)
        SR_FAIL(SR_ERR_IO,
                "%s is cut off after %llu bytes: the zeros that end an archive are missing; copy "
                "or pack it again",
                tar->path, (unsigned long long)tar->size);
    SR_TRY(sr__tar_read(tar->fd, tar->path, tar->at, h, sizeof *h));
    if (is_zero(h))
        return SR_OK;
    bool gzip = tar->at == 0 && memcmp(h, "\x1f\x8b", 2) == 0;
    if (gzip || !number(h->checksum, 8, &sum) || sum != checksum(h) || !number(h->size, 12, size))
        SR_FAIL(SR_ERR_IO, "%s: no tar header at byte %llu: %s", tar->path,
                (unsigned long long)tar->at,
                gzip ? "it is compressed; unpack it with gunzip"
                     : "its checksum or size is wrong; copy or pack it again");
    tar->at += SR_TAR_BLOCK;
    return SR_OK;
}

// Moves past the member's bytes and their padding.
static SrStatus skip(SrTar *tar, uint64_t size) {
    uint64_t left = tar->size - tar->at;
    if (size > left)
        SR_FAIL(SR_ERR_IO,
                "%s is cut off: the member at byte %llu has %llu bytes, but only %llu bytes "
                "follow; copy or pack the file again",
                tar->path, (unsigned long long)(tar->at - SR_TAR_BLOCK), (unsigned long long)size,
                (unsigned long long)left);
    tar->at += size + sr__tar_padding(size);
    return SR_OK;
}

// Reads "length key=value\n" records; other keys do not change where the bytes are.
static bool pax_record(char *record, Extended *x) {
    char *value = strchr(record, '=');
    if (!value)
        return false;
    *value++ = 0;
    if (strcmp(record, "path") == 0)
        return snprintf(x->name, sizeof x->name, "%s", value) < (int)sizeof x->name;
    if (strcmp(record, "size") == 0) {
        char *end;
        errno = 0;
        x->size = strtoull(value, &end, 10);
        x->sized = true;
        return *value >= '0' && *value <= '9' && !*end && !errno;
    }
    return strcmp(record, "GNU.sparse.major") !=
           0; // the bytes of a sparse file are not its content
}

static bool pax_records(char *p, size_t n, Extended *x) {
    for (char *last = p + n; p < last && *p;) {
        char *text;
        errno = 0;
        unsigned long len = strtoul(p, &text, 10);
        if (errno || text == p || *text != ' ' || len > (size_t)(last - p) || p + len <= text + 1 ||
            p[len - 1] != '\n')
            return false;
        p[len - 1] = 0;
        if (!pax_record(text + 1, x))
            return false;
        p += len;
    }
    return true;
}

// Reads an 'x' or 'L' header, whose bytes describe the next member.
static SrStatus read_extended(SrTar *tar, char type, uint64_t size, Extended *x) {
    static _Thread_local char text[MAX_PAX_BYTES + 1];
    uint64_t at = tar->at, most = type == 'L' ? SR_TAR_NAME_BYTES - 1 : MAX_PAX_BYTES;
    SR_TRY(skip(tar, size));
    bool ok = size <= most + (type == 'L'); // GNU tar counts the name's NUL
    if (ok)
        SR_TRY(sr__tar_read(tar->fd, tar->path, at, text, (size_t)size));
    text[ok ? size : 0] = 0;
    if (ok && type == 'L')
        ok = snprintf(x->name, sizeof x->name, "%s", text) < (int)sizeof x->name;
    else if (ok)
        ok = pax_records(text, (size_t)size, x);
    if (!ok)
        SR_FAIL(SR_ERR_IO,
                "%s: the extended header at byte %llu is malformed or longer than %llu bytes",
                tar->path, (unsigned long long)(at - SR_TAR_BLOCK), (unsigned long long)most);
    return SR_OK;
}

static void plain_name(const Header *h, char out[SR_TAR_NAME_BYTES]) {
    bool prefixed = memcmp(h->magic, "ustar", 6) == 0 && h->prefix[0];
    snprintf(out, SR_TAR_NAME_BYTES, "%.155s%s%.100s", prefixed ? h->prefix : "",
             prefixed ? "/" : "", h->name);
}

SrStatus sr__tar_next(SrTar *tar, SrTarMember *out, bool *end) {
    Extended x = {.sized = false};
    x.name[0] = 0;
    for (;;) {
        Header h;
        uint64_t size = 0;
        SR_TRY(read_header(tar, &h, &size));
        *end = is_zero(&h);
        if (*end)
            return SR_OK;
        if (h.type == 'x' || h.type == 'L') {
            SR_TRY(read_extended(tar, h.type, size, &x));
            continue;
        }
        size = x.sized ? x.size : size;
        uint64_t at = tar->at;
        // Links, devices and folders have no bytes, whatever their size says.
        SR_TRY(skip(tar, h.type >= '1' && h.type <= '6' ? 0 : size));
        if (h.type == 'g' || h.type == 'K') // not about this member alone
            continue;
        if (h.type == '0' || h.type == 0 || h.type == '7') {
            plain_name(&h, out->name);
            if (*x.name)
                memcpy(out->name, x.name, sizeof x.name);
            out->offset = at;
            out->size = size;
            return SR_OK;
        }
        x = (Extended){.sized = false};
    }
}

// ---- writing

static void put(Header *h, uint64_t size, char type) {
    memcpy(h->mode, "0000644", 8);
    memcpy(h->uid, "0000000", 8);
    memcpy(h->gid, "0000000", 8);
    snprintf(h->size, sizeof h->size, "%011llo", (unsigned long long)size);
    memcpy(h->mtime, "00000000000", 12);
    h->type = type;
    memcpy(h->magic, "ustar", 6);
    memcpy(h->version, "00", 2);
    char sum[8];
    snprintf(sum, sizeof sum, "%06o", checksum(h) & 0777777);
    memcpy(h->checksum, sum, 7);
    h->checksum[7] = ' ';
}

// Position of the slash that splits a name into prefix and name; -1: no such split fits.
static int cut_at(const char *name, size_t len) {
    if (len <= sizeof((Header *)0)->name)
        return 0;
    for (size_t i = 1; i < len && i <= sizeof((Header *)0)->prefix; i++)
        if (name[i] == '/' && len - i - 1 <= sizeof((Header *)0)->name && i + 1 < len)
            return (int)i;
    return -1;
}

// A pax record's length counts the whole record, its own digits too.
static void put_pax(const char *name, SrText *out) {
    static const char zeros[SR_TAR_BLOCK];
    size_t len = strlen(name) + strlen(" path=\n");
    int digits = snprintf(NULL, 0, "%zu", len);
    while (snprintf(NULL, 0, "%zu", len + (size_t)digits) > digits)
        digits++;
    len += (size_t)digits;
    Header h = {.name = "pax_path"};
    put(&h, len, 'x');
    sr_text_addn(out, (const char *)&h, sizeof h);
    sr_text_printf(out, "%zu path=%s\n", len, name);
    sr_text_addn(out, zeros, sr__tar_padding(len));
}

void sr__tar_header(const char *name, uint64_t size, SrText *out) {
    size_t len = strlen(name);
    int cut = cut_at(name, len);
    Header h = {.type = 0};
    if (cut < 0)
        put_pax(name, out);
    if (cut > 0)
        memcpy(h.prefix, name, (size_t)cut);
    const char *rest = cut > 0 ? name + cut + 1 : name;
    size_t n = strlen(rest);
    memcpy(h.name, rest, n < sizeof h.name ? n : sizeof h.name);
    put(&h, size, '0');
    sr_text_addn(out, (const char *)&h, sizeof h);
}
