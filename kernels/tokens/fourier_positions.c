// fourier_positions: sines and cosines of a place's row, then of its column, (N, h, w, 2 F), a
// constant.  Number i of row y is the sine (i even) or cosine (i odd) of 2 pi (y + 1) / (h + 1e-6)
// / 10000^(2 floor(i / 2) / F).  Vaswani et al., arXiv:1706.03762, section 3.5, over two dimensions
// as in XCiT, arXiv:2106.09681.
#include "kernels/tokens/fourier_positions.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrFourierPositionsParams, f)
static const SrOption options[] = {
    {"images", SR_OPT_INT, FIELD(images), "1", 1, 1 << 24,
     .help = "Number of images; all get the same values."},
    {"height", SR_OPT_INT, FIELD(height), "1", 1, 0xffff, .help = "Rows of the map."},
    {"width", SR_OPT_INT, FIELD(width), "1", 1, 0xffff, .help = "Columns of the map."},
    {"features", SR_OPT_INT, FIELD(features), "32", 2, 1 << 16,
     .help = "Number of features for the row, and as many for the column."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrFourierPositionsParams *p = params;
    (void)x, (void)n_in;
    if (p->features < 2 || p->features % 2 || p->height < 1 || p->width < 1 || p->images < 1)
        SR_FAIL(SR_ERR_CONFIG,
                "fourier_positions: %d features of %d x %d places: expected an even "
                "number of features",
                p->features, p->height, p->width);
    *y = SR_SHAPE(p->images, p->height, p->width, 2 * p->features);
    return SR_OK;
}

// The result is a map, ready for a convolution.
static bool channels_last(const void *params, bool of_input) {
    (void)params, (void)of_input;
    return false;
}

static double value_at(const SrFourierPositionsParams *p, int64_t i) {
    const double two_pi = 6.283185307179586;
    int F = p->features, feature = (int)(i % (2 * F)) % F;
    int64_t pixel = i / (2 * F) % ((int64_t)p->height * p->width);
    bool column = i % (2 * F) >= F;
    double place = column ? (double)(pixel % p->width + 1) / (p->width + 1e-6)
                          : (double)(pixel / p->width + 1) / (p->height + 1e-6);
    double angle = place * two_pi / pow(10000, 2.0 * (feature / 2) / F);
    return feature % 2 ? cos(angle) : sin(angle);
}

static void reference(const SrRefCall *call) {
    for (int64_t i = 0; i < sr_shape_count(call->y_shape); i++)
        call->y[i] = value_at(call->params, i);
}

static void forward(const SrOpCall *call) {
    float *y = call->y.data;
    int64_t n = sr_shape_count(call->y.shape);
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)value_at(call->params, i);
}

// Writes one map; additions repeat it for every image.
static SrStatus onnx(SrOnnxCall *call) {
    SrShape map = call->y;
    map.d[0] = 1;
    size_t n = (size_t)sr_shape_count(map);
    float *values = sr_arena_alloc(&call->file->arena, n * sizeof *values);
    SR_TRY_MEMORY(values, "an ONNX graph");
    for (size_t i = 0; i < n; i++)
        values[i] = (float)value_at(call->params, (int64_t)i);
    const char *table = sr__onnx_inner(call, "table");
    sr_onnx_weight(call->file, table, (SrTensor){map, SR_F32, values});
    return sr__onnx_finish(call, table);
}

static const SrOpCase cases[] = {
    {"{images: 2, height: 3, width: 2, features: 4}", 0, {{0}}, false},
};

const SrOp sr_op_fourier_positions = {
    .name = "fourier_positions",
    .help = "Sines and cosines of the positions in a map.",
    .options = options,
    .params_bytes = sizeof(SrFourierPositionsParams),
    .min_in = 0,
    .max_in = 0,
    .flags = SR_OP_NO_GRAD,
    .infer = infer,
    .channels_last = channels_last,
    .reference = reference,
    .forward = forward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
