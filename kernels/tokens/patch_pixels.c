// patch_pixels: an image's patches as rows of numbers (row, column, channel), x (N, H, W, C) -> (N,
// H W / patch^2, patch^2 C).  A masked autoencoder predicts them (He et al., arXiv:2111.06377,
// section 3).  There is no gradient, because images are given.
#include "kernels/tokens/patch_pixels.h"

#include <stddef.h>
#include <string.h>

#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"patch", SR_OPT_INT, offsetof(SrPatchPixelsParams, patch), "1", 1, 0xffff,
     .help = "Side of a patch in pixels."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrPatchPixelsParams *p = params;
    SR_TRY(sr__expect_rank("patch_pixels", x, n_in, 4, 4));
    if (p->patch < 1 || x[0].d[1] % p->patch || x[0].d[2] % p->patch)
        return sr__shape_fail("patch_pixels", x, n_in,
                              "sides that are multiples of the patch, %d pixels", p->patch);
    *y = SR_SHAPE(x[0].d[0], x[0].d[1] / p->patch * (x[0].d[2] / p->patch),
                  p->patch * p->patch * x[0].d[3]);
    return SR_OK;
}

static void reference(const SrRefCall *call) {
    const SrPatchPixelsParams *p = call->params;
    SrShape s = call->x_shape[0];
    int C = s.d[3], columns = s.d[2] / p->patch, L = call->y_shape.d[1], D = call->y_shape.d[2];
    for (int64_t i = 0; i < sr_shape_count(call->y_shape); i++) {
        int64_t n = i / D / L, l = i / D % L, k = i % D;
        int64_t row = l / columns * p->patch + k / (p->patch * C),
                column = l % columns * p->patch + k / C % p->patch;
        call->y[i] = call->x[0][((n * s.d[1] + row) * s.d[2] + column) * C + k % C];
    }
}

static void forward(const SrOpCall *call) {
    const SrPatchPixelsParams *p = call->params;
    SrShape s = call->x[0].shape; // (N, H, W, C)
    int columns = s.d[2] / p->patch, L = call->y.shape.d[1], D = call->y.shape.d[2],
        part = p->patch * s.d[3];
#pragma omp parallel for schedule(static) if (sr_shape_count(call->y.shape) > SR_CHUNK)
    for (int64_t r = 0; r < (int64_t)s.d[0] * L; r++) {
        float *y = (float *)call->y.data + r * D;
        int64_t n = r / L, l = r % L, row = l / columns * p->patch, column = l % columns * p->patch;
        const float *x =
            (const float *)call->x[0].data + ((n * s.d[1] + row) * s.d[2] + column) * s.d[3];
        for (int k = 0; k < p->patch; k++)
            memcpy(y + k * part, x + (int64_t)k * s.d[2] * s.d[3], (size_t)part * sizeof(float));
    }
}

static const SrOpCase cases[] = {
    {"{patch: 2}", 1, {SR_SHAPE(2, 4, 6, 3)}, false},
    {"{patch: 4}", 1, {SR_SHAPE(2, 8, 4, 1)}, false},
};

const SrOp sr_op_patch_pixels = {
    .name = "patch_pixels",
    .help = "Turns an image into rows, one for each patch.",
    .options = options,
    .params_bytes = sizeof(SrPatchPixelsParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_NO_GRAD,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
