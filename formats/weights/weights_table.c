// Adds tensors and texts to the table of an open file.
#include "formats/weights/weights_table.h"

#include <string.h>

#include "base/compiler.h"

#define MAX_TENSORS 100000

SrStatus sr__weights_add(SrWeights *w, int *cap, const SrWeightsTensor *tensor) {
    SR_ASSERT(w->n >= 0 && w->n <= *cap && tensor->name);
    if (w->n >= MAX_TENSORS)
        SR_FAIL(SR_ERR_CONFIG, "%s: more than %d tensors", w->path, MAX_TENSORS);
    if (w->n == *cap) {
        int grown = *cap ? 2 * *cap : 256;
        SrWeightsTensor *bigger = sr_arena_alloc(&w->arena, (size_t)grown * sizeof *bigger);
        if (!bigger)
            return sr_arena_failure(&w->arena, w->path);
        if (w->n)
            memcpy(bigger, w->tensors, (size_t)w->n * sizeof *bigger);
        w->tensors = bigger;
        *cap = grown;
    }
    w->tensors[w->n++] = *tensor;
    return SR_OK;
}

SrStatus sr__weights_add_meta(SrWeights *w, int *cap, const char *key, const char *value) {
    SR_ASSERT(w->n_meta >= 0 && w->n_meta <= *cap);
    if (w->n_meta == *cap) {
        int grown = *cap ? 2 * *cap : 64;
        const char **both = sr_arena_alloc(&w->arena, 2 * (size_t)grown * sizeof *both);
        if (!both)
            return sr_arena_failure(&w->arena, w->path);
        if (w->n_meta) {
            memcpy(both, w->meta_keys, (size_t)w->n_meta * sizeof *both);
            memcpy(both + grown, w->meta_values, (size_t)w->n_meta * sizeof *both);
        }
        w->meta_keys = both;
        w->meta_values = both + grown;
        *cap = grown;
    }
    if (!key || !value)
        return sr_arena_failure(&w->arena, w->path);
    w->meta_keys[w->n_meta] = key;
    w->meta_values[w->n_meta++] = value;
    return SR_OK;
}

SrStatus sr__weights_measure(const SrWeights *w, SrWeightsTensor *t) {
    SR_ASSERT(t->shape.rank >= 0 && t->shape.rank <= SR_MAX_RANK);
    int64_t count = 1, bound = 1; // bound counts 0 as 1, so that a zero hides no overflow
    t->packed = true;
    for (int i = t->shape.rank - 1; i >= 0; i--) {
        int d = t->shape.d[i];
        t->packed = t->packed && (d <= 1 || t->strides[i] == bound);
        if (__builtin_mul_overflow(bound, (int64_t)SR_MAX(d, 1), &bound) || bound > INT64_MAX / 16)
            SR_FAIL(SR_ERR_CONFIG, "%s: tensor '%.200s': a shape that overflows", w->path, t->name);
        count *= d;
    }
    t->packed = t->packed || count == 0;
    t->bytes = (size_t)count * sr_dtype_bytes(t->dtype);
    return SR_OK;
}
