// Tests the op linear on tile registers, or their emulation where the processor has none, against
// the same call without tiles. Rows and features are so many that the tile design is chosen.
#include "base/bf16.h"
#include "kernels/conv/conv.h"
#include "tests/check.h"
#include "tests/kernels/op_call.h"
#include "tests/kernels/op_half.h"
#include "tests/machine.h"

static const SrOpCase example = {"{out_features: 256}", 1, {SR_SHAPE(2, 150, 256)}, true};

static void run(OpCall *c, SrCpuLevel level) {
    test_machine_level(level);
    op_call_init(c, op_named("linear"), &example, 1, true, 7);
    op_call_forward(c);
    op_call_backward(c);
}

static void compare(const char *what, const float *a, const float *b, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) { // fmax here ends gcc 12 for aarch64 in an internal error
        double size = fabs((double)b[i]);
        largest = size > largest ? size : largest;
    }
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 2e-6 * largest))
            fail_msg("%s[%lld] is %.9g, expected %.9g", what, (long long)i, (double)a[i],
                     (double)b[i]);
}

// A float product made of six bfloat16 products is as exact as fused multiply-adds.
TEST(test_split_floats) {
    SrCpuLevel best = test_machine()->level;
    OpCall tiles, blas;
    test_machine()->emulates_tiles = !sr_machine_has_tiles(test_machine());
    run(&tiles, best);
    SrConvShape s = {1, 1, 300, 256, 256, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, SR_F32, NULL};
    sr_conv_shape(&s);
    SrConv conv = test_conv(&s);
    CHECK_STR(sr_conv_design(&conv, SR_CONV_FORWARD), "tiles");
    test_machine()->emulates_tiles = false;
    run(&blas, SR_CPU_PLAIN);
    test_machine_level(best);
    compare("y", tiles.y.data, blas.y.data, 300 * 256);
    compare("dx", tiles.dx[0], blas.dx[0], 300 * 256);
    compare("dw", tiles.dw[0], blas.dw[0], 256 * 256);
    compare("db", tiles.dw[1], blas.dw[1], 256);
    op_call_deinit(&tiles);
    op_call_deinit(&blas);
}

TEST(test_bfloat16) {
    test_machine()->emulates_tiles = !sr_machine_has_tiles(test_machine());
    SrConvShape s = {1, 1, 300, 256, 256, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, SR_BF16, NULL};
    sr_conv_shape(&s);
    SrConv conv = test_conv(&s);
    CHECK_STR(sr_conv_design(&conv, SR_CONV_FORWARD), "tiles");
    op_half_forward(op_named("linear"), &example, true);
    op_half_backward(op_named("linear"), &example, true, 1);
    op_half_threads(op_named("linear"), &example, true);
    test_machine()->emulates_tiles = false;
}

SR_TESTS(linear_tiles, unit(test_split_floats), unit(test_bfloat16))
