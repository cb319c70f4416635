// Writes the small ONNX nodes that ops on tokens are made of, one function each (onnx_rows.h).
#include "kernels/core/onnx_rows.h"

#include <stdio.h>

#include "base/compiler.h"

const char *sr__onnx_step(SrOnnxCall *call, const char *what, const char *op, const char *const *in,
                          int n_in) {
    const char *out = sr__onnx_inner(call, what);
    sr_onnx_node(call->file, op, in, n_in, out);
    sr_onnx_end(call->file);
    return out;
}

const char *sr__onnx_two(SrOnnxCall *call, const char *what, const char *op, const char *a,
                         const char *b) {
    return sr__onnx_step(call, what, op, (const char *[]){a, b}, 2);
}

static void transpose(SrOnnxCall *call, const char *x, const int64_t *order, int n,
                      const char *out) {
    sr_onnx_node(call->file, "Transpose", &x, 1, out);
    sr_onnx_ints(call->file, "perm", order, n);
    sr_onnx_end(call->file);
}

const char *sr__onnx_transpose(SrOnnxCall *call, const char *what, const char *x,
                               const int64_t *order, int n) {
    const char *out = sr__onnx_inner(call, what);
    transpose(call, x, order, n, out);
    return out;
}

const char *sr__onnx_rows(SrOnnxCall *call, int i) {
    char what[16];
    if (call->x[i].rank != 4)
        return call->in[i];
    snprintf(what, sizeof what, "rows%d", i);
    return sr__onnx_transpose(call, what, call->in[i], (const int64_t[]){0, 2, 3, 1}, 4);
}

SrStatus sr__onnx_finish(SrOnnxCall *call, const char *value) {
    if (call->y.rank == 4) {
        transpose(call, value, (const int64_t[]){0, 3, 1, 2}, 4, call->out);
        return SR_OK;
    }
    sr__onnx_begin(call, "Identity", &value, 1);
    sr_onnx_end(call->file);
    return SR_OK;
}

// Writes a constant of whole numbers; returns its name.
static const char *numbers(SrOnnxCall *call, const char *what, const char *part,
                           const int64_t *values, int n) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s", what, part);
    const char *out = sr__onnx_inner(call, name);
    sr_onnx_numbers(call->file, out, values, n);
    return out;
}

const char *sr__onnx_reshape(SrOnnxCall *call, const char *what, const char *x, const int64_t *dims,
                             int n) {
    return sr__onnx_two(call, what, "Reshape", x, numbers(call, what, "shape", dims, n));
}

const char *sr__onnx_slice(SrOnnxCall *call, const char *what, const char *x, int axis,
                           int64_t begin, int64_t end) {
    const char *in[] = {x, numbers(call, what, "begin", &begin, 1),
                        numbers(call, what, "end", &end, 1),
                        numbers(call, what, "axis", &(int64_t){axis}, 1)};
    return sr__onnx_step(call, what, "Slice", in, 4);
}

const char *sr__onnx_gather(SrOnnxCall *call, const char *what, const char *x, int axis,
                            const int64_t *places, int n) {
    const char *in[] = {x, numbers(call, what, "places", places, n)};
    const char *out = sr__onnx_inner(call, what);
    sr_onnx_node(call->file, "Gather", in, 2, out);
    sr_onnx_int(call->file, "axis", axis);
    sr_onnx_end(call->file);
    return out;
}

const char *sr__onnx_concat(SrOnnxCall *call, const char *what, const char *const *in, int n_in,
                            int axis) {
    const char *out = sr__onnx_inner(call, what);
    sr_onnx_node(call->file, "Concat", in, n_in, out);
    sr_onnx_int(call->file, "axis", axis);
    sr_onnx_end(call->file);
    return out;
}

const char *sr__onnx_softmax(SrOnnxCall *call, const char *what, const char *x) {
    const char *out = sr__onnx_inner(call, what);
    sr_onnx_node(call->file, "Softmax", &x, 1, out);
    sr_onnx_int(call->file, "axis", -1);
    sr_onnx_end(call->file);
    return out;
}

const char *sr__onnx_zero_row(SrOnnxCall *call, const char *what, const char *x) {
    return sr__onnx_two(call, what, "Pad", x,
                        numbers(call, what, "pads", (const int64_t[]){0, 0, 0, 0, 1, 0}, 6));
}

const char *sr__onnx_each_image(SrOnnxCall *call, const char *what, const char *parameter,
                                const char *x, int L, int D) {
    const char *shape = sr__onnx_step(call, "shape", "Shape", &x, 1);
    const char *batch = sr__onnx_slice(call, "batch", shape, 0, 0, 1);
    const char *rest = numbers(call, what, "rest", (const int64_t[]){L, D}, 2);
    const char *whole = sr__onnx_concat(call, "whole", (const char *[]){batch, rest}, 2, 0);
    return sr__onnx_two(call, what, "Expand", parameter, whole);
}

const char *sr__onnx_floats(SrOnnxCall *call, const char *what, SrShape shape,
                            const float *values) {
    const char *out = sr__onnx_inner(call, what);
    void *copy =
        sr_arena_copy(&call->file->arena, values, (size_t)sr_shape_count(shape) * sizeof *values);
    if (copy)
        sr_onnx_weight(call->file, out, (SrTensor){shape, SR_F32, copy});
    else
        call->file->status = sr_out_of_memory("an ONNX graph");
    return out;
}

const char *sr__onnx_number(SrOnnxCall *call, const char *what, double value) {
    return sr__onnx_floats(call, what, SR_SHAPE(1), &(float){(float)value});
}
