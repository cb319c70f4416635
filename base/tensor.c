// Shape arithmetic and the table of element types.
#include "base/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Files of weights are little-endian and mapped without conversion, and size_t must hold a file's
// size.
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "sslrun reads little-endian files in place and does not run on a big-endian processor"
#endif
_Static_assert(sizeof(size_t) == 8,
               "sslrun needs a 64-bit processor: files and tensors exceed 4 GB");

static const struct {
    const char *name; // name in safetensors files
    size_t bytes;
} dtypes[] = {
    [SR_F32] = {"F32", 4}, [SR_F64] = {"F64", 8},   [SR_F16] = {"F16", 2}, [SR_BF16] = {"BF16", 2},
    [SR_I8] = {"I8", 1},   [SR_I16] = {"I16", 2},   [SR_I32] = {"I32", 4}, [SR_I64] = {"I64", 8},
    [SR_U8] = {"U8", 1},   [SR_BOOL] = {"BOOL", 1},
};
enum { N_DTYPES = sizeof dtypes / sizeof dtypes[0] };

size_t sr_dtype_bytes(SrDtype dtype) { return dtypes[dtype].bytes; }
const char *sr_dtype_name(SrDtype dtype) { return dtypes[dtype].name; }

bool sr_dtype_parse(const char *name, SrDtype *out) {
    for (int i = 0; i < N_DTYPES; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            *out = (SrDtype)i;
            return true;
        }
    }
    return false;
}

// Counts in 64 bits: a batch of activations easily has more than 2^31 elements.
int64_t sr_shape_count(SrShape shape) {
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++)
        count *= shape.d[i];
    return count;
}

int64_t sr_floats_nonfinite(const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return i;
    return -1;
}

bool sr_shape_equal(SrShape a, SrShape b) {
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (a.d[i] != b.d[i])
            return false;
    return true;
}

int64_t sr_shape_rows(SrShape shape) {
    int64_t rows = 1;
    for (int i = 0; i < shape.rank - 1; i++)
        rows *= shape.d[i];
    return rows;
}

int sr_shape_last(SrShape shape) { return shape.rank ? shape.d[shape.rank - 1] : 1; }

// Cuts a text that is too long: snprintf returns the length that it needs, which ends the loop.
const char *sr_shape_text(SrShape shape, char *buf, size_t buf_bytes) {
    if (buf_bytes == 0)
        return buf;
    size_t len = 0;
    for (int i = 0; i < shape.rank && len < buf_bytes; i++)
        len += (size_t)snprintf(buf + len, buf_bytes - len, "%s%d", i ? ", " : "[", shape.d[i]);
    if (len < buf_bytes)
        snprintf(buf + len, buf_bytes - len, "%s", shape.rank ? "]" : "[]");
    return buf;
}
