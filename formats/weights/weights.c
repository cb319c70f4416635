// Recognises the format of a file of weights and reads tensors from any container.
#include "formats/weights/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "formats/weights/checkpoint_sums.h"
#include "formats/weights/numpy_file.h"
#include "formats/weights/torch_file.h"

// ---- opening ------------------------------------------------------------------------------------

static SrStatus open_safetensors(SrWeights *w) {
    int cap = 0;
    sr_file_unmap(w->map,
                  w->file_bytes); // pages of a second mapping would count twice
    w->map = NULL;
    SR_TRY(sr_safetensors_map(&w->st, w->path));
    cap = w->st.n;
    w->tensors = sr_arena_alloc(&w->arena, (size_t)(cap + 1) * sizeof *w->tensors);
    if (!w->tensors)
        return sr_arena_failure(&w->arena, w->path);
    for (int i = 0; i < w->st.n; i++) {
        const SrTensor *from = &w->st.tensors[i].tensor;
        SrWeightsTensor t = {.name = w->st.tensors[i].name,
                             .shape = from->shape,
                             .dtype = from->dtype,
                             .data = from->data};
        int64_t stride = 1;
        for (int d = from->shape.rank - 1; d >= 0; d--) {
            t.strides[d] = stride;
            stride *= from->shape.d[d];
        }
        SR_TRY(sr__weights_measure(w, &t));
        SR_TRY(sr__weights_add(w, &cap, &t));
    }
    w->n_meta = w->st.n_meta;
    w->meta_keys = w->st.meta_keys;
    w->meta_values = w->st.meta_values;
    return SR_OK;
}

// A safetensors file begins with the length of its header (below 2^32 in any real one) and a brace.
static bool is_safetensors(const uint8_t *p, size_t bytes) {
    return bytes >= 9 && p[8] == '{' && p[4] == 0 && p[5] == 0 && p[6] == 0 && p[7] == 0;
}

static SrStatus open_zip(SrWeights *w) {
    SR_TRY(sr_zip_open(&w->zip, &w->arena, w->map, w->file_bytes, w->path));
    bool arrays = false;
    for (int i = 0; i < w->zip.n; i++) {
        const char *name = w->zip.entries[i].name;
        size_t len = strlen(name);
        if (len >= 8 && strcmp(name + len - 8, "data.pkl") == 0)
            return sr__torch_zip_open(w);
        arrays |= len > 4 && strcmp(name + len - 4, ".npy") == 0;
    }
    if (arrays)
        return sr__numpy_archive_open(w);
    SR_FAIL(SR_ERR_CONFIG,
            "%s: the zip archive has neither data.pkl (PyTorch) nor *.npy files (NumPy)", w->path);
}

static SrStatus open_mapped(SrWeights *w) {
    const uint8_t *p = w->map;
    size_t n = w->file_bytes;
    if (n >= 4 && memcmp(p, "PK\3\4", 4) == 0)
        return open_zip(w);
    if (n >= 6 && memcmp(p, "\x93NUMPY", 6) == 0)
        return sr__numpy_array_open(w);
    if (sr__torch_is_legacy(p, n))
        return sr__torch_legacy_open(w);
    if (is_safetensors(p, n))
        return open_safetensors(w);
    if (n >= 2 && p[0] == 0x80 && p[1] <= 5)
        SR_FAIL(SR_ERR_CONFIG, "%s: the file is a bare pickle, expected a file of torch.save",
                w->path);
    SR_FAIL(SR_ERR_CONFIG,
            "%s: not a weights file (%zu bytes): none of safetensors, PyTorch .pth, .npz, "
            ".npy; damaged or cut off?",
            w->path, n);
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const SrWeightsTensor *const *)a)->name,
                  (*(const SrWeightsTensor *const *)b)->name);
}

static SrStatus sort_names(SrWeights *w) {
    const SrWeightsTensor **order = sr_arena_alloc(&w->arena, (size_t)(w->n + 1) * sizeof *order);
    if (!order)
        return sr_arena_failure(&w->arena, w->path);
    for (int i = 0; i < w->n; i++)
        order[i] = &w->tensors[i];
    if (w->n > 1)
        qsort(order, (size_t)w->n, sizeof *order, by_name);
    for (int i = 1; i < w->n; i++)
        if (strcmp(order[i - 1]->name, order[i]->name) == 0)
            SR_FAIL(SR_ERR_CONFIG, "%s: two tensors are called '%.200s'", w->path, order[i]->name);
    w->by_name = order;
    return SR_OK;
}

