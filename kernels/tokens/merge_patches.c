// merge_patches: merges every 2 x 2 pixels into one of four times the channels, in the order (row
// 0, column 0), (1, 0), (0, 1), (1, 1).  An odd row or column is padded with zeros (Liu et al.,
// "Swin Transformer", arXiv:2103.14030, section 3.1).
//
//   (N, H, W, C) -> (N, ceil(H / 2), ceil(W / 2), 4 C)
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("merge_patches", x, n_in, 4, 4));
    *y = SR_SHAPE(x[0].d[0], (x[0].d[1] + 1) / 2, (x[0].d[2] + 1) / 2, 4 * x[0].d[3]);
    return SR_OK;
}

// Returns the pixel of the map (H, W) that is part `part` of merged pixel `i` of its image; -1: a
// zero.
static int64_t pixel_of(SrShape map, int64_t i, int part) {
    int w = (map.d[2] + 1) / 2, y = (int)(i / w) * 2 + part % 2, x = (int)(i % w) * 2 + part / 2;
    return y < map.d[1] && x < map.d[2] ? (int64_t)y * map.d[2] + x : -1;
}

static void reference(const SrRefCall *call) {
    SrShape s = call->x_shape[0];
    int64_t merged = (int64_t)call->y_shape.d[1] * call->y_shape.d[2], C = s.d[3];
    for (int64_t i = 0; i < s.d[0] * merged * 4; i++) {
        int64_t pixel = pixel_of(s, i / 4 % merged, (int)(i % 4));
        int64_t from = (i / 4 / merged * s.d[1] * s.d[2] + pixel) * C;
        for (int64_t c = 0; c < C; c++)
            call->y[i * C + c] = pixel < 0 ? 0 : call->x[0][from + c];
    }
}

// Copies pixels of the map to merged ones, or back.
static void move(SrShape s, SrDtype type, void *map, void *merged, bool back) {
    int64_t n = (int64_t)((s.d[1] + 1) / 2) * ((s.d[2] + 1) / 2), C = s.d[3];
#pragma omp parallel for schedule(static) if (s.d[0] * n * C > SR_CHUNK)
    for (int64_t i = 0; i < s.d[0] * n; i++)
        for (int part = 0; part < 4; part++) {
            int64_t pixel = pixel_of(s, i % n, part);
            void *to = sr__at(type, merged, (4 * i + part) * C);
            void *at = sr__at(type, map, (i / n * s.d[1] * s.d[2] + pixel) * C);
            if (!back && pixel < 0)
                memset(to, 0, (size_t)C * sr_dtype_bytes(type));
            else if (pixel >= 0)
                memcpy(back ? at : to, back ? to : at, (size_t)C * sr_dtype_bytes(type));
        }
}

static void forward(const SrOpCall *call) {
    move(call->x[0].shape, call->y.dtype, call->x[0].data, call->y.data, false);
}

static void backward(const SrOpCall *call) {
    if (call->dx[0])
        move(call->x[0].shape, call->y.dtype, call->dx[0], (float *)call->dy, true);
}

static SrStatus onnx(SrOnnxCall *call) {
    SrShape s = call->x[0];
    int n = 4 * call->y.d[1] * call->y.d[2], pixels = s.d[1] * s.d[2];
    int64_t *at = sr_arena_alloc(&call->file->arena, (size_t)n * sizeof *at);
    SR_TRY_MEMORY(at, "an ONNX graph");
    for (int i = 0; i < n; i++) {
        int64_t pixel = pixel_of(s, i / 4, i % 4);
        at[i] = pixel < 0 ? pixels : pixel; // index of a row of zeros
    }
    const char *rows =
        sr__onnx_reshape(call, "flat", sr__onnx_rows(call, 0), (const int64_t[]){0, -1, s.d[3]}, 3);
    rows = sr__onnx_gather(call, "moved", sr__onnx_zero_row(call, "filled", rows), 1, at, n);
    const int64_t dims[] = {0, call->y.d[1], call->y.d[2], call->y.d[3]};
    return sr__onnx_finish(call, sr__onnx_reshape(call, "merged", rows, dims, 4));
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 4, 2, 3)}, false},
    {"{}", 1, {SR_SHAPE(2, 3, 5, 2)}, false},
};

const SrOp sr_op_merge_patches = {
    .name = "merge_patches",
    .help = "Joins 2 x 2 pixels into one pixel with four times the channels.",
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
