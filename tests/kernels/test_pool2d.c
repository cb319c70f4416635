// Tests pooling beyond the op contract: ties, NaN, borders, and PyTorch's output sizes.
#include "tests/check.h"
#include "tests/kernels/op_call.h"

static void start(OpCall *c, const char *op, const char *params, SrShape shape, const float *x) {
    SrOpCase example = {params, 1, {shape}, false};
    op_call_init(c, op_named(op), &example, 1, true, 1);
    if (x)
        memcpy(c->x[0].data, x, (size_t)sr_shape_count(shape) * sizeof(float));
    op_call_forward(c);
}

TEST(test_ties_go_to_the_first) {
    OpCall c;
    float x[] = {5, 5, 5, 5};
    start(&c, "max_pool2d", "{kernel_h: 2}", SR_SHAPE(1, 2, 2, 1), x);
    c.dy[0] = 3;
    op_call_backward(&c);
    CHECK(c.dx[0][0] == 3 && c.dx[0][1] == 0 && c.dx[0][2] == 0 && c.dx[0][3] == 0);
    op_call_deinit(&c);
}

TEST(test_nan_wins) {
    OpCall c;
    float x[] = {1, NAN, 7, 2};
    start(&c, "max_pool2d", "{kernel_h: 2}", SR_SHAPE(1, 2, 2, 1), x);
    CHECK(isnan(((float *)c.y.data)[0]));
    op_call_deinit(&c);
    start(&c, "adaptive_max_pool2d", "{}", SR_SHAPE(1, 2, 2, 1), x);
    CHECK(isnan(((float *)c.y.data)[0]));
    op_call_deinit(&c);
}

// Max pooling pads with minus infinity: a map of negative numbers keeps its maxima.
TEST(test_padding_is_never_the_maximum) {
    OpCall c;
    float x[] = {-4, -3, -2, -INFINITY};
    start(&c, "max_pool2d", "{kernel_h: 3, stride_h: 2, padding_h: 1}", SR_SHAPE(1, 2, 2, 1), x);
    CHECK_INT(sr_shape_count(c.y_shape), 1);
    CHECK(((float *)c.y.data)[0] == -2);
    op_call_deinit(&c);
}

// One pixel under four overlapping windows receives the gradient of each.
TEST(test_overlapping_windows_add_up) {
    OpCall c;
    float x[25] = {0};
    x[12] = 1;
    start(&c, "max_pool2d", "{kernel_h: 3, stride_h: 2}", SR_SHAPE(1, 5, 5, 1), x);
    for (int i = 0; i < 4; i++)
        c.dy[i] = (float)(1 << i);
    op_call_backward(&c);
    CHECK_NEAR(c.dx[0][12], 15, 0);
    op_call_deinit(&c);
}

TEST(test_mean_counts_padding_or_not) {
    OpCall c;
    float x[] = {4, 4, 4, 4};
    start(&c, "avg_pool2d", "{kernel_h: 2, stride_h: 1, padding_h: 1}", SR_SHAPE(1, 2, 2, 1), x);
    CHECK_NEAR(((float *)c.y.data)[0], 1, 1e-6);
    CHECK_NEAR(((float *)c.y.data)[4], 4, 1e-6);
    op_call_deinit(&c);
    start(&c, "avg_pool2d", "{kernel_h: 2, stride_h: 1, padding_h: 1, exclude_pad: true}",
          SR_SHAPE(1, 2, 2, 1), x);
    CHECK_NEAR(((float *)c.y.data)[0], 4, 1e-6);
    op_call_deinit(&c);
}

static int out_rows(const char *op, const char *params, int rows) {
    OpCall c;
    start(&c, op, params, SR_SHAPE(1, rows, 2, 1), NULL);
    int out = c.y_shape.d[1];
    op_call_deinit(&c);
    return out;
}

// Output sizes are those of torch.nn.MaxPool2d: floor and ceil, and a window must start inside
// the map.
TEST(test_sizes) {
    const char *one_wide = "{kernel_h: 3, kernel_w: 1, stride_h: 2}";
    CHECK_INT(out_rows("max_pool2d", one_wide, 7), 3);
    CHECK_INT(out_rows("max_pool2d", one_wide, 8), 3);
    CHECK_INT(out_rows("max_pool2d", "{kernel_h: 3, kernel_w: 1, stride_h: 2, ceil_mode: true}", 8),
              4);
    CHECK_INT(out_rows("max_pool2d", "{kernel_h: 2, kernel_w: 1, stride_h: 3, ceil_mode: true}", 3),
              1);
    CHECK_INT(out_rows("adaptive_avg_pool2d", "{out_h: 5, out_w: 1}", 3), 5);
}

SR_TESTS(pool2d, unit(test_ties_go_to_the_first), unit(test_nan_wins),
         unit(test_padding_is_never_the_maximum), unit(test_overlapping_windows_add_up),
         unit(test_mean_counts_padding_or_not), unit(test_sizes))
