// channel_shuffle: torch.nn.ChannelShuffle.  Channel g (C / groups) + i becomes channel i groups +
// g, so that the following grouped layer reads from all groups (Zhang et al., "ShuffleNet",
// arXiv:1707.01083, section 3.1).
#include "kernels/basic/channel_shuffle.h"

#include <stddef.h>

#include "base/bf16.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"groups", SR_OPT_INT, offsetof(SrChannelShuffleParams, groups), "2", 1, 1 << 16,
     .help = "Number of groups of the channels."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrChannelShuffleParams *p = params;
    SR_TRY(sr__expect_rank("channel_shuffle", x, n_in, 4, 4));
    if (p->groups < 1 || x[0].d[3] % p->groups)
        return sr__shape_fail("channel_shuffle", x, n_in, "channels in %d equal groups", p->groups);
    return sr__infer_same(params, x, n_in, y);
}

static void reference(const SrRefCall *call) {
    const SrChannelShuffleParams *p = call->params;
    int C = call->y_shape.d[3], each = C / p->groups;
    for (int64_t r = 0; r < sr_shape_rows(call->y_shape); r++)
        for (int g = 0; g < p->groups; g++)
            for (int i = 0; i < each; i++)
                call->y[r * C + i * p->groups + g] = call->x[0][r * C + g * each + i];
}

// Transposes every pixel's numbers as a matrix (rows, columns) into (columns, rows).
static void transpose_floats(float *to, const float *from, int rows, int columns) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

static void transpose_bf16(SrBf16 *to, const SrBf16 *from, int rows, int columns) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

static void transpose(SrDtype type, void *to, const void *from, int64_t pixels, int rows,
                      int columns) {
    int C = rows * columns;
#pragma omp parallel for schedule(static) if (pixels * C > SR_CHUNK)
    for (int64_t p = 0; p < pixels; p++) {
        void *y = sr__at(type, to, p * C);
        const void *x = sr__at(type, from, p * C);
        if (type == SR_BF16)
            transpose_bf16(y, x, rows, columns);
        else
            transpose_floats(y, x, rows, columns);
    }
}

static void forward(const SrOpCall *call) {
    int groups = ((const SrChannelShuffleParams *)call->params)->groups;
    SrShape s = call->y.shape;
    transpose(call->y.dtype, call->y.data, call->x[0].data, sr_shape_rows(s), groups,
              s.d[3] / groups);
}

static void backward(const SrOpCall *call) {
    int groups = ((const SrChannelShuffleParams *)call->params)->groups;
    SrShape s = call->y.shape;
    if (call->dx[0])
        transpose(call->y.dtype, call->dx[0], call->dy, sr_shape_rows(s), s.d[3] / groups, groups);
}

// Writes the nodes that torch exports: view, transpose, view.
static SrStatus onnx(SrOnnxCall *call) {
    int groups = ((const SrChannelShuffleParams *)call->params)->groups;
    SrShape s = call->y; // (N, H, W, C)
    const char *apart = sr__onnx_inner(call, "apart"), *turned = sr__onnx_inner(call, "turned");
    const char *split = sr__onnx_inner(call, "split"), *whole = sr__onnx_inner(call, "whole");
    sr_onnx_numbers(call->file, split,
                    (const int64_t[]){-1, groups, s.d[3] / groups, s.d[1], s.d[2]}, 5);
    sr_onnx_numbers(call->file, whole, (const int64_t[]){-1, s.d[3], s.d[1], s.d[2]}, 4);
    sr_onnx_node(call->file, "Reshape", (const char *[]){call->in[0], split}, 2, apart);
    sr_onnx_end(call->file);
    sr_onnx_node(call->file, "Transpose", &apart, 1, turned);
    sr_onnx_ints(call->file, "perm", (const int64_t[]){0, 2, 1, 3, 4}, 5);
    sr_onnx_end(call->file);
    sr__onnx_begin(call, "Reshape", (const char *[]){turned, whole}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 3, 5, 8)}, false},
    {"{groups: 3}", 1, {SR_SHAPE(1, 2, 2, 21)}, false},
};

const SrOp sr_op_channel_shuffle = {
    .name = "channel_shuffle",
    .help = "Interleaves the channels of several groups.",
    .options = options,
    .params_bytes = sizeof(SrChannelShuffleParams),
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
