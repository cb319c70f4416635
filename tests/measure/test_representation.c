// Tests alignment, uniformity and effective rank of embeddings for which they are known.
#include "measure/representation.h"

#include "base/rng.h"
#include "tests/check.h"

enum { N = 64, D = 16 };
static float x[2 * N * D];

static void fill_normal(void) {
    SrRng rng = sr_rng(1, SR_RNG_TEST, 0, 0, 0, 0);
    for (int k = 0; k < 2 * N * D; k++)
        x[k] = (float)sr_rng_normal(&rng);
}

TEST(test_spread) {
    SrRepresentation r;
    fill_normal();
    CHECK_OK(sr_representation_measure(x, 2, N, D, &r));
    CHECK_INT(r.rows, N);
    CHECK(r.deviation > 0.9 && r.deviation < 1.1);
    CHECK(r.effective_rank > 14 && r.effective_rank <= 16);
    CHECK(r.alignment > 1.5 && r.uniformity < -3); // independent views, directions all around
    CHECK(r.views_found < 0.25);
    memcpy(x + N * D, x, N * D * sizeof *x); // equal views
    CHECK_OK(sr_representation_measure(x, 2, N, D, &r));
    CHECK_NEAR(r.views_found, 1, 0);
}

TEST(test_collapsed) {
    SrRepresentation r;
    for (int k = 0; k < 2 * N * D; k++)
        x[k] = (float)(1 + k % D);
    CHECK_OK(sr_representation_measure(x, 2, N, D, &r));
    CHECK_NEAR(r.deviation, 0, 1e-6);
    CHECK_NEAR(r.effective_rank, 1, 1e-3);
    CHECK_NEAR(r.alignment, 0, 1e-9);
    CHECK_NEAR(r.uniformity, 0, 1e-9);
    CHECK_NEAR(r.views_found, 0, 0);
}

// Four orthogonal directions of equal length, in turn, have rank 4.
TEST(test_rank) {
    SrRepresentation r;
    for (int k = 0; k < N * D; k++)
        x[k] = k % D == (k / D) % 4;
    CHECK_OK(sr_representation_measure(x, 1, N, D, &r));
    CHECK_NEAR(r.effective_rank, 4, 1e-3);
    CHECK_NEAR(r.alignment, -1, 0);
    CHECK_NEAR(r.views_found, -1, 0);
}

TEST(test_too_few) {
    SrRepresentation r;
    CHECK_FAILS(sr_representation_measure(x, 1, 1, D, &r), SR_ERR_CONFIG, "1 rows");
}

SR_TESTS(representation, unit(test_spread), unit(test_collapsed), unit(test_rank),
         unit(test_too_few))
