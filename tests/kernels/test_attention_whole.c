// Tests the attention path that computes all scores of a head at once (machines with long
// vectors), compared with attention and its gradient in double precision. Other machines run the
// same shapes through tiles. Token counts are those of vision transformers and odd ones.
#include "kernels/attention/attention_whole.h"

#include <math.h>
#include <stdio.h>

#include "tests/check.h"
#include "tests/kernels/op_call.h"
#include "tests/kernels/op_half.h"
#include "tests/machine.h"

typedef struct {
    int N, L, E, d, Q; // tokens that ask; 0: all L
} Sizes;

static SrOpCase case_of(const Sizes *s, char params[64]) {
    snprintf(params, 64, "{num_heads: %d, queries: %d}", s->E, s->Q);
    return (SrOpCase){params, 1, {SR_SHAPE(s->N, s->L, 3 * s->E * s->d)}, false};
}

static const Sizes sizes[] = {
    {2, 1, 2, 32, 0},  {2, 2, 1, 16, 0},  {2, 17, 4, 32, 0}, {1, 17, 1, 24, 0},
    {2, 37, 4, 32, 0}, {1, 37, 2, 80, 0}, {2, 65, 4, 32, 0}, {1, 65, 2, 24, 0},
    {1, 65, 1, 64, 0}, {1, 33, 2, 18, 0}, {1, 50, 3, 64, 0}, {2, 40, 2, 48, 1},
    {1, 66, 1, 32, 3}, {1, 31, 2, 5, 0},  {1, 81, 1, 96, 0}, {1, 197, 1, 64, 0},
};

// Computes p and dp (L), the probabilities of query l in one head and the gradient of its scores.
// Rows of q, k and v are 3 D numbers apart.
static void gradient_row(const Sizes *s, const double *q, const double *k, const double *v,
                         const double *dy, double *p, double *ds) {
    int64_t far = 3 * s->E * s->d;
    double most = -INFINITY, sum = 0, along = 0;
    for (int m = 0; m < s->L; m++) {
        p[m] = ds[m] = 0;
        for (int i = 0; i < s->d; i++) {
            p[m] += q[i] * k[m * far + i] / sqrt(s->d);
            ds[m] += dy[i] * v[m * far + i];
        }
        most = fmax(most, p[m]);
    }
    for (int m = 0; m < s->L; m++)
        sum += p[m] = exp(p[m] - most);
    for (int m = 0; m < s->L; m++)
        along += (p[m] /= sum) * ds[m];
    for (int m = 0; m < s->L; m++)
        ds[m] = p[m] * (ds[m] - along) / sqrt(s->d);
}

// Adds the gradient of one head of one image to dx. Rows of x and dx are 3 D numbers apart, rows
// of dy D numbers.
static void gradient_head(const Sizes *s, const double *x, const double *dy, double *dx) {
    int64_t D = s->E * s->d, far = 3 * D;
    double p[256], ds[256];
    for (int l = 0; l < (s->Q ? s->Q : s->L); l++) {
        gradient_row(s, x + l * far, x + D, x + 2 * D, dy + l * D, p, ds);
        for (int m = 0; m < s->L; m++)
            for (int i = 0; i < s->d; i++) {
                dx[l * far + i] += ds[m] * x[m * far + D + i];
                dx[m * far + D + i] += ds[m] * x[l * far + i];
                dx[m * far + 2 * D + i] += p[m] * dy[l * D + i];
            }
    }
}

static double *gradient(OpCall *c, const Sizes *s) {
    int64_t n = sr_shape_count(c->shapes[0]), m = sr_shape_count(c->y_shape), D = s->E * s->d;
    double *dx = op_call_alloc(c, (size_t)n * sizeof *dx),
           *dy = op_call_alloc(c, (size_t)m * sizeof *dy);
    memset(dx, 0, (size_t)n * sizeof *dx);
    for (int64_t i = 0; i < m; i++)
        dy[i] = (double)c->dy[i];
    for (int image = 0; image < s->N; image++)
        for (int e = 0; e < s->E; e++) {
            int64_t at = image * 3 * D * s->L + e * s->d;
            gradient_head(s, c->x64[0] + at, dy + image * m / s->N + e * s->d, dx + at);
        }
    return dx;
}

