// NumPy's array files: reading and writing headers, mapped lists and matrices, writing arrays.
#include "base/npy.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"

// ---- the header

size_t sr_npy_header_end(const uint8_t prelude[SR_NPY_PRELUDE]) {
    const uint8_t *p = prelude;
    if (memcmp(p, "\x93NUMPY", 6) != 0 || p[6] < 1 || p[6] > 3)
        return 0;
    size_t len = (size_t)p[8] | (size_t)p[9] << 8;
    if (p[6] > 1)
        len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    size_t end = (p[6] == 1 ? 10 : 12) + len;
    return end <= SR_NPY_MAX_HEADER ? end : 0;
}

typedef struct {
    const char *where;
    const char *at; // next character of the dict's text, which ends with NUL
} Cursor;

static SrStatus bad(const Cursor *c, const char *what) {
    SR_FAIL(SR_ERR_CONFIG, "%s: %s", c->where, what);
}

static void skip_blanks(Cursor *c) {
    while (*c->at == ' ' || *c->at == '\n')
        c->at++;
}

static bool take(Cursor *c, char what) {
    skip_blanks(c);
    if (*c->at != what)
        return false;
    c->at++;
    return true;
}

// Reads a quoted word of at most 31 characters.
static bool take_word(Cursor *c, char out[32]) {
    skip_blanks(c);
    char quote = *c->at;
    if (quote != '\'' && quote != '"')
        return false;
    const char *end = strchr(c->at + 1, quote);
    if (!end || end - c->at > 32)
        return false;
    snprintf(out, 32, "%.*s", (int)(end - c->at - 1), c->at + 1);
    c->at = end + 1;
    return true;
}

// Reads byte order, kind and size: "<U12", "|S20", "<i8", "|O".  The size of 'U' counts
// characters of four bytes each.
static SrStatus take_descr(Cursor *c, SrNpyHeader *h) {
    char word[32], *end;
    if (!take_word(c, word) || !*word || !strchr("<>|=", word[0]) || !word[1] ||
        !strchr("USiubfO", word[1]))
        return bad(c, "its element type is neither a number nor a string");
    unsigned long width = strtoul(word + 2, &end, 10);
    bool sized = end > word + 2 && isdigit((unsigned char)word[2]);
    if (*end || width > 65536 || (!sized && word[1] != 'O'))
        return bad(c, "its element type has no size, or one beyond 65536");
    h->order = word[0];
    h->kind = word[1];
    h->width = (int)width * (h->kind == 'U' ? 4 : 1);
    return SR_OK;
}

// Reads a shape such as "(1281167,)" or "(1281167, 1)"; Python 2 wrote 1281167L.
static SrStatus take_shape(Cursor *c, SrNpyHeader *h) {
    if (!take(c, '('))
        return bad(c, "its shape is not a tuple");
    for (h->rank = 0; !take(c, ')'); h->rank++) {
        char *end;
        if (!isdigit((unsigned char)*c->at))
            return bad(c, "its shape is not a tuple of whole numbers");
        unsigned long long d = strtoull(c->at, &end, 10);
        if (h->rank == SR_MAX_RANK || d > INT64_MAX)
            return bad(c, "its shape has more than 6 dimensions, or one beyond 2^63");
        h->d[h->rank] = (int64_t)d;
        c->at = end + (*end == 'L');
        take(c, ',');
    }
    return SR_OK;
}

static SrStatus take_order(Cursor *c, SrNpyHeader *h) {
    skip_blanks(c);
    h->fortran = strncmp(c->at, "True", 4) == 0;
    if (!h->fortran && strncmp(c->at, "False", 5) != 0)
        return bad(c, "fortran_order is neither True nor False");
    c->at += h->fortran ? 4 : 5;
    return SR_OK;
}

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: each key once, in any order.
static SrStatus read_dict(Cursor *c, SrNpyHeader *h) {
    static const struct {
        const char *key;
        SrStatus (*take)(Cursor *, SrNpyHeader *);
    } keys[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};
    unsigned seen = 0;
    char key[32];
    if (!take(c, '{'))
        return bad(c, "its header is not a dict");
    while (!take(c, '}')) {
        int k = 0;
        if (!take_word(c, key) || !take(c, ':'))
            return bad(c, "its header is damaged");
        while (k < SR_COUNT(keys) && strcmp(keys[k].key, key) != 0)
            k++;
        if (k == SR_COUNT(keys) || seen & 1u << k)
            return bad(c, "its header has an unknown key, or one twice");
        SR_TRY(keys[k].take(c, h));
        seen |= 1u << k;
        take(c, ',');
    }
    return seen == 7 ? SR_OK : bad(c, "its header is incomplete");
}

