// Tests pairs of patches against a search in double precision.
#include "measure/patches/patch_match.h"

#include "base/rng.h"
#include "tests/check.h"

enum { NA = 40, NB = 33, D = 7 };

static double cosine(const float *a, const float *b) {
    double sum = 0;
    for (int j = 0; j < D; j++)
        sum += (double)a[j] * (double)b[j];
    return sum;
}

static void make_unit(float *x, int n, SrRng *rng) {
    for (int i = 0; i < n; i++, x += D) {
        double square = 0;
        for (int j = 0; j < D; j++) {
            x[j] = (float)sr_rng_normal(rng);
            square += (double)x[j] * (double)x[j];
        }
        for (int j = 0; j < D; j++)
            x[j] = (float)((double)x[j] / sqrt(square));
    }
}

static int nearest(const float *row, const float *others, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        best = cosine(row, others + i * D) > cosine(row, others + best * D) ? i : best;
    return best;
}

TEST(test_mutual) {
    float a[NA * D], b[NB * D];
    SrPatchPair pair[NB];
    int n, expected = 0;
    SrRng rng = sr_rng(1, SR_RNG_TEST, 0, 0, 0, 0);
    make_unit(a, NA, &rng);
    make_unit(b, NB, &rng);
    memset(b, 0, D * sizeof *b); // a patch of zeros
    for (int i = 0; i < NA; i++) {
        int j = nearest(a + i * D, b, NB);
        expected += nearest(b + j * D, a, NA) == i && cosine(a + i * D, b + j * D) != 0;
    }
    CHECK_OK(sr_patch_match(a, NA, b, NB, D, pair, &n));
    CHECK(expected > 5);
    CHECK_INT(n, expected);
    for (int i = 0; i < n; i++) {
        CHECK_INT(nearest(a + pair[i].a * D, b, NB), pair[i].b);
        CHECK_INT(nearest(b + pair[i].b * D, a, NA), pair[i].a);
        CHECK_NEAR(pair[i].cosine, cosine(a + pair[i].a * D, b + pair[i].b * D), 1e-6);
        CHECK(i == 0 || pair[i].cosine <= pair[i - 1].cosine);
    }
}

// Four of nine places in a row are chosen: 0 and 4 first, then the best that are 2 apart.
TEST(test_spread) {
    SrPatchPair pair[9];
    for (int i = 0; i < 9; i++)
        pair[i] = (SrPatchPair){i, i, 1 - 0.1f * (float)i};
    CHECK_INT(sr_patch_spread(pair, 9, 9, 4), 4);
    CHECK(pair[0].a == 0 && pair[1].a == 2 && pair[2].a == 4 && pair[3].a == 8);
    CHECK_INT(sr_patch_spread(pair, 9, 9, 20), 9);
    for (int i = 0; i < 9; i++)
        CHECK_INT(pair[i].a, i);
}

SR_TESTS(patch_match, unit(test_mutual), unit(test_spread))
