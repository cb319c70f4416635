// The .npy format (numpy.org/doc/stable/reference/generated/numpy.lib.format.html): magic, version,
// the length and text of a Python dict with 'descr', 'fortran_order' and 'shape', then the raw
// elements.
#include "data/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"

#define MAX_HEADER 65536

// The value after 'key': in the header's text, NULL if the key is missing.
static const char *value_of(const char *header, const char *key) {
    const char *p = strstr(header, key);
    p = p ? strchr(p, ':') : NULL;
    return p ? p + 1 + strspn(p + 1, " ") : NULL;
}

// Byte order, kind and size: "<U12", "|S20", "<i8".  Unicode counts characters, of four bytes each.
static SrStatus parse_descr(const char *path, const char *descr, SrNpy *npy) {
    if (descr && strncmp(descr, "'|O'", 4) == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds pickled Python objects; write it again with numpy.save(path, "
                "array.astype(str))",
                path);
    char order = 0, kind = 0;
    int width = 0;
    if (!descr || sscanf(descr, "'%c%c%d'", &order, &kind, &width) != 3 ||
        !strchr("USiubf", kind) || width < 0 || width > 65536 || (order == '>' && width > 1))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: elements of type %.12s, expected little-endian strings or numbers", path,
                descr ? descr : "?");
    bool number = kind != 'U' && kind != 'S';
    bool stored = width == 4 || width == 8 || (kind != 'f' && (width == 1 || width == 2));
    if (number && !stored)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s of %d bytes; write it again with numpy.save(path, array.astype(numpy.%s))",
                path, kind == 'f' ? "floats" : "numbers", width, kind == 'f' ? "float32" : "int64");
    npy->kind = kind;
    npy->width = kind == 'U' ? 4 * width : width;
    return SR_OK;
}

// "(1281167,)" or "(1281167, 1)".
static SrStatus parse_shape(const char *path, const char *shape, SrNpy *npy) {
    long long d[2] = {0, 1};
    char *end = NULL;
    npy->rank = 0;
    for (const char *p = shape && *shape == '(' ? shape + 1 : ""; *p && *p != ')' && npy->rank < 3;
         npy->rank++) {
        long long v = strtoll(p, &end, 10);
        if (end == p || v < 0)
            break;
        if (npy->rank < 2)
            d[npy->rank] = v;
        p = end + strspn(end, ", ");
    }
    if (npy->rank < 1 || npy->rank > 2)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected a list or a matrix, its shape is %.24s", path,
                shape ? shape : "missing");
    npy->n = d[0];
    npy->columns = d[1];
    return SR_OK;
}

// The dict is Python source; only the three keys are looked at, and what they promise must be
// exactly what the file holds.
static SrStatus parse_header(const char *path, SrNpy *npy) {
    const uint8_t *p = npy->map;
    if (npy->map_bytes < 10 || memcmp(p, "\x93NUMPY", 6) != 0 || p[6] < 1 || p[6] > 3)
        SR_FAIL(SR_ERR_CONFIG, "%s is not a .npy file", path);
    size_t start = p[6] == 1 ? 10 : 12;
    size_t len = (size_t)p[8] | (size_t)p[9] << 8;
    if (p[6] > 1 && npy->map_bytes >= 12)
        len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    char header[MAX_HEADER];
    if (len >= sizeof header || start + len > npy->map_bytes)
        SR_FAIL(SR_ERR_CONFIG, "%s: header of %zu bytes", path, len);
    memcpy(header, p + start, len);
    header[len] = 0;
    SR_TRY(parse_descr(path, value_of(header, "'descr'"), npy));
    SR_TRY(parse_shape(path, value_of(header, "'shape'"), npy));
    const char *fortran = value_of(header, "'fortran_order'");
    if (npy->rank == 2 && fortran && strncmp(fortran, "True", 4) == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s is stored by columns; write it again with numpy.ascontiguousarray", path);
    size_t room = npy->map_bytes - start - len, row = (size_t)npy->width * (size_t)npy->columns;
    if (row ? room % row != 0 || room / row != (size_t)npy->n : room != 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: %zu bytes of data, expected %lld x %lld x %d", path, room,
                (long long)npy->n, (long long)npy->columns, npy->width);
    npy->items = p + start + len;
    return SR_OK;
}

SrStatus sr__npy_open(const char *path, SrNpy *out) {
    *out = (SrNpy){0};
    SR_TRY(sr_file_map(path, &out->map, &out->map_bytes));
    SrStatus status = parse_header(path, out);
    if (status != SR_OK)
        sr__npy_close(out);
    return status;
}

void sr__npy_close(SrNpy *npy) {
    if (npy->map)
        sr_file_unmap(npy->map, npy->map_bytes);
    *npy = (SrNpy){0};
}

// The four lengths of UTF-8; returns the bytes written.
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
size_t sr__npy_string_room(const SrNpy *npy) { return (size_t)npy->width + 1; }

size_t sr__npy_string(const SrNpy *npy, int64_t i, char *out, size_t room) {
    const uint8_t *p = npy->items + (size_t)i * (size_t)npy->width;
    size_t len = 0;
    if (npy->kind == 'S') {
        len = SR_MIN(strnlen((const char *)p, (size_t)npy->width), room - 1);
        memcpy(out, p, len);
    }
    for (int k = 0; npy->kind == 'U' && k < npy->width; k += 4) {
        uint32_t c;
        char utf8[4];
        memcpy(&c, p + k, 4); // the header may leave the data unaligned
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

bool sr__npy_is_whole(const SrNpy *npy, int64_t i) {
    return npy->kind != 'f' || floor(real_at(npy, i)) == real_at(npy, i);
}

// Little-endian by the byte, whatever the machine and the alignment.
int64_t sr__npy_integer(const SrNpy *npy, int64_t i) {
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
