// Reads NumPy's array files as weights: .npy, and .npz with stored or deflated entries.  base/npy.h
// reads the headers.  Numbers must be little-endian; object arrays hold pickles and are refused.
// Byte strings, (n), are read as U8 of (n, width), padded with zeros.
#include "formats/weights/numpy_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/npy.h"
#include "formats/weights/weights_table.h"

static SrStatus bad(const SrWeights *w, const char *name, const char *what) {
    SR_FAIL(SR_ERR_CONFIG, "%s: array '%.200s': %s", w->path, name, what);
}

static bool dtype_of(const SrNpyHeader *h, SrDtype *out) {
    static const struct {
        char kind;
        int width;
        SrDtype dtype;
    } types[] = {{'f', 4, SR_F32}, {'f', 8, SR_F64}, {'f', 2, SR_F16},
                 {'i', 1, SR_I8},  {'i', 2, SR_I16}, {'i', 4, SR_I32},
                 {'i', 8, SR_I64}, {'u', 1, SR_U8},  {'b', 1, SR_BOOL}};
    for (int i = 0; h->order != '>' && i < SR_COUNT(types); i++)
        if (types[i].kind == h->kind && types[i].width == h->width) {
            *out = types[i].dtype;
            return true;
        }
    return false;
}

// Describes byte strings as bytes with one more dimension, which varies fastest.
static void strings_to_bytes(SrNpyHeader *h) {
    if (h->kind != 'S' || h->rank != 1 || h->width < 1)
        return;
    h->kind = 'u';
    h->d[h->rank++] = h->width;
    h->width = 1;
    h->fortran = false;
}

// Reads shape, type and strides from the first `end` bytes of an array's file.
static SrStatus read_header(SrWeights *w, const uint8_t *file, size_t end, SrWeightsTensor *t) {
    SrNpyHeader h;
    int64_t stride = 1;
    char *where = sr_arena_printf(&w->arena, "%s: array '%.200s'", w->path, t->name);
    if (!where)
        return sr_arena_failure(&w->arena, w->path);
    SR_TRY(sr_npy_header_read(file, end, where, &h));
    strings_to_bytes(&h);
    if (!dtype_of(&h, &t->dtype))
        return bad(w, t->name, "its element type is not a little-endian number");
    t->shape = (SrShape){.rank = h.rank};
    for (int i = 0; i < h.rank; i++) {
        if (h.d[i] > INT32_MAX)
            return bad(w, t->name, "its shape has a dimension beyond 2^31");
        t->shape.d[i] = (int)h.d[i];
    }
    SrWeightsTensor shape = *t; // sizes are checked for overflow before strides are multiplied
    SR_TRY(sr__weights_measure(w, &shape));
    for (int i = 0; i < t->shape.rank; i++) {
        int d = h.fortran ? i : t->shape.rank - 1 - i;
        t->strides[d] = stride;
        stride *= t->shape.d[d];
    }
    return sr__weights_measure(w, t);
}

// Adds an uncompressed array that is whole in memory.
static SrStatus read_plain(SrWeights *w, const uint8_t *p, uint64_t bytes, SrWeightsTensor *t) {
    size_t end = bytes > SR_NPY_PRELUDE ? sr_npy_header_end(p) : 0;
    if (end == 0 || end > bytes)
        return bad(w, t->name, "not NumPy's format, or its header is cut off");
    SR_TRY(read_header(w, p, end, t));
    if (bytes - end != t->bytes)
        return bad(w, t->name,
                   bytes - end < t->bytes ? "fewer bytes than its shape needs (truncated?)"
                                          : "more bytes than its shape needs");
    t->data = p + end;
    return SR_OK;
}

// Adds a compressed array: the header is inflated now, the numbers when they are read.
static SrStatus read_deflated(SrWeights *w, const SrZipEntry *e, SrWeightsTensor *t) {
    uint8_t prelude[SR_NPY_PRELUDE];
    if (e->bytes <= SR_NPY_PRELUDE)
        return bad(w, t->name, "cut off");
    SR_TRY(sr_zip_read(e, w->path, prelude, SR_NPY_PRELUDE));
    size_t end = sr_npy_header_end(prelude);
    if (end == 0 || end > e->bytes)
        return bad(w, t->name, "not NumPy's format, or its header is cut off");
    uint8_t *header = sr_arena_alloc(&w->arena, end);
    if (!header)
        return sr_arena_failure(&w->arena, w->path);
    SR_TRY(sr_zip_read(e, w->path, header, end));
    SR_TRY(read_header(w, header, end, t));
    if (e->bytes - end != t->bytes)
        return bad(w, t->name, "its size does not agree with its shape");
    t->deflated = e;
    t->skip = end;
    return SR_OK;
}

SrStatus sr__numpy_array_open(SrWeights *w) {
    SrWeightsTensor t = {.name = "array"};
    int cap = 0;
    w->format = SR_WEIGHTS_NPY;
    SR_TRY(read_plain(w, w->map, w->file_bytes, &t));
    return sr__weights_add(w, &cap, &t);
}

static int by_begin(const void *x, const void *y) {
    const SrZipEntry *const *a = x, *const *b = y;
    return (*a)->begin < (*b)->begin ? -1 : (*a)->begin > (*b)->begin;
}

SrStatus sr__numpy_archive_open(SrWeights *w) {
    size_t n = (size_t)w->zip.n;
    int cap = 0;
    w->format = SR_WEIGHTS_NPZ;
    const SrZipEntry **order = sr_arena_alloc(&w->arena, (n + 1) * sizeof *order);
    if (!order)
        return sr_arena_failure(&w->arena, w->path);
    for (size_t i = 0; i < n; i++)
        order[i] = &w->zip.entries[i];
    qsort(order, n, sizeof *order, by_begin); // order in the file
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(order[i]->name);
        if (len <= 4 || strcmp(order[i]->name + len - 4, ".npy") != 0)
            continue;
        SrWeightsTensor t = {.name =
                                 sr_arena_printf(&w->arena, "%.*s", (int)len - 4, order[i]->name)};
        if (!t.name)
            return sr_arena_failure(&w->arena, w->path);
        SR_TRY(order[i]->deflated ? read_deflated(w, order[i], &t)
                                  : read_plain(w, order[i]->data, order[i]->bytes, &t));
        SR_TRY(sr__weights_add(w, &cap, &t));
    }
    return SR_OK;
}
