// slice: entries begin to begin + count - 1 of a dimension, torch.narrow: one crop of a crop-major
// batch, half of the channels.
#include <stddef.h>
#include <string.h>

#include "kernels/basic/slice.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"begin", SR_OPT_INT, offsetof(SrSliceParams, begin), "0", 0, 0x7fffffff,
     .help = "Index of the first entry."},
    {"count", SR_OPT_INT, offsetof(SrSliceParams, count), "1", 1, 0x7fffffff,
     .help = "Number of entries."},
    {"dim", SR_OPT_INT, offsetof(SrSliceParams, dim), "0", 0, SR_MAX_RANK - 1,
     .help = "The dimension; 0: rows."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrSliceParams *p = params;
    SR_TRY(sr__expect_rank("slice", x, n_in, p->dim + 1, SR_MAX_RANK));
    if (p->begin < 0 || p->count < 1 || p->begin > x[0].d[p->dim] - p->count)
        return sr__shape_fail("slice", x, n_in, "entries %d .. %lld inside dimension %d", p->begin,
                              (long long)p->begin + p->count - 1, p->dim);
    *y = x[0];
    y->d[p->dim] = p->count;
    return SR_OK;
}

// x as runs of `whole` numbers; y has `run` of each, from `begin` on.
typedef struct {
    int64_t runs, whole, begin, run;
} Cut;

static Cut cut_of(const SrSliceParams *p, SrShape x) {
    int64_t entry = 1;
    for (int i = p->dim + 1; i < x.rank; i++)
        entry *= x.d[i];
    Cut c = {.whole = entry * x.d[p->dim], .begin = entry * p->begin, .run = entry * p->count};
    c.runs = sr_shape_count(x) / c.whole;
    return c;
}

static void reference(const SrRefCall *call) {
    Cut c = cut_of(call->params, call->x_shape[0]);
    for (int64_t r = 0; r < c.runs; r++)
        memcpy(call->y + r * c.run, call->x[0] + r * c.whole + c.begin,
               (size_t)c.run * sizeof(double));
}

// Copies n numbers; several threads share a large stretch of floats.
static void copy(SrDtype type, void *to, const void *from, int64_t n) {
    if (type == SR_F32)
        sr__copy(to, from, n);
    else
        memcpy(to, from, (size_t)n * sr_dtype_bytes(type));
}

static void zero(SrDtype type, void *to, int64_t n) {
    if (type == SR_F32)
        sr__zero(to, n);
    else
        memset(to, 0, (size_t)n * sr_dtype_bytes(type));
}

static void forward(const SrOpCall *call) {
    Cut c = cut_of(call->params, call->x[0].shape);
    SrDtype type = call->y.dtype;
    const void *x = sr__at(type, call->x[0].data, c.begin);
    void *y = call->y.data; // (runs, run)
    if (c.runs == 1) {
        copy(type, y, x, c.run);
        return;
    }
#pragma omp parallel for schedule(static) if (c.runs * c.run > SR_CHUNK)
    for (int64_t r = 0; r < c.runs; r++)
        memcpy(sr__at(type, y, r * c.run), sr__at(type, x, r * c.whole),
               (size_t)c.run * sr_dtype_bytes(type));
}

static void add_back(const SrMachine *machine, SrDtype type, void *dx, const void *dy,
                     const Cut *c) {
#pragma omp parallel for schedule(static) if (c->runs * c->run > SR_CHUNK)
    for (int64_t r = 0; r < c->runs; r++) {
        void *to = sr__at(type, dx, r * c->whole + c->begin);
        sr__rows(machine)->add(type, to, to, sr__at(type, dy, r * c->run), c->run);
    }
}

// Adding touches only the slice's entries, so that several slices of one input cost no more than
// the input's size.
static void backward(const SrOpCall *call) {
    Cut c = cut_of(call->params, call->x[0].shape);
    SrDtype type = call->y.dtype;
    if (!call->dx[0])
        return;
    if (call->dx_add & 1) {
        add_back(call->machine, type, call->dx[0], call->dy, &c);
        return;
    }
    int64_t end = c.begin + c.run;
#pragma omp parallel for schedule(static) if (c.runs > 1 && c.runs * c.whole > SR_CHUNK)
    for (int64_t r = 0; r < c.runs; r++) {
        void *to = sr__at(type, call->dx[0], r * c.whole);
        zero(type, to, c.begin);
        copy(type, sr__at(type, to, c.begin), sr__at(type, call->dy, r * c.run), c.run);
        zero(type, sr__at(type, to, end), c.whole - end);
    }
}

// Maps are (N, C, H, W) in ONNX.
static SrStatus onnx(SrOnnxCall *call) {
    static const int64_t map_axes[] = {0, 2, 3, 1};
    const SrSliceParams *p = call->params;
    int64_t axis = call->y.rank == 4 ? map_axes[p->dim] : p->dim,
            end = (int64_t)p->begin + p->count;
    const char *in[4] = {call->in[0], sr__onnx_inner(call, "begin"), sr__onnx_inner(call, "end"),
                         sr__onnx_inner(call, "axis")};
    sr_onnx_numbers(call->file, in[1], (const int64_t[]){p->begin}, 1);
    sr_onnx_numbers(call->file, in[2], &end, 1);
    sr_onnx_numbers(call->file, in[3], &axis, 1);
    sr__onnx_begin(call, "Slice", in, 4);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{begin: 1, count: 2}", 1, {SR_SHAPE(5, 3)}, false},
    {"{begin: 0, count: 4}", 1, {SR_SHAPE(4, 2, 3, 2)}, false},
    {"{begin: 3, count: 1}", 1, {SR_SHAPE(4, 7)}, false},
    {"{begin: 2, count: 3, dim: 3}", 1, {SR_SHAPE(2, 3, 2, 7)}, false},
    {"{begin: 1, count: 2, dim: 1}", 1, {SR_SHAPE(3, 4, 5)}, false},
};

const SrOp sr_op_slice = {
    .name = "slice",
    .help = "A range of entries of a dimension.",
    .options = options,
    .params_bytes = sizeof(SrSliceParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_ADDS_DX | SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
