// Tests the op attention at shapes that are larger than its registry cases: several tiles of
// keys, the token counts of a vision transformer, and any number of threads. Some scores are so
// large that only a softmax that subtracts the maximum is finite.
#include <stdio.h>

#include "base/parallel.h"
#include "tests/check.h"
#include "tests/kernels/op_call.h"
#include "tests/kernels/op_half.h"
#include "tests/machine.h"

static const SrOp *attention(void) {
    const SrOp *op = op_named("attention");
    CHECK(op != NULL);
    return op;
}

static void check_rows(const float *got, const double *want, int64_t n, double tolerance) {
    for (int64_t i = 0; i < n; i++)
        CHECK_NEAR(got[i], want[i], tolerance);
}

static void check_forward(const SrOpCase *example, uint64_t seed) {
    OpCall c;
    op_call_init(&c, attention(), example, 1, true, seed);
    op_call_forward(&c);
    op_call_reference(&c);
    check_rows(c.y.data, c.y64, sr_shape_count(c.y_shape), 2e-6);
    op_call_deinit(&c);
}

TEST(test_long_sequences) {
    const SrOpCase shapes[] = {
        {"{num_heads: 3}", 1, {SR_SHAPE(2, 197, 3 * 192)}, false},
        {"{num_heads: 1}", 1, {SR_SHAPE(1, 256, 3 * 8)}, false},
        {"{num_heads: 2}", 1, {SR_SHAPE(1, 257, 3 * 10)}, false},
        {"{num_heads: 1}", 1, {SR_SHAPE(1, 785, 3 * 64)}, false},
        {"{num_heads: 5}", 1, {SR_SHAPE(3, 37, 3 * 35)}, false},
    };
    for (int i = 0; i < SR_COUNT(shapes); i++)
        check_forward(&shapes[i], 11 + (uint64_t)i);
}

// The change of sum(dy * y) along one random direction is the one that dx predicts, over several
// tiles of keys.
TEST(test_gradient_over_several_tiles_of_keys) {
    const SrOpCase example = {"{num_heads: 2}", 1, {SR_SHAPE(1, 300, 3 * 8)}, false};
    const double h = 1e-5;
    OpCall c;
    op_call_init(&c, attention(), &example, 1, true, 5);
    op_call_forward(&c);
    op_call_backward(&c);
    int64_t n = sr_shape_count(c.shapes[0]), m = sr_shape_count(c.y_shape);
    double *way = op_call_alloc(&c, (size_t)n * sizeof *way), promised = 0, change = 0;
    op_call_fill(way, n, 5, 77);
    for (int64_t i = 0; i < n; i++)
        promised += way[i] * (double)c.dx[0][i];
    for (int side = -1; side <= 1; side += 2) {
        for (int64_t i = 0; i < n; i++)
            c.x64[0][i] += side * h * way[i];
        op_call_reference(&c);
        for (int64_t i = 0; i < m; i++)
            change += side * (double)c.dy[i] * c.y64[i] / (2 * h);
        for (int64_t i = 0; i < n; i++)
            c.x64[0][i] -= side * h * way[i];
    }
    CHECK_NEAR(promised, change, 1e-4 * (fabs(change) + 1));
    op_call_deinit(&c);
}

// Each exp() of these scores overflows a float, so the softmax must subtract the maximum first.
TEST(test_large_scores) {
    const SrOpCase example = {"{num_heads: 1, scale: 100}", 1, {SR_SHAPE(1, 300, 3 * 16)}, false};
    OpCall c;
    op_call_init(&c, attention(), &example, 1, true, 9);
    op_call_forward(&c);
    op_call_backward(&c);
    for (int64_t i = 0; i < sr_shape_count(c.y_shape); i++)
        CHECK(isfinite(((float *)c.y.data)[i]));
    for (int64_t i = 0; i < sr_shape_count(c.shapes[0]); i++)
        CHECK(isfinite(c.dx[0][i]));
    op_call_deinit(&c);
}

TEST(test_threads_do_not_change_bits) {
    const SrOpCase example = {"{num_heads: 3}", 1, {SR_SHAPE(3, 130, 3 * 48)}, false};
    int before = sr_parallel_threads();
    OpCall c[2];
    for (int i = 0; i < 2; i++) {
        sr_parallel_set_threads(i ? 3 : 1);
        op_call_init(&c[i], attention(), &example, 1, true, 4);
        op_call_forward(&c[i]);
        op_call_backward(&c[i]);
    }
    sr_parallel_set_threads(before);
    CHECK(memcmp(c[0].y.data, c[1].y.data, (size_t)sr_shape_count(c[0].y_shape) * sizeof(float)) ==
          0);
    CHECK(memcmp(c[0].dx[0], c[1].dx[0], (size_t)sr_shape_count(c[0].shapes[0]) * sizeof(float)) ==
          0);
    op_call_deinit(&c[0]);
    op_call_deinit(&c[1]);
}

// Draws token counts and channels around the limits of tile registers: odd channels, dropout,
// class attention, biases.
static void random_half(SrRng *rng, char *params, SrOpCase *example) {
    int L = 1 + (int)sr_rng_below(rng, 80), E = 1 + (int)sr_rng_below(rng, 3);
    int d = 1 + (int)sr_rng_below(rng, 40), N = 1 + (int)sr_rng_below(rng, 2);
    bool bias = sr_rng_below(rng, 4) == 0;
    int queries = !bias && sr_rng_below(rng, 4) == 0 ? 1 : 0;
    snprintf(params, 80, "{num_heads: %d, queries: %d, dropout: %s}", E, queries,
             sr_rng_below(rng, 4) == 0 ? "0.3" : "0");
    *example = (SrOpCase){params, bias ? 2 : 1, {SR_SHAPE(N, L, 3 * E * d)}, false};
    if (bias)
        example->x[1] = SR_SHAPE(1, E, L, L);
}

// bfloat16 attention on tile registers or their emulation agrees with the reference, forward and
// backward.
TEST(test_tiles) {
    SrRng rng = sr_rng(8, SR_RNG_TEST, 0, 0, 0, 0);
    const SrOpCase long_ones[] = {
        {"{num_heads: 1}", 1, {SR_SHAPE(1, 197, 3 * 64)}, false},
        {"{num_heads: 1}", 1, {SR_SHAPE(1, 300, 3 * 12)}, false}, // two tiles of keys
    };
    test_machine()->emulates_tiles = !sr_machine_has_tiles(test_machine());
    for (int i = 0; i < 20 + SR_COUNT(long_ones); i++) {
        char params[80];
        SrOpCase example;
        random_half(&rng, params, &example);
        if (i >= 20)
            example = long_ones[i - 20];
        op_half_forward(attention(), &example, true);
        // Probabilities and their gradients are rounded too, hence four roundings.
        op_half_backward(attention(), &example, true, 4);
    }
    op_half_threads(attention(), &long_ones[0], true);
    op_half_threads(attention(), &long_ones[1], true);
    test_machine()->emulates_tiles = false;
}

SR_TESTS(attention, unit(test_long_sequences), unit(test_gradient_over_several_tiles_of_keys),
         unit(test_large_scores), unit(test_threads_do_not_change_bits), unit(test_tiles));
