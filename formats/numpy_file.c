// NumPy's array files: .npy (numpy.lib.format, versions 1 to 3) and .npz, a zip of them, stored or
// deflated.  Little-endian numbers alone; object arrays hold pickles and are refused.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "formats/weights.h"

enum {
    PRELUDE = 12,          // magic, version, header length (2 or 4 bytes)
    MAX_HEADER = 64 << 10, // NumPy itself writes 118 bytes
};

typedef struct {
    const SrWeights *w;
    const char *name, *at; // at: next character of the header, NUL-terminated
} Header;

static SrStatus bad(const SrWeights *w, const char *name, const char *what) {
    return sr_fail(SR_ERR_CONFIG, "%s: array '%.200s': %s", w->path, name, what);
}

// Bytes before the numbers, from a prelude of PRELUDE bytes; 0 when it is none.
static size_t header_end(const uint8_t *p, size_t *text_at) {
    if (memcmp(p, "\x93NUMPY", 6) != 0 || p[6] < 1 || p[6] > 3)
        return 0;
    *text_at = p[6] == 1 ? 10 : 12;
    size_t len = (size_t)p[8] | (size_t)p[9] << 8;
    if (p[6] > 1)
        len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    return *text_at + len;
}

static bool parse_dtype(const char *s, SrDtype *out) {
    static const struct {
        const char *name;
        SrDtype dtype;
    } names[] = {{"f4", SR_F32}, {"f8", SR_F64}, {"f2", SR_F16}, {"i1", SR_I8},  {"i2", SR_I16},
                 {"i4", SR_I32}, {"i8", SR_I64}, {"u1", SR_U8},  {"b1", SR_BOOL}};
    if (*s != '<' && *s != '|' && *s != '=')
        return false;
    for (int i = 0; i < SR_COUNT(names); i++) {
        if (strcmp(s + 1, names[i].name) == 0) {
            *out = names[i].dtype;
            return true;
        }
    }
    return false;
}

static void skip_blanks(Header *h) {
    while (*h->at == ' ' || *h->at == '\n')
        h->at++;
}

static bool take(Header *h, char c) {
    skip_blanks(h);
    if (*h->at != c)
        return false;
    h->at++;
    return true;
}

// A quoted word of at most 31 characters.
static bool take_word(Header *h, char out[32]) {
    skip_blanks(h);
    char quote = *h->at;
    if (quote != '\'' && quote != '"')
        return false;
    const char *end = strchr(h->at + 1, quote);
    if (!end || end - h->at > 32)
        return false;
    snprintf(out, 32, "%.*s", (int)(end - h->at - 1), h->at + 1);
    h->at = end + 1;
    return true;
}

static SrStatus take_shape(Header *h, SrShape *shape) {
    if (!take(h, '('))
        return bad(h->w, h->name, "its shape is not a tuple");
    while (!take(h, ')')) {
        char *end;
        if (!isdigit((unsigned char)*h->at))
            return bad(h->w, h->name, "its shape is not a tuple of whole numbers");
        unsigned long long d = strtoull(h->at, &end, 10);
        if (shape->rank == SR_MAX_RANK || d > INT32_MAX)
            return bad(h->w, h->name, "more than 6 dimensions, or one beyond 2^31");
        shape->d[shape->rank++] = (int)d;
        h->at = end + (*end == 'L'); // Python 2 wrote 3L
        take(h, ',');
    }
    return SR_OK;
}

// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
static SrStatus parse_header(Header *h, SrWeightsTensor *t, bool *fortran) {
    char key[32], word[32];
    int seen = 0;
    if (!take(h, '{'))
        return bad(h->w, h->name, "its header is not a dict");
    while (!take(h, '}')) {
        if (!take_word(h, key) || !take(h, ':'))
            return bad(h->w, h->name, "its header is damaged");
        skip_blanks(h);
        if (strcmp(key, "descr") == 0) {
            if (!take_word(h, word) || !parse_dtype(word, &t->dtype))
                return bad(h->w, h->name, "its element type is not a little-endian number");
        } else if (strcmp(key, "fortran_order") == 0) {
            *fortran = strncmp(h->at, "True", 4) == 0;
            if (!*fortran && strncmp(h->at, "False", 5) != 0)
                return bad(h->w, h->name, "fortran_order is neither True nor False");
            h->at += *fortran ? 4 : 5;
        } else if (strcmp(key, "shape") == 0) {
            t->shape = SR_SCALAR;
            SR_TRY(take_shape(h, &t->shape));
        } else {
            return bad(h->w, h->name, "its header has an unknown key");
        }
        seen++;
        take(h, ',');
    }
    return seen == 3 ? SR_OK : bad(h->w, h->name, "its header is incomplete");
}

// Shape, type and strides from a header text (len bytes, not terminated).
static SrStatus read_header(SrWeights *w, const char *text, size_t len, SrWeightsTensor *t) {
    char *copy = sr_arena_alloc(&w->arena, len + 1);
    bool fortran = false;
    int64_t stride = 1;
    if (!copy)
        return sr_arena_failure(&w->arena, w->path);
    memcpy(copy, text, len);
    Header h = {w, t->name, copy};
    SR_TRY(parse_header(&h, t, &fortran));
    SrWeightsTensor shape = *t; // overflow is found before strides are multiplied
    SR_TRY(sr__weights_measure(w, &shape));
    for (int i = 0; i < t->shape.rank; i++) {
        int d = fortran ? i : t->shape.rank - 1 - i;
        t->strides[d] = stride;
        stride *= t->shape.d[d];
    }
    return sr__weights_measure(w, t);
}

// An uncompressed array, whole in memory.
static SrStatus read_plain(SrWeights *w, const uint8_t *p, uint64_t bytes, SrWeightsTensor *t) {
    size_t text_at = 0, end = bytes > PRELUDE ? header_end(p, &text_at) : 0;
    if (end == 0 || end > bytes || end > MAX_HEADER)
        return bad(w, t->name, "not NumPy's format, or its header is cut off");
    SR_TRY(read_header(w, (const char *)p + text_at, end - text_at, t));
    if (bytes - end != t->bytes)
        return bad(w, t->name,
                   bytes - end < t->bytes ? "fewer bytes than its shape needs (truncated?)"
                                          : "more bytes than its shape needs");
    t->data = p + end;
    return SR_OK;
}

// A compressed array: its header is inflated now, its numbers when they are read.
static SrStatus read_deflated(SrWeights *w, const SrZipEntry *e, SrWeightsTensor *t) {
    uint8_t prelude[PRELUDE];
    size_t text_at = 0;
    if (e->bytes <= PRELUDE)
        return bad(w, t->name, "cut off");
    SR_TRY(sr_zip_read(e, w->path, prelude, PRELUDE));
    size_t end = header_end(prelude, &text_at);
    if (end == 0 || end > e->bytes || end > MAX_HEADER)
        return bad(w, t->name, "not NumPy's format, or its header is cut off");
    char *header = sr_arena_alloc(&w->arena, end);
    if (!header)
        return sr_arena_failure(&w->arena, w->path);
    SR_TRY(sr_zip_read(e, w->path, header, end));
    SR_TRY(read_header(w, header + text_at, end - text_at, t));
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
    qsort(order, n, sizeof *order, by_begin); // the order they were saved in
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