SrStatus sr_npy_header_read(const uint8_t *file, size_t end, const char *where, SrNpyHeader *out) {
    char text[SR_NPY_MAX_HEADER + 1];
    size_t begin = file[6] == 1 ? 10 : 12;
    *out = (SrNpyHeader){0};
    memcpy(text, file + begin, end - begin);
    text[end - begin] = '\0';
    return read_dict(&(Cursor){where, text}, out);
}

// Writes format 1.0.  Six dimensions of ten digits and a descr of twelve characters fit the room.
size_t sr_npy_header_write(const char *descr, SrShape shape, char out[SR_NPY_HEADER_ROOM]) {
    size_t room = SR_NPY_HEADER_ROOM, len = 10;
    len += (size_t)snprintf(out + len, room - len,
                            "{'descr': '%.32s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < shape.rank; i++)
        len += (size_t)snprintf(out + len, room - len, "%d,%s", shape.d[i],
                                i + 1 < shape.rank ? " " : "");
    len += (size_t)snprintf(out + len, room - len, "), }");
    size_t bytes = (len + 1 + 63) / 64 * 64; // the header ends with a newline
    memset(out + len, ' ', bytes - len);
    out[bytes - 1] = '\n';
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (char)((bytes - 10) & 255);
    out[9] = (char)((bytes - 10) >> 8);
    return bytes;
}

// ---- a mapped list or matrix

static SrStatus check_type(const char *path, const SrNpyHeader *h) {
    bool number = h->kind != 'U' && h->kind != 'S';
    bool stored =
        h->width == 4 || h->width == 8 || (h->kind != 'f' && (h->width == 1 || h->width == 2));
    if (h->kind == 'O')
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds pickled Python objects; save it again with numpy.save(path, "
                "array.astype(str))",
                path);
    if (h->order == '>' && h->width > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: the elements are big-endian; expected little-endian strings or numbers", path);
    if (number && !stored)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s of %d bytes are not supported; save it again with numpy.save(path, "
                "array.astype(numpy.%s))",
                path, h->kind == 'f' ? "floats" : "numbers", h->width,
                h->kind == 'f' ? "float32" : "int64");
    return SR_OK;
}

static SrStatus check_shape(const char *path, const SrNpyHeader *h) {
    if (h->rank < 1 || h->rank > 2)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected a list or a matrix, but its shape has %d dimensions",
                path, h->rank);
    if (h->rank == 2 && h->fortran)
        SR_FAIL(SR_ERR_CONFIG,
                "%s is stored by columns; save it again after numpy.ascontiguousarray", path);
    return SR_OK;
}

// Checks that the size of the elements in the header matches the file's size.
static SrStatus open_mapped(const char *path, SrNpy *npy) {
    SrNpyHeader h;
    size_t end = npy->map_bytes > SR_NPY_PRELUDE ? sr_npy_header_end(npy->map) : 0;
    if (!end || end > npy->map_bytes)
        SR_FAIL(SR_ERR_CONFIG, "%s is not a .npy file, or its header is cut off", path);
    SR_TRY(sr_npy_header_read(npy->map, end, path, &h));
    SR_TRY(check_type(path, &h));
    SR_TRY(check_shape(path, &h));
    npy->kind = h.kind;
    npy->width = h.width;
    npy->rank = h.rank;
    npy->n = h.d[0];
    npy->columns = h.rank == 2 ? h.d[1] : 1;
    npy->items = (const uint8_t *)npy->map + end;
    size_t room = npy->map_bytes - end, row;
    if (__builtin_mul_overflow((size_t)npy->width, (size_t)npy->columns, &row) ||
        (row ? room % row != 0 || room / row != (size_t)npy->n : room != 0))
        SR_FAIL(SR_ERR_CONFIG, "%s: %zu bytes of data, expected %lld x %lld x %d bytes", path, room,
                (long long)npy->n, (long long)npy->columns, npy->width);
    return SR_OK;
}

SrStatus sr_npy_open(const char *path, SrNpy *out) {
    *out = (SrNpy){0};
    SR_TRY(sr_file_map(path, &out->map, &out->map_bytes));
    SrStatus status = open_mapped(path, out);
    if (status != SR_OK)
        sr_npy_close(out);
    return status;
}

void sr_npy_close(SrNpy *npy) {
    if (npy->map)
        sr_file_unmap(npy->map, npy->map_bytes);
    *npy = (SrNpy){0};
}

bool sr_npy_has_strings(const SrNpy *npy) { return npy->kind == 'U' || npy->kind == 'S'; }

// Writes one character as UTF-8 and returns its 1 to 4 bytes.
static size_t put_utf8(uint32_t c, char out[4]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00 >> n & 0xFF) | c);
    return n;
}