SrStatus sr_weights_open(SrWeights *w, const char *path) {
    *w = (SrWeights){.path = path};
    if (sr_file_is_dir(path))
        SR_FAIL(SR_ERR_CONFIG, "%s is a directory, expected a weights file", path);
    if (!sr_file_exists(path))
        SR_FAIL(SR_ERR_CONFIG, "%s: no such file", path);
    w->path = sr_arena_strdup(&w->arena, path);
    SrStatus status = w->path ? sr_file_map(path, &w->map, &w->file_bytes)
                              : sr_fail(SR_ERR_MEMORY, "%s: out of memory", path);
    w->arena.bound = w->file_bytes + SR_WEIGHTS_KNOWN;
    if (status == SR_OK && w->file_bytes == 0)
        status = sr_fail(SR_ERR_CONFIG, "%s is an empty file, expected weights", path);
    if (status == SR_OK)
        status = open_mapped(w);
    if (status == SR_OK)
        status = sort_names(w);
    if (status != SR_OK)
        sr_weights_close(w);
    return status;
}

SrStatus sr_weights_exchange(SrWeights *w, const bool *drop, const SrWeightsTensor *others,
                             int n_others) {
    size_t room = (size_t)w->n + (size_t)n_others + 1;
    SrWeightsTensor *tensors = sr_arena_alloc(&w->arena, room * sizeof *tensors);
    int n = 0;
    if (!tensors)
        return sr_arena_failure(&w->arena, w->path);
    for (int i = 0; i < w->n; i++)
        if (!drop[i])
            tensors[n++] = w->tensors[i];
    for (int i = 0; i < n_others; i++)
        tensors[n++] = others[i];
    w->tensors = tensors;
    w->n = n;
    return sort_names(w);
}

const char *sr_weights_origin(const SrWeightsTensor *t) { return t->origin ? t->origin : t->name; }

void sr_weights_close(SrWeights *w) {
    sr_safetensors_close(&w->st);
    sr_file_unmap(w->map, w->file_bytes);
    sr_free(w->scratch);
    sr_arena_deinit(&w->arena);
    *w = (SrWeights){0};
}

// ---- reading ------------------------------------------------------------------------------------

static SrStatus need_scratch(SrWeights *w, const SrWeightsTensor *t, size_t bytes) {
    if (bytes > w->file_bytes + SR_WEIGHTS_SCRATCH - w->arena.bytes)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: tensor '%.200s' would need %zu bytes, more than the file's %zu + 60 MiB",
                w->path, t->name, bytes, w->file_bytes);
    if (bytes <= w->scratch_bytes)
        return SR_OK;
    sr_free(w->scratch); // not realloc: old and new need not both exist
    w->scratch = sr_alloc(bytes);
    w->scratch_bytes = w->scratch ? bytes : 0;
    return w->scratch ? SR_OK : sr_arena_failure(&w->arena, w->path);
}

// Copies elements from any strides to C order, one row of the last dimension at a time.
static void gather(const SrWeightsTensor *t, const uint8_t *from, uint8_t *out) {
    size_t size = sr_dtype_bytes(t->dtype);
    int last = t->shape.rank - 1, at[SR_MAX_RANK] = {0};
    int64_t row = last < 0 ? 1 : t->shape.d[last], stride = last < 0 ? 1 : t->strides[last];
    for (;;) {
        int64_t offset = 0;
        for (int d = 0; d < last; d++)
            offset += at[d] * t->strides[d];
        for (int64_t i = 0; i < row; i++, out += size)
            memcpy(out, from + (size_t)(offset + i * stride) * size, size);
        int d = last - 1;
        while (d >= 0 && ++at[d] == t->shape.d[d])
            at[d--] = 0;
        if (d < 0)
            return;
    }
}

