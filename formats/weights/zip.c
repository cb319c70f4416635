// Reads zip directories.  All numbers are little-endian, and offsets are checked before use.
#include "formats/weights/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/compiler.h"

enum {
    END_BYTES = 22,       // end of central directory, without its comment
    END64_BYTES = 56,     // Zip64 end record
    LOCATOR64_BYTES = 20, // locator of the Zip64 end record
    CENTRAL_BYTES = 46,   // one entry of the directory, without its name
    LOCAL_BYTES = 30,     // header before an entry's data, without its name
    MAX_COMMENT = 65535,
    MAX_ENTRIES = 200000, // takes 12 MiB; the largest checkpoints have a few thousand
};

typedef struct {
    const uint8_t *map;
    uint64_t bytes;
    const char *path;
    uint64_t directory, directory_bytes, n;
} Archive;

static uint64_t number(const uint8_t *p, int bytes) {
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static bool is_signature(const uint8_t *p, const char *two) {
    return p[0] == 'P' && p[1] == 'K' && memcmp(p + 2, two, 2) == 0;
}

static SrStatus bad(const Archive *a, const char *what) {
    SR_FAIL(SR_ERR_CONFIG, "%s: damaged zip archive: %s", a->path, what);
}

static SrStatus bad_entry(const Archive *a, const char *name, const char *what) {
    SR_FAIL(SR_ERR_CONFIG, "%s: zip entry '%.200s' %s", a->path, name, what);
}

// Searches the end record from the back, because a comment of unknown length may follow it.
static SrStatus find_end(Archive *a) {
    uint64_t furthest = a->bytes > END_BYTES + MAX_COMMENT ? a->bytes - END_BYTES - MAX_COMMENT : 0;
    if (a->bytes < END_BYTES)
        return bad(a, "it is cut off");
    uint64_t at = a->bytes - END_BYTES;
    while (!is_signature(a->map + at, "\5\6")) {
        if (at == furthest)
            return bad(a, "its directory is missing (truncated?)");
        at--;
    }
    const uint8_t *end = a->map + at;
    a->n = number(end + 10, 2);
    a->directory_bytes = number(end + 12, 4);
    a->directory = number(end + 16, 4);
    if (at < LOCATOR64_BYTES || !is_signature(end - LOCATOR64_BYTES, "\6\7"))
        return SR_OK;
    uint64_t twin = number(end - LOCATOR64_BYTES + 8, 8);
    if (twin > a->bytes || a->bytes - twin < END64_BYTES || !is_signature(a->map + twin, "\6\6"))
        return bad(a, "its Zip64 record is not where the archive says");
    a->n = number(a->map + twin + 32, 8);
    a->directory_bytes = number(a->map + twin + 40, 8);
    a->directory = number(a->map + twin + 48, 8);
    return SR_OK;
}

// Reads sizes and offset that do not fit 32 bits: extra field 1 holds only those, in this order.
static void read_zip64(const uint8_t *extra, size_t bytes, SrZipEntry *e) {
    uint64_t *const fields[] = {&e->bytes, &e->stored, &e->begin};
    while (bytes >= 4) {
        size_t id = (size_t)number(extra, 2), len = (size_t)number(extra + 2, 2);
        if (len > bytes - 4)
            return;
        const uint8_t *p = extra + 4, *end = p + len;
        for (int i = 0; id == 1 && i < SR_COUNT(fields); i++) {
            if (*fields[i] != UINT32_MAX || end - p < 8)
                continue;
            *fields[i] = number(p, 8);
            p += 8;
        }
        extra += 4 + len;
        bytes -= 4 + len;
    }
}

// Finds the data after the local header, whose extra field may be longer than the directory's.
static SrStatus locate_data(const Archive *a, SrZipEntry *e) {
    if (e->begin > a->directory || a->directory - e->begin < LOCAL_BYTES)
        return bad_entry(a, e->name, "begins beyond the end of the data");
    const uint8_t *local = a->map + e->begin;
    if (!is_signature(local, "\3\4"))
        return bad_entry(a, e->name, "is not where the directory says");
    uint64_t skip = LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
    uint64_t room = a->directory - e->begin;
    if (skip > room || e->stored > room - skip)
        return bad_entry(a, e->name, "reaches beyond the end of the data (truncated?)");
    e->data = local + skip;
    return SR_OK;
}

static SrStatus read_entry(const Archive *a, SrArena *arena, const uint8_t *p, uint64_t room,
                           SrZipEntry *e, uint64_t *used) {
    if (room < CENTRAL_BYTES || !is_signature(p, "\1\2"))
        return bad(a, "its directory is cut off");
    size_t name = (size_t)number(p + 28, 2), extra = (size_t)number(p + 30, 2);
    *used = CENTRAL_BYTES + name + extra + number(p + 32, 2);
    if (*used > room)
        return bad(a, "its directory is cut off");
    char *copy = sr_arena_alloc(arena, name + 1);
    if (!copy)
        return sr_arena_failure(arena, a->path);
    memcpy(copy, p + CENTRAL_BYTES, name);
    uint64_t flags = number(p + 8, 2), method = number(p + 10, 2);
    *e = (SrZipEntry){.name = copy,
                      .deflated = method == 8,
                      .crc = (uint32_t)number(p + 16, 4),
                      .stored = number(p + 20, 4),
                      .bytes = number(p + 24, 4),
                      .begin = number(p + 42, 4)};
    read_zip64(p + CENTRAL_BYTES + name, extra, e);
    if (strlen(copy) != name)
        return bad_entry(a, copy, "has a zero byte in its name");
    if (flags & 1)
        return bad_entry(a, copy, "is encrypted");
    if (method != 0 && method != 8)
        return bad_entry(a, copy, "is compressed by a method other than deflate");
    if (method == 0 && e->stored != e->bytes)
        return bad_entry(a, copy, "is stored with two different sizes");
    return locate_data(a, e);
}

static int by_begin(const void *x, const void *y) {
    uint64_t a = ((const SrZipEntry *)x)->begin, b = ((const SrZipEntry *)y)->begin;
    return a < b ? -1 : a > b;
}

static int by_name(const void *x, const void *y) {
    return strcmp(((const SrZipEntry *)x)->name, ((const SrZipEntry *)y)->name);
}

static SrStatus check_entries(const Archive *a, SrZip *zip) {
    SrZipEntry *e = zip->entries;
    size_t n = (size_t)zip->n;
    qsort(e, n, sizeof *e, by_begin);
    for (size_t i = 1; i < n; i++)
        if ((uint64_t)(e[i - 1].data - a->map) + e[i - 1].stored > e[i].begin)
            return bad_entry(a, e[i].name, "overlaps the one before");
    qsort(e, n, sizeof *e, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(e[i - 1].name, e[i].name) == 0)
            return bad_entry(a, e[i].name, "is there twice");
    return SR_OK;
}

SrStatus sr_zip_open(SrZip *zip, SrArena *arena, const void *map, size_t bytes, const char *path) {
    Archive a = {.map = map, .bytes = bytes, .path = path};
    *zip = (SrZip){0};
    SR_TRY(find_end(&a));
    if (a.directory > a.bytes || a.directory_bytes > a.bytes - a.directory)
        return bad(&a, "its directory lies beyond the end (truncated?)");
    if (a.n > MAX_ENTRIES || a.n * CENTRAL_BYTES > a.directory_bytes)
        return bad(&a, "its directory claims more entries than it holds or than are read (200000)");
    zip->entries = sr_arena_alloc(arena, (size_t)(a.n + 1) * sizeof *zip->entries);
    if (!zip->entries)
        return sr_arena_failure(arena, path);
    uint64_t at = 0, used = 0;
    for (; zip->n < (int)a.n; zip->n++, at += used)
        SR_TRY(read_entry(&a, arena, a.map + a.directory + at, a.directory_bytes - at,
                          &zip->entries[zip->n], &used));
    return check_entries(&a, zip);
}

const SrZipEntry *sr_zip_find(const SrZip *zip, const char *name) {
    SrZipEntry key = {.name = name};
    if (zip->n == 0)
        return NULL;
    return bsearch(&key, zip->entries, (size_t)zip->n, sizeof key, by_name);
}

// Works in pieces, because zlib takes 32-bit lengths.
static uint32_t checksum(const uint8_t *p, uint64_t bytes) {
    uLong crc = crc32(0, NULL, 0);
    while (bytes > 0) {
        uInt piece = (uInt)SR_MIN(bytes, (uint64_t)1 << 30);
        crc = crc32(crc, p, piece);
        p += piece;
        bytes -= piece;
    }
    return (uint32_t)crc;
}

static SrStatus check_sum(const SrZipEntry *e, const char *path, const void *data) {
    uint32_t crc = checksum(data, e->bytes);
    if (crc == e->crc)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s: zip entry '%.200s' is damaged: CRC-32 %08x, expected %08x", path,
            e->name, (unsigned)crc, (unsigned)e->crc);
}

