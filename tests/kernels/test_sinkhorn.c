// Tests Sinkhorn codes beyond the op contract and the golden cases: extreme scores, empty
// prototypes, balance, queue, hard codes.
#include "kernels/assign/sinkhorn.h"

#include "base/mem.h"
#include "base/rng.h"
#include "tests/check.h"
#include "tests/machine.h"

static void solve(const SrSinkhorn *s, float *codes) {
    void *scratch = sr_alloc(sr_sinkhorn_scratch_bytes(test_machine(), s));
    CHECK(scratch != NULL);
    memset(codes, 0xA5, (size_t)s->n * (size_t)s->P * sizeof *codes);
    sr_sinkhorn(test_machine(), s, codes, scratch);
    sr_free(scratch);
}

static void check_rows(const SrSinkhorn *s, const float *codes) {
    for (int r = 0; r < s->n; r++) {
        double sum = 0;
        for (int k = 0; k < s->P; k++) {
            CHECK(codes[r * s->P + k] >= 0 && codes[r * s->P + k] <= 1.000001f);
            sum += (double)codes[r * s->P + k];
        }
        CHECK_NEAR(sum, 1, 1e-5);
    }
}

// Every combination of form and precision gives finite codes whose rows sum to one on these
// scores.
static void check_all_forms(const float *scores, int n, int P) {
    const double epsilons[] = {1e-30, 1e-4, 0.05, 1, 1e30};
    float codes[64];
    for (int e = 0; e < SR_COUNT(epsilons); e++)
        for (int bits = 0; bits < 8; bits++)
            for (int num_iters = 0; num_iters < 5; num_iters += 2) {
                SrSinkhorn s = {.n = n,
                                .P = P,
                                .scores = scores,
                                .params.epsilon = epsilons[e],
                                .params.num_iters = num_iters};
                s.params.form = bits & 1 ? SR_SINKHORN_LOG : SR_SINKHORN_VISSL;
                s.params.double_precision = bits & 2;
                s.params.no_shift = bits & 4;
                solve(&s, codes);
                check_rows(&s, codes);
            }
}

TEST(test_extreme_scores_stay_finite) {
    float equal[12], huge[] = {1e30f, -1e30f, 3e38f, -3e38f, 0, 1};
    for (int i = 0; i < 12; i++)
        equal[i] = 1e30f;
    check_all_forms(equal, 3, 4);
    check_all_forms(huge, 2, 3);
    check_all_forms(huge, 3, 2);
    check_all_forms((float[]){0, 0, 0, 0}, 2, 2);
    check_all_forms((float[]){-3e38f}, 1, 1);
}

// Scores of a diverged model that are NaN give finite codes, so that the report of the first bad
// layer stays correct.
TEST(test_scores_that_are_no_numbers) {
    check_all_forms((float[]){NAN, 1, 2, INFINITY}, 2, 2);
    check_all_forms((float[]){NAN, NAN, NAN, NAN}, 2, 2);
    check_all_forms((float[]){-INFINITY, -INFINITY, -INFINITY, 4}, 2, 2);
}

// Prototype 2 is so far from every sample that its exponentials underflow. VISSL gives it 1e-12
// everywhere, so that after one round its mass is spread evenly; the log form follows its scores.
TEST(test_empty_prototype) {
    float scores[] = {0, 0, -10, 0, 0, -20}, codes[6];
    SrSinkhorn s = {
        .n = 2, .P = 3, .scores = scores, .params.epsilon = 0.05, .params.num_iters = 1};
    solve(&s, codes);
    check_rows(&s, codes);
    CHECK_NEAR(codes[2], 1.0 / 3, 1e-5);
    CHECK_NEAR(codes[5], 1.0 / 3, 1e-5);
    s.params.form = SR_SINKHORN_LOG;
    solve(&s, codes);
    CHECK_NEAR(codes[2], 0.5, 1e-5); // all its mass belongs to the first sample
    CHECK_NEAR(codes[5], 0, 1e-5);
}

// Sample 1 is so far from all prototypes that its row underflows while no prototype is empty.
// Scaling would give 0/0; the expected codes are those of the log form.
TEST(test_empty_sample) {
    float scores[] = {1, 1, -20, -19}, codes[4], exact[4];
    SrSinkhorn s = {
        .n = 2, .P = 2, .scores = scores, .params.epsilon = 0.05, .params.num_iters = 3};
    solve(&s, codes);
    s.params.form = SR_SINKHORN_LOG;
    solve(&s, exact);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(codes[i], exact[i], 1e-6);
}

static void fill(float *x, int n, double scale, uint64_t seed) {
    SrRng rng = sr_rng(seed, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < n; i++)
        x[i] = (float)(scale * sr_rng_normal(&rng));
}

