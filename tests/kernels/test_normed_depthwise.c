// Tests normed_depthwise beyond the op contract: over random shapes and on a map that bypasses the
// caches it computes what batch_norm and conv2d compute one after the other.
#include <string.h>

#include "base/rng.h"
#include "tests/check.h"
#include "tests/kernels/op_call.h"

enum { WEIGHT = 5 }; // slot of the convolution's weight, after those of the norm

static const char *const activations[] = {"linear", "relu", "relu6", "silu", "hardswish", "gelu"};

typedef struct {
    SrShape x;
    int activation, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w;
} Shape;

static void init(OpCall *c, const char *op, const char *params, SrShape x) {
    SrOpCase example = {params, 1, {x}, false};
    op_call_init(c, op_named(op), &example, 1, true, 11);
}

static void check_close(const char *what, const float *a, const float *b, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)b[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 2e-5 * largest + 1e-6))
            fail_msg("%s: number %lld is %g, expected %g", what, (long long)i, (double)a[i],
                     (double)b[i]);
}

static size_t bytes_of(SrTensor t) {
    return (size_t)sr_shape_count(t.shape) * sr_dtype_bytes(t.dtype);
}

// Compares all results of a training step of the op with those of the two ops.
static void compare(const Shape *s) {
    char norm_params[64] = "{}", conv_params[256], params[320];
    if (s->activation)
        snprintf(norm_params, sizeof norm_params, "{%s: true}", activations[s->activation]);
    int at = snprintf(params, sizeof params, "{activation: %s, ", activations[s->activation]);
    snprintf(
        params + at, sizeof params - (size_t)at,
        "kernel_h: %d, kernel_w: %d, stride_h: %d, stride_w: %d, padding_h: %d, padding_w: %d}",
        s->kernel_h, s->kernel_w, s->stride_h, s->stride_w, s->padding_h, s->padding_w);
    snprintf(conv_params, sizeof conv_params, "{out_channels: %d, groups: %d, %s",
             sr_shape_last(s->x), sr_shape_last(s->x), params + at);
    OpCall one, norm, conv;
    init(&one, "normed_depthwise", params, s->x);
    init(&norm, "batch_norm", norm_params, s->x);
    init(&conv, "conv2d", conv_params, s->x);
    memcpy(norm.x[0].data, one.x[0].data, bytes_of(one.x[0]));
    for (int i = 0; i < WEIGHT; i++)
        memcpy(norm.w[i].data, one.w[i].data, bytes_of(one.w[i]));
    memcpy(conv.w[0].data, one.w[WEIGHT].data, bytes_of(conv.w[0]));
    memcpy(conv.dy, one.dy, bytes_of(one.y));
    op_call_forward(&one);
    op_call_forward(&norm);
    memcpy(conv.x[0].data, norm.y.data, bytes_of(norm.y));
    op_call_forward(&conv);
    check_close("y", one.y.data, conv.y.data, sr_shape_count(one.y_shape));
    op_call_backward(&one);
    op_call_backward(&conv);
    memcpy(norm.dy, conv.dx[0], bytes_of(norm.y));
    op_call_backward(&norm);
    check_close("dx", one.dx[0], norm.dx[0], sr_shape_count(s->x));
    for (int i = 0; i < 2; i++)
        check_close(one.slots[i].name, one.dw[i], norm.dw[i], sr_shape_count(one.slots[i].shape));
    check_close("conv.weight", one.dw[WEIGHT], conv.dw[0], sr_shape_count(conv.slots[0].shape));
    op_call_deinit(&one);
    op_call_deinit(&norm);
    op_call_deinit(&conv);
}

static int between(SrRng *rng, int low, int high) {
    return low + (int)(sr_rng_u32(rng) % (uint32_t)(high - low + 1));
}

// Maps of odd sizes, more images than pieces, wide and narrow channels, kernels larger than maps.
TEST(test_random_shapes) {
    SrRng rng = sr_rng(7, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < 40; i++) {
        Shape s = {.activation = between(&rng, 0, 5),
                   .kernel_h = between(&rng, 1, 7),
                   .kernel_w = 2 * between(&rng, 1, 3) + 1,
                   .stride_h = between(&rng, 1, 2),
                   .stride_w = between(&rng, 1, 2)};
        s.padding_h = between(&rng, 0, s.kernel_h);
        s.padding_w = between(&rng, 0, s.kernel_w);
        int H = SR_MAX(s.kernel_h - 2 * s.padding_h, 1),
            W = SR_MAX(s.kernel_w - 2 * s.padding_w, 1);
        s.x = SR_SHAPE(i % 8 ? between(&rng, 1, 3) : between(&rng, 30, 70),
                       H + between(&rng, 1, 36), W + between(&rng, 1, 12), between(&rng, 2, 70));
        compare(&s);
    }
}

TEST(test_streamed_maps) {
    compare(&(Shape){SR_SHAPE(1, 224, 224, 64), 3, 3, 3, 1, 1, 1, 1});
    compare(&(Shape){SR_SHAPE(2, 113, 225, 64), 4, 5, 5, 2, 2, 2, 2});
}

SR_TESTS(normed_depthwise, unit(test_random_shapes), unit(test_streamed_maps))
