// pad: zeros before and after the channels of every pixel (torch.nn.functional.pad of NCHW's second
// dimension), the parameter-free shortcut of small ResNets.  Not the padding of a convolution.
#include <stddef.h>
#include <string.h>

#include "kernels/op_onnx.h"
#include "kernels/op_util.h"
#include "kernels/pad.h"

static const SrOption options[] = {
    {"before", SR_OPT_INT, offsetof(SrPadParams, before), "0", 0, 65535, NULL,
     "Channels of zeros in front."},
    {"after", SR_OPT_INT, offsetof(SrPadParams, after), "0", 0, 65535, NULL,
     "Channels of zeros behind."},
    SR_OPTION_END,
};

// x (..., C) -> y (..., before + C + after)
static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrPadParams *p = params;
    SR_TRY(sr__expect_rank("pad", x, n_in, 2, SR_MAX_RANK));
    *y = x[0];
    y->d[y->rank - 1] += p->before + p->after;
    return SR_OK;
}

static void reference(const SrRefCall *call) {
    const SrPadParams *p = call->params;
    int C = sr_shape_last(call->x_shape[0]), K = sr_shape_last(call->y_shape);
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++) {
        int64_t c = i % K - p->before;
        call->y[i] = c >= 0 && c < C ? call->x[0][i / K * C + c] : 0;
    }
}

// Rows a thread takes at a time, of width K.
static int64_t rows_of_chunk(int K) { return SR_MAX(SR_CHUNK / K, 1); }

static void forward(const SrOpCall *call) {
    const SrPadParams *p = call->params;
    const float *x = call->x[0].data; // (rows, C)
    float *y = call->y.data;          // (rows, K)
    int C = sr_shape_last(call->x[0].shape), K = sr_shape_last(call->y.shape);
    int64_t rows = sr_shape_count(call->y.shape) / K, step = rows_of_chunk(K);
#pragma omp parallel for schedule(static) if (rows > step)
    for (int64_t first = 0; first < rows; first += step) {
        for (int64_t i = first; i < SR_MIN(first + step, rows); i++) {
            memset(y + i * K, 0, (size_t)p->before * sizeof *y);
            memcpy(y + i * K + p->before, x + i * C, (size_t)C * sizeof *y);
            memset(y + i * K + p->before + C, 0, (size_t)p->after * sizeof *y);
        }
    }
}

static void backward(const SrOpCall *call) {
    const SrPadParams *p = call->params;
    int C = sr_shape_last(call->x[0].shape), K = sr_shape_last(call->y.shape);
    int64_t rows = sr_shape_count(call->y.shape) / K, step = rows_of_chunk(K);
    float *dx = call->dx[0]; // (rows, C)
    if (!dx)
        return;
#pragma omp parallel for schedule(static) if (rows > step)
    for (int64_t first = 0; first < rows; first += step)
        for (int64_t i = first; i < SR_MIN(first + step, rows); i++)
            memcpy(dx + i * C, call->dy + i * K + p->before, (size_t)C * sizeof *dx);
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrPadParams *p = call->params;
    const char *pads = sr__onnx_inner(call, "pads");
    int rank = call->y.rank;
    // All beginnings, then all ends; channels are dimension 1.
    int64_t amounts[2 * SR_MAX_RANK] = {0};
    if (rank != 4 && rank != 2)
        return sr__onnx_unsupported(call, "of tokens");
    amounts[1] = p->before;
    amounts[rank + 1] = p->after;
    sr_onnx_numbers(call->file, pads, amounts, 2 * rank);
    sr__onnx_begin(call, "Pad", (const char *[]){call->in[0], pads}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{before: 2, after: 3}", 1, {SR_SHAPE(2, 3, 3, 4)}, false},
    {"{before: 1}", 1, {SR_SHAPE(5, 7)}, false},
    {"{after: 8}", 1, {SR_SHAPE(2, 9, 16, 16)}, false},
};

const SrOp sr_op_pad = {
    .name = "pad",
    .help = "Zeros before and after the channels.",
    .options = options,
    .params_bytes = sizeof(SrPadParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