TEST(test_no_rounds_is_softmax) {
    float scores[15], codes[15];
    fill(scores, 15, 0.1, 1);
    SrSinkhorn s = {.n = 3, .P = 5, .scores = scores, .params.epsilon = 0.05};
    for (int form = 0; form < 2; form++) {
        s.params.form = form ? SR_SINKHORN_LOG : SR_SINKHORN_VISSL;
        solve(&s, codes);
        double sum = 0;
        for (int k = 0; k < 5; k++)
            sum += exp((double)scores[5 + k] / 0.05);
        CHECK_NEAR(codes[7], exp((double)scores[7] / 0.05) / sum, 1e-6);
    }
}

// After many rounds each prototype holds an equal share of the samples.
TEST(test_prototypes_are_balanced) {
    enum { N = 40, P = 6 };
    float scores[N * P], codes[N * P];
    fill(scores, N * P, 0.2, 2);
    for (int i = 0; i < N; i++)
        scores[i * P] += 0.5f; // every sample prefers prototype 0
    SrSinkhorn s = {
        .n = N, .P = P, .scores = scores, .params.epsilon = 0.1, .params.num_iters = 200};
    for (int bits = 0; bits < 4; bits++) {
        s.params.form = bits & 1 ? SR_SINKHORN_LOG : SR_SINKHORN_VISSL;
        s.params.powerlaw = bits & 2 ? 1 : 0;
        solve(&s, codes);
        double harmonic = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0 + 1 / 5.0 + 1 / 6.0;
        for (int k = 0; k < P; k++) {
            double mass = 0;
            for (int i = 0; i < N; i++)
                mass += (double)codes[i * P + k];
            CHECK_NEAR(mass / N, s.params.powerlaw > 0 ? 1 / (harmonic * (k + 1)) : 1.0 / P, 1e-4);
        }
    }
}

// Rows of the queue count like rows of the batch; only their codes are not returned.
TEST(test_queue_is_more_rows) {
    enum { N = 5, Q = 30, P = 7 };
    float scores[(N + Q) * P], all[(N + Q) * P], batch[N * P];
    fill(scores, (N + Q) * P, 0.3, 3);
    for (int form = 0; form < 2; form++) {
        SrSinkhorn s = {
            .n = N + Q, .P = P, .scores = scores, .params.epsilon = 0.05, .params.num_iters = 3};
        s.params.form = form ? SR_SINKHORN_LOG : SR_SINKHORN_VISSL;
        solve(&s, all);
        s.n = N;
        s.n_queue = Q;
        s.queue = scores + N * P;
        solve(&s, batch);
        for (int i = 0; i < N * P; i++)
            CHECK_NEAR(batch[i], all[i], 1e-6);
    }
}

TEST(test_hard_codes) {
    float scores[] = {0.1f, 0.4f, 0.2f, 0.3f, 0.3f, 0.1f}, codes[6];
    SrSinkhorn s = {.n = 2, .P = 3, .scores = scores, .params.epsilon = 0.5, .hard = true};
    solve(&s, codes);
    const float expected[] = {0, 1, 0, 1, 0, 0}; // ties go to the first prototype
    CHECK(memcmp(codes, expected, sizeof codes) == 0);
}

// Exponents up to 88 need no shift, larger ones get one. Codes with and without the shift are the
// same.
TEST(test_no_shift) {
    float scores[20], shifted[20], codes[20];
    fill(scores, 20, 0.3, 4);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 20; k++)
            scores[k] += 10.0f * (float)i;
        SrSinkhorn s = {
            .n = 4, .P = 5, .scores = scores, .params.epsilon = 0.05, .params.num_iters = 3};
        solve(&s, shifted);
        s.params.no_shift = true;
        solve(&s, codes);
        for (int k = 0; k < 20; k++)
            CHECK_NEAR(codes[k], shifted[k], 1e-4);
    }
}

// The program flushes denormals to zero, but Sinkhorn must not: both exponentials of prototype 1
// are denormal, and only their ratio e decides which sample it belongs to. Flushed, they would be
// 0 and their mass spread evenly.
TEST(test_denormals_are_kept_inside_only) {
    float scores[] = {0, -8.83f, 0, -8.93f}, codes[4];
    SrSinkhorn s = {.n = 2, .P = 2, .scores = scores, .params.epsilon = 0.1, .params.num_iters = 1};
    volatile float tiny = 1e-38f, tenth = 0.1f, before = tiny * tenth;
    solve(&s, codes);
    volatile float after = tiny * tenth;
    CHECK(before == after);
    double share = exp(1) / (1 + exp(1));
    CHECK_NEAR(codes[1], share / (share + 0.5), 1e-3);
}

SR_TESTS(sinkhorn, unit(test_extreme_scores_stay_finite), unit(test_scores_that_are_no_numbers),
         unit(test_empty_prototype), unit(test_empty_sample), unit(test_no_rounds_is_softmax),
         unit(test_prototypes_are_balanced), unit(test_queue_is_more_rows), unit(test_hard_codes),
         unit(test_no_shift), unit(test_denormals_are_kept_inside_only))
