// Tests dropout beyond the op contract: the share of zeros, and that the mask depends on seed,
// iteration and node.
#include "tests/check.h"
#include "tests/kernels/op_call.h"
#include "tests/machine.h"

enum { N = 40000 };

static void start(OpCall *c, bool train) {
    SrOpCase example = {"{p: 0.3}", 1, {SR_SHAPE(200, 200)}, false};
    op_call_init(c, op_named("dropout"), &example, 1, train, 1);
    for (int i = 0; i < N; i++)
        ((float *)c->x[0].data)[i] = 1;
}

// Runs dropout with this key and marks in `out` which numbers it kept.
static void kept(uint64_t seed, int64_t iteration, uint64_t key, uint8_t *out) {
    OpCall c;
    start(&c, true);
    SrOpCall call = {.machine = test_machine(),
                     .params = c.params,
                     .train = true,
                     .n_in = 1,
                     .x = c.x,
                     .y = c.y,
                     .saved = c.saved,
                     .seed = seed,
                     .iteration = iteration,
                     .node_key = key};
    c.op->forward(&call);
    for (int i = 0; i < N; i++)
        out[i] = ((float *)c.y.data)[i] > 0;
    op_call_deinit(&c);
}

static int differences(const uint8_t *a, const uint8_t *b) {
    int n = 0;
    for (int i = 0; i < N; i++)
        n += a[i] != b[i];
    return n;
}

TEST(test_share_and_scale) {
    OpCall c;
    start(&c, true);
    op_call_forward(&c);
    int zeros = 0;
    for (int i = 0; i < N; i++) {
        float y = ((float *)c.y.data)[i];
        zeros += y == 0;
        if (y != 0)
            CHECK_NEAR(y, 1 / 0.7, 1e-6);
    }
    // The count lies within five deviations of the binomial distribution.
    CHECK_NEAR(zeros, 0.3 * N, 5 * sqrt(0.21 * N));
    op_call_deinit(&c);
}

TEST(test_keys) {
    static uint8_t base[N], other[N];
    kept(1, 5, 9, base);
    kept(1, 5, 9, other);
    CHECK_INT(differences(base, other), 0);
    kept(2, 5, 9, other);
    CHECK(differences(base, other) > N / 3);
    kept(1, 6, 9, other);
    CHECK(differences(base, other) > N / 3);
    kept(1, 5, 10, other);
    CHECK(differences(base, other) > N / 3);
}

TEST(test_evaluation_is_a_copy) {
    OpCall c;
    start(&c, false);
    op_call_forward(&c);
    CHECK(memcmp(c.x[0].data, c.y.data, N * sizeof(float)) == 0);
    op_call_deinit(&c);
}

SR_TESTS(dropout, unit(test_share_and_scale), unit(test_keys), unit(test_evaluation_is_a_copy))