// Inflates header and numbers to the start of the scratch; a column-major array is then gathered
// after them.
static SrStatus inflate_tensor(SrWeights *w, const SrWeightsTensor *t, const void **out) {
    size_t whole = t->skip + t->bytes, behind = (whole + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
    SR_TRY(need_scratch(w, t, t->packed ? whole : behind + t->bytes));
    SR_TRY(sr_zip_read(t->deflated, w->path, w->scratch, whole));
    uint8_t *scratch = w->scratch;
    if (!t->packed)
        gather(t, scratch + t->skip, scratch + behind);
    else
        memmove(scratch, scratch + t->skip, t->bytes); // numbers at an aligned address
    *out = scratch + (t->packed ? 0 : behind);
    return SR_OK;
}

SrStatus sr_weights_read(SrWeights *w, int i, SrTensor *out) {
    const SrWeightsTensor *t = &w->tensors[i];
    const void *data = t->data;
    bool aligned = (uintptr_t)t->data % sr_dtype_bytes(t->dtype) == 0;
    if (t->bytes == 0) {
        data = "";
    } else if (t->deflated) {
        SR_TRY(inflate_tensor(w, t, &data));
    } else if (!t->packed || !aligned) {
        SR_TRY(need_scratch(w, t, t->bytes));
        gather(t, t->data, w->scratch);
        data = w->scratch;
    }
    *out = (SrTensor){t->shape, t->dtype, (void *)(uintptr_t)data};
    return SR_OK;
}

SrStatus sr_weights_verify_sums(const SrWeights *w) {
    bool ours = sr_checkpoint_is_named(&w->st) && sr_safetensors_meta(&w->st, "checksums");
    return ours ? sr_checkpoint_verify(&w->st, w->path) : SR_OK;
}

SrStatus sr_weights_verify(const SrWeights *w, int *checked) {
    *checked = 0;
    for (int i = 0; i < w->zip.n; i++) {
        SR_TRY(sr_zip_verify(&w->zip.entries[i], w->path));
        *checked += !w->zip.entries[i].deflated;
    }
    return SR_OK;
}

int sr_weights_find(const SrWeights *w, const char *name) {
    const SrWeightsTensor key = {.name = name}, *wanted = &key;
    if (w->n == 0)
        return -1;
    const SrWeightsTensor **found =
        bsearch(&wanted, w->by_name, (size_t)w->n, sizeof *w->by_name, by_name);
    return found ? (int)(*found - w->tensors) : -1;
}

const char *sr_weights_meta(const SrWeights *w, const char *key) {
    for (int i = 0; i < w->n_meta; i++)
        if (strcmp(w->meta_keys[i], key) == 0)
            return w->meta_values[i];
    return NULL;
}

const char *sr_weights_format_name(SrWeightsFormat format) {
    static const char *const names[] = {"safetensors", "PyTorch (zip)", "PyTorch (legacy)",
                                        "NumPy .npz", "NumPy .npy"};
    return names[format];
}

// Converts an IEEE half: sign, 5 bits of exponent, 10 of fraction.
static double from_half(uint16_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    uint64_t sign = (uint64_t)(h >> 15) << 63, bits;
    double v = (double)fraction * 0x1p-24;
    if (exponent == 31)
        bits = 0x7ffull << 52 | (uint64_t)fraction << 42;
    else if (exponent)
        bits = (uint64_t)(exponent + 1008) << 52 | (uint64_t)fraction << 42;
    else
        memcpy(&bits, &v, sizeof bits);
    bits |= sign;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double from_bfloat(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

void sr_weights_doubles(const SrTensor *t, int64_t begin, int64_t n, double *out) {
    const uint8_t *p = (const uint8_t *)t->data + (size_t)begin * sr_dtype_bytes(t->dtype);
    for (int64_t i = 0; i < n; i++) {
        switch (t->dtype) {
        case SR_F32: out[i] = (double)((const float *)p)[i]; break;
        case SR_F64: out[i] = ((const double *)p)[i]; break;
        case SR_F16: out[i] = from_half(((const uint16_t *)p)[i]); break;
        case SR_BF16: out[i] = from_bfloat(((const uint16_t *)p)[i]); break;
        case SR_I8: out[i] = (double)((const int8_t *)p)[i]; break;
        case SR_I16: out[i] = (double)((const int16_t *)p)[i]; break;
        case SR_I32: out[i] = (double)((const int32_t *)p)[i]; break;
        case SR_I64: out[i] = (double)((const int64_t *)p)[i]; break;
        case SR_U8:
        case SR_BOOL: out[i] = (double)p[i]; break;
        }
    }
}

void sr_weights_floats(const SrTensor *t, float *out) {
    enum { PIECE = 1024 };
    double part[PIECE];
    int64_t n = sr_shape_count(t->shape);
    if (t->dtype == SR_F32) {
        memcpy(out, t->data, (size_t)n * sizeof *out);
        return;
    }
    for (int64_t begin = 0; begin < n; begin += PIECE) {
        int64_t count = SR_MIN(n - begin, PIECE);
        sr_weights_doubles(t, begin, count, part);
        for (int64_t i = 0; i < count; i++)
            out[begin + i] = (float)part[i];
    }
}