static void check_floats(const Sizes *s, uint64_t seed) {
    char params[64];
    SrOpCase example = case_of(s, params);
    OpCall c;
    op_call_init(&c, op_named("attention"), &example, 1, true, seed);
    op_call_forward(&c);
    op_call_reference(&c);
    for (int64_t i = 0; i < sr_shape_count(c.y_shape); i++)
        CHECK_NEAR(((float *)c.y.data)[i], c.y64[i], 1e-6 * (1 + fabs(c.y64[i])));
    op_call_backward(&c);
    double *dx = gradient(&c, s);
    for (int64_t i = 0; i < sr_shape_count(c.shapes[0]); i++)
        CHECK_NEAR(c.dx[0][i], dx[i], 2e-6 * (1 + fabs(dx[i])));
    op_call_deinit(&c);
}

TEST(test_floats) {
    for (int i = 0; i < SR_COUNT(sizes); i++)
        check_floats(&sizes[i], 21 + (uint64_t)i);
}

TEST(test_floats_of_random_sizes) {
    SrRng rng = sr_rng(6, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < 60; i++) {
        Sizes s = {1 + (int)sr_rng_below(&rng, 2), 1 + (int)sr_rng_below(&rng, 100),
                   1 + (int)sr_rng_below(&rng, 3), 1 + (int)sr_rng_below(&rng, 70), 0};
        if (sr_rng_below(&rng, 4) == 0)
            s.Q = 1 + (int)sr_rng_below(&rng, (uint32_t)s.L);
        check_floats(&s, 100 + (uint64_t)i);
    }
}

static void check_half(const Sizes *s) {
    char params[64];
    SrOpCase example = case_of(s, params);
    op_half_forward(op_named("attention"), &example, true);
    op_half_backward(op_named("attention"), &example, true, 4); // as in test_attention.c
}

TEST(test_bfloat16) {
    SrRng rng = sr_rng(7, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < SR_COUNT(sizes); i++)
        check_half(&sizes[i]);
    for (int i = 0; i < 30; i++) {
        Sizes s = {1 + (int)sr_rng_below(&rng, 2), 1 + (int)sr_rng_below(&rng, 100),
                   1 + (int)sr_rng_below(&rng, 3), 1 + (int)sr_rng_below(&rng, 50), 0};
        check_half(&s);
    }
}

// Heads are computed as floats where pairs of bfloat16 are not faster.
TEST(test_bfloat16_without_pairs) {
    test_machine()->pairs = false;
    for (int i = 0; i < SR_COUNT(sizes); i++) {
        char params[64];
        SrOpCase example = case_of(&sizes[i], params);
        check_half(&sizes[i]);
        op_half_threads(op_named("attention"), &example, true);
    }
}

TEST(test_threads_keep_bits) {
    for (int i = 0; i < SR_COUNT(sizes); i += 4) {
        char params[64];
        SrOpCase example = case_of(&sizes[i], params);
        op_half_threads(op_named("attention"), &example, true);
    }
}

// Plain heads on long vectors take this path and no other calls do, so that the tests above do
// test it.
TEST(test_what_is_taken) {
    SrAttentionSizes s = {4, 65, 128, 4, 32, 65}, long_one = {4, 273, 128, 4, 32, 273},
                     odd = {4, 65, 33, 1, 33, 65};
    SrAttentionParams plain = {.num_heads = 4}, drops = {.num_heads = 4, .dropout = 0.1};
#if defined(__aarch64__)
    bool wide = false;
#else
    bool wide = test_machine()->level >= SR_CPU_AVX512;
#endif
    CHECK_INT(sr__attention_is_whole(test_machine(), &plain, &s, SR_F32, false), wide);
    CHECK_INT(sr__attention_is_whole(test_machine(), &plain, &s, SR_BF16, false),
              wide && !sr_machine_has_tiles(test_machine()));
    CHECK(!sr__attention_is_whole(test_machine(), &plain, &s, SR_F32, true));
    CHECK(!sr__attention_is_whole(test_machine(), &drops, &s, SR_F32, false));
    CHECK(!sr__attention_is_whole(test_machine(), &plain, &long_one, SR_F32, false));
    CHECK_INT(sr__attention_is_whole(test_machine(), &plain, &odd, SR_BF16, false),
              wide && !sr_machine_has_pairs(test_machine()));
    test_machine()->pairs = false;
    CHECK_INT(sr__attention_is_whole(test_machine(), &plain, &odd, SR_BF16, false),
              wide && !sr_machine_has_tiles(test_machine()));
}

SR_TESTS(attention_whole, unit(test_floats), unit(test_floats_of_random_sizes), unit(test_bfloat16),
         unit(test_bfloat16_without_pairs), unit(test_threads_keep_bits), unit(test_what_is_taken))