// UTF-8 never needs more bytes than UTF-32.
size_t sr_npy_string_room(const SrNpy *npy) { return (size_t)npy->width + 1; }

size_t sr_npy_string(const SrNpy *npy, int64_t i, char *out, size_t room) {
    const uint8_t *p = npy->items + (size_t)i * (size_t)npy->width;
    size_t len = 0;
    if (npy->kind == 'S') {
        len = SR_MIN(strnlen((const char *)p, (size_t)npy->width), room - 1);
        memcpy(out, p, len);
    }
    for (int k = 0; npy->kind == 'U' && k < npy->width; k += 4) {
        uint32_t c;
        char utf8[4];
        memcpy(&c, p + k, 4); // the elements may be unaligned
        if (!c || c > 0x10FFFF)
            break;
        size_t n = put_utf8(c, utf8);
        if (len + n >= room)
            break;
        memcpy(out + len, utf8, n);
        len += n;
    }
    out[len] = 0;
    return len;
}

static double real_at(const SrNpy *npy, int64_t i) {
    const uint8_t *p = npy->items + (size_t)i * (size_t)npy->width;
    float f = 0;
    double d = 0;
    memcpy(npy->width == 4 ? (void *)&f : (void *)&d, p, npy->width == 4 ? 4 : 8);
    return npy->width == 4 ? (double)f : d;
}

bool sr_npy_is_whole(const SrNpy *npy, int64_t i) {
    return npy->kind != 'f' || floor(real_at(npy, i)) == real_at(npy, i);
}

// Reads byte by byte, because the elements may be unaligned.
int64_t sr_npy_integer(const SrNpy *npy, int64_t i) {
    const uint8_t *p = npy->items + (size_t)i * (size_t)npy->width;
    if (npy->kind == 'f') {
        double d = real_at(npy, i);
        return d >= -1e15 && d <= 1e15 ? (int64_t)d : -1;
    }
    uint64_t v = 0;
    for (int b = npy->width - 1; b >= 0; b--)
        v = v << 8 | p[b];
    int unused = 64 - 8 * npy->width;
    return npy->kind == 'i' ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

// ---- writing

SrStatus sr_npy_save(const char *path, const char *descr, SrShape shape, const void *data,
                     size_t bytes) {
    SrFileWriter writer;
    char header[SR_NPY_HEADER_ROOM];
    size_t len = sr_npy_header_write(descr, shape, header);
    SR_TRY(sr_file_begin(&writer, path));
    if (fwrite(header, 1, len, writer.f) == len && fwrite(data, 1, bytes, writer.f) == bytes)
        return sr_file_commit(&writer);
    SrStatus status = sr_fail(SR_ERR_IO, "cannot write %s", path);
    sr_file_abort(&writer);
    return status;
}