// Inflates e into out.  True: exactly n bytes came out and, if the entry has no more, the stream
// ended.
static bool inflate_into(const SrZipEntry *e, uint8_t *out, uint64_t n) {
    z_stream z = {0};
    uint64_t in = 0, done = 0;
    uint8_t beyond; // receives a byte when the stream is longer than claimed
    int rc = inflateInit2(&z, -MAX_WBITS);
    while (rc == Z_OK && (done < n || n == e->bytes)) {
        uInt want = (uInt)SR_MIN(n - done, (uint64_t)1 << 30);
        uInt have = (uInt)SR_MIN(e->stored - in, (uint64_t)1 << 30);
        z.next_in = (Bytef *)(uintptr_t)(e->data + in);
        z.avail_in = have;
        z.next_out = want ? out + done : &beyond;
        z.avail_out = want ? want : 1;
        rc = inflate(&z, Z_NO_FLUSH);
        in += have - z.avail_in;
        done += (want ? want : 1) - z.avail_out;
        if (done > n)
            rc = Z_DATA_ERROR;
    }
    inflateEnd(&z);
    return done == n && (rc == Z_STREAM_END || (rc == Z_OK && n < e->bytes));
}

SrStatus sr_zip_read(const SrZipEntry *entry, const char *path, void *out, uint64_t n) {
    if (n > entry->bytes)
        SR_FAIL(SR_ERR_CONFIG, "%s: zip entry '%.200s' has only %" PRIu64 " bytes", path,
                entry->name, entry->bytes);
    if (!entry->deflated)
        memcpy(out, entry->data, (size_t)n);
    else if (!inflate_into(entry, out, n))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: zip entry '%.200s' is damaged: it does not inflate to "
                "the %" PRIu64 " bytes it claims",
                path, entry->name, entry->bytes);
    return n == entry->bytes ? check_sum(entry, path, out) : SR_OK;
}

SrStatus sr_zip_verify(const SrZipEntry *entry, const char *path) {
    return entry->deflated ? SR_OK : check_sum(entry, path, entry->data);
}
