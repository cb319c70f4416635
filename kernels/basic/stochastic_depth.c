// stochastic_depth: in training an image's whole branch becomes 0 with probability p and is
// otherwise divided by 1 - p; in evaluation it is copied (Huang et al., arXiv:1603.09382;
// torchvision.ops.stochastic_depth, timm's DropPath).  Draws are keyed by seed, iteration, node and
// image.
#include "kernels/basic/stochastic_depth.h"

#include <stddef.h>
#include <string.h>

#include "base/rng.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"p", SR_OPT_FLOAT, offsetof(SrStochasticDepthParams, p), "0.5", 0, 1,
     .help = "Probability that the branch is left out."},
    {"batch", SR_OPT_BOOL, offsetof(SrStochasticDepthParams, batch), "False",
     .help = "Draw once for all images of a batch."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    SR_TRY(sr__expect_rank("stochastic_depth", x, n_in, 2, SR_MAX_RANK));
    return sr__infer_same(params, x, n_in, y);
}

// With p = 0 nothing needs to be copied.
static bool is_view(const void *params, const SrShape *x, int n_in) {
    const SrStochasticDepthParams *p = params;
    (void)x, (void)n_in;
    return p->p == 0;
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

// Returns the factor of image n.  It is drawn again wherever it is needed, so nothing has to be
// saved.
static double factor(const SrStochasticDepthParams *p, int n, uint64_t seed, int64_t iteration,
                     uint64_t key) {
    uint32_t image = p->batch ? 0 : (uint32_t)n;
    SrRng rng = sr_rng(seed, SR_RNG_DROPOUT, (uint64_t)iteration, key, image & 0xffff, image >> 16);
    return sr_rng_uniform(&rng) < p->p ? 0 : 1 / (1 - p->p);
}

static void reference(const SrRefCall *call) {
    int N = call->y_shape.d[0];
    int64_t image = sr_shape_count(call->y_shape) / N;
    for (int n = 0; n < N; n++) {
        double f =
            call->train ? factor(call->params, n, call->seed, call->iteration, call->node_key) : 1;
        for (int64_t i = 0; i < image; i++)
            call->y[n * image + i] = f > 0 ? f * call->x[0][n * image + i] : 0;
    }
}

// Computes one image; y may be x.  A dropped image is zeros, not 0 * x, because x may be infinite.
static void scale_image(const SrOpCall *call, void *y, const void *x, float by, int64_t n) {
    SrDtype type = call->y.dtype;
    size_t bytes = (size_t)n * sr_dtype_bytes(type);
    if (by == 0)
        memset(y, 0, bytes);
    else if (by != 1)
        sr__rows(call->machine)->times(type, y, x, by, n);
    else if (y != x)
        memcpy(y, x, bytes);
}

static void scale_images(const SrOpCall *call, void *y, const void *x) {
    SrDtype type = call->y.dtype;
    int N = call->y.shape.d[0];
    int64_t image = sr_shape_count(call->y.shape) / N;
#pragma omp parallel for schedule(static)
    for (int n = 0; n < N; n++) {
        double f =
            call->train ? factor(call->params, n, call->seed, call->iteration, call->node_key) : 1;
        scale_image(call, sr__at(type, y, n * image), sr__at(type, x, n * image), (float)f, image);
    }
}

static void forward(const SrOpCall *call) { scale_images(call, call->y.data, call->x[0].data); }

static void backward(const SrOpCall *call) {
    if (call->dx[0])
        scale_images(call, call->dx[0], call->dy);
}

// In evaluation nothing is dropped.
static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Identity"); }

static const SrOpCase cases[] = {
    {"{p: 0.4}", 1, {SR_SHAPE(7, 3, 2, 5)}, false},
    {"{p: 0.5, batch: True}", 1, {SR_SHAPE(3, 6)}, false},
    {"{p: 0}", 1, {SR_SHAPE(2, 3, 4)}, false},
    {"{p: 1}", 1, {SR_SHAPE(2, 3)}, false},
};

const SrOp sr_op_stochastic_depth = {
    .name = "stochastic_depth",
    .help = "Leaves out a branch at random for each image in training.",
    .options = options,
    .params_bytes = sizeof(SrStochasticDepthParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_IMPURE | SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .is_view = is_view,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
