// pad: zeros before and after the entries of a dimension (torch.nn.functional.pad): channels of
// every pixel, as in the parameter-free shortcut of small ResNets, or rows, or columns.
// Convolutions pad by themselves.
#include <stddef.h>
#include <string.h>

#include "kernels/basic/pad.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"before", SR_OPT_INT, offsetof(SrPadParams, before), "0", 0, 65535,
     .help = "Number of zero entries before the input."},
    {"after", SR_OPT_INT, offsetof(SrPadParams, after), "0", 0, 65535,
     .help = "Number of zero entries after the input."},
    {"dim", SR_OPT_INT, offsetof(SrPadParams, dim), "0", 0, SR_MAX_RANK - 1,
     .help = "Dimension to pad; 0: the channels."},
    SR_OPTION_END,
};

static int dim_of(const SrPadParams *p, SrShape x) { return p->dim ? p->dim : x.rank - 1; }

// x (..., C, ...) -> y (..., before + C + after, ...)
static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrPadParams *p = params;
    SR_TRY(sr__expect_rank("pad", x, n_in, SR_MAX(2, p->dim + 1), SR_MAX_RANK));
    *y = x[0];
    y->d[dim_of(p, x[0])] += p->before + p->after;
    return SR_OK;
}

// The tensor as rows that begin at the dimension: numbers in a row of x, in a row of y, and before
// x's in a row of y.
typedef struct {
    int64_t rows, C, K, before;
} Rows;

static Rows rows_of(const SrPadParams *p, SrShape x, SrShape y) {
    int64_t entry = 1;
    for (int i = dim_of(p, x) + 1; i < x.rank; i++)
        entry *= x.d[i];
    Rows r = {.C = entry * x.d[dim_of(p, x)], .K = entry * y.d[dim_of(p, x)]};
    r.rows = sr_shape_count(y) / r.K;
    r.before = entry * p->before;
    return r;
}

static void reference(const SrRefCall *call) {
    Rows r = rows_of(call->params, call->x_shape[0], call->y_shape);
    for (int64_t i = 0; i < r.rows * r.K; i++) {
        int64_t c = i % r.K - r.before;
        call->y[i] = c >= 0 && c < r.C ? call->x[0][i / r.K * r.C + c] : 0;
    }
}

// Returns the rows that a thread takes at a time.
static int64_t rows_of_chunk(const Rows *r) { return SR_MAX(SR_CHUNK / r->K, 1); }

static void forward(const SrOpCall *call) {
    Rows r = rows_of(call->params, call->x[0].shape, call->y.shape);
    size_t bytes = sr_dtype_bytes(call->y.dtype);
    int64_t step = rows_of_chunk(&r), after = r.K - r.before - r.C;
#pragma omp parallel for schedule(static) if (r.rows > step)
    for (int64_t first = 0; first < r.rows; first += step) {
        for (int64_t i = first; i < SR_MIN(first + step, r.rows); i++) {
            char *y = sr__at(call->y.dtype, call->y.data, i * r.K);
            memset(y, 0, (size_t)r.before * bytes);
            memcpy(y + (size_t)r.before * bytes, sr__at(call->y.dtype, call->x[0].data, i * r.C),
                   (size_t)r.C * bytes);
            memset(y + (size_t)(r.before + r.C) * bytes, 0, (size_t)after * bytes);
        }
    }
}

static void backward(const SrOpCall *call) {
    Rows r = rows_of(call->params, call->x[0].shape, call->y.shape);
    SrDtype type = call->y.dtype;
    int64_t step = rows_of_chunk(&r);
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static) if (r.rows > step)
    for (int64_t first = 0; first < r.rows; first += step)
        for (int64_t i = first; i < SR_MIN(first + step, r.rows); i++)
            memcpy(sr__at(type, call->dx[0], i * r.C), sr__at(type, call->dy, i * r.K + r.before),
                   (size_t)r.C * sr_dtype_bytes(type));
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrPadParams *p = call->params;
    const char *pads = sr__onnx_inner(call, "pads");
    int rank = call->y.rank;
    // ONNX wants all beginnings, then all ends; maps are (N, C, H, W) there.
    int64_t amounts[2 * SR_MAX_RANK] = {0};
    static const int map_axes[] = {0, 2, 3, 1};
    int dim = dim_of(p, call->y), axis = rank == 4 ? map_axes[dim] : dim;
    amounts[axis] = p->before;
    amounts[rank + axis] = p->after;
    sr_onnx_numbers(call->file, pads, amounts, 2 * rank);
    sr__onnx_begin(call, "Pad", (const char *[]){call->in[0], pads}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{before: 2, after: 3}", 1, {SR_SHAPE(2, 3, 3, 4)}, false},
    {"{before: 1}", 1, {SR_SHAPE(5, 7)}, false},
    {"{after: 8}", 1, {SR_SHAPE(2, 9, 16, 16)}, false},
    {"{after: 1, dim: 1}", 1, {SR_SHAPE(2, 5, 4, 6)}, false},
    {"{before: 1, after: 2, dim: 2}", 1, {SR_SHAPE(3, 2, 4, 5)}, false},
};

const SrOp sr_op_pad = {
    .name = "pad",
    .help = "Adds zeros before and after the entries of a dimension.",
    .options = options,
    .params_bytes = sizeof(SrPadParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
