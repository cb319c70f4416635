// Tests the Philox generator against the vectors published with Random123 (kat_vectors), and the
// moments of its distributions.
#include <math.h>

#include "base/rng.h"
#include "tests/check.h"

static void check_block(const uint32_t counter[4], const uint32_t key[2],
                        const uint32_t expected[4]) {
    uint32_t out[4];
    sr_rng_philox(counter, key, out);
    for (int i = 0; i < 4; i++)
        CHECK_INT(out[i], expected[i]);
}

TEST(test_known_answers) {
    check_block((uint32_t[]){0, 0, 0, 0}, (uint32_t[]){0, 0},
                (uint32_t[]){0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
    check_block((uint32_t[]){~0u, ~0u, ~0u, ~0u}, (uint32_t[]){~0u, ~0u},
                (uint32_t[]){0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
    // The key and counter are digits of pi.
    check_block((uint32_t[]){0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                (uint32_t[]){0xa4093822u, 0x299f31d0u},
                (uint32_t[]){0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

// Each field of the key changes the stream, and the same key repeats it.
TEST(test_streams_differ) {
    SrRng streams[] = {
        sr_rng(1, SR_RNG_TEST, 0, 0, 0, 0),          sr_rng(2, SR_RNG_TEST, 0, 0, 0, 0),
        sr_rng(1, SR_RNG_INIT, 0, 0, 0, 0),          sr_rng(1, SR_RNG_TEST, 1, 0, 0, 0),
        sr_rng(1, SR_RNG_TEST, 0, 1, 0, 0),          sr_rng(1, SR_RNG_TEST, 0, 1ull << 32, 0, 0),
        sr_rng(1, SR_RNG_TEST, 0, 0, 1, 0),          sr_rng(1, SR_RNG_TEST, 0, 0, 0, 1),
        sr_rng(1ull << 32, SR_RNG_TEST, 0, 0, 0, 0),
    };
    uint32_t first[SR_COUNT(streams)];
    for (int i = 0; i < SR_COUNT(streams); i++) {
        SrRng again = streams[i];
        first[i] = sr_rng_u32(&streams[i]);
        CHECK_INT(sr_rng_u32(&again), first[i]);
        for (int j = 0; j < i; j++)
            CHECK(first[i] != first[j]);
    }
}

// Filling an array gives the numbers of single calls, for any length, and the stream continues
// after them.
TEST(test_fill) {
    static const struct {
        double low, high;
        int n;
    } rows[] = {{-0.25, 0.25, 1000},
                {0, 1, 128},
                {3, 3, 130},
                {0, 1e-320, 127},
                {1, 1.0000000000000002, 300}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        SrRng fast = sr_rng(7, SR_RNG_TEST, 0, (uint64_t)i, 0, 0), slow = fast;
        float out[1000];
        sr_rng_fill_range(&fast, rows[i].low, rows[i].high, out, rows[i].n);
        for (int j = 0; j < rows[i].n; j++)
            CHECK(out[j] == (float)sr_rng_range(&slow, rows[i].low, rows[i].high));
        CHECK(sr_rng_u32(&fast) == sr_rng_u32(&slow));
    }
}

TEST(test_moments) {
    enum { N = 200000 };
    SrRng rng = sr_rng(7, SR_RNG_TEST, 0, 0, 0, 0);
    double uniform = 0, normal = 0, square = 0, fourth = 0;
    for (int i = 0; i < N; i++) {
        double u = sr_rng_uniform(&rng), z = sr_rng_normal(&rng);
        CHECK(u >= 0 && u < 1);
        uniform += u / N;
        normal += z / N;
        square += z * z / N;
        fourth += z * z * z * z / N;
    }
    CHECK_NEAR(uniform, 0.5, 0.003); // 4.5 standard errors each
    CHECK_NEAR(normal, 0, 0.01);
    CHECK_NEAR(square, 1, 0.015);
    CHECK_NEAR(fourth, 3, 0.1);
}

TEST(test_range_excludes_its_end) {
    SrRng rng = sr_rng(7, SR_RNG_TEST, 0, 0, 0, 0);
    double high = 1.0 + 4e-16; // two steps of a double wide: a rounded result would reach the end
    for (int i = 0; i < 1000; i++) {
        double x = sr_rng_range(&rng, 1.0, high);
        CHECK(x >= 1.0 && x < high);
    }
    CHECK(sr_rng_range(&rng, 3, 3) == 3);
}

TEST(test_below_is_even) {
    enum { N = 70000 };
    int counts[7] = {0};
    SrRng rng = sr_rng(3, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < N; i++)
        counts[sr_rng_below(&rng, 7)]++;
    for (int i = 0; i < 7; i++)
        CHECK_NEAR(counts[i], N / 7.0, 450); // 4.8 standard deviations
    CHECK_INT(sr_rng_below(&rng, 1), 0);
    for (int i = 0; i < 100; i++)
        CHECK(sr_rng_below(&rng, 0x80000001u) <= 0x80000000u);
}

// Beta distribution: mean a / (a + b), variance a b / ((a + b)^2 (a + b + 1)), for shapes below,
// at and above 1.
TEST(test_beta) {
    enum { N = 40000 };
    const double shapes[][2] = {{0.2, 0.2}, {0.8, 0.8}, {1, 1}, {2, 5}, {0.01, 0.01}};
    for (int s = 0; s < 5; s++) {
        double a = shapes[s][0], b = shapes[s][1], sum = 0, squares = 0;
        double mean = a / (a + b), variance = a * b / ((a + b) * (a + b) * (a + b + 1));
        SrRng rng = sr_rng(4, SR_RNG_TEST, 0, (uint64_t)s, 0, 0);
        for (int i = 0; i < N; i++) {
            double x = sr_rng_beta(&rng, a, b);
            CHECK(x >= 0 && x <= 1);
            sum += x;
            squares += (x - mean) * (x - mean);
        }
        CHECK_NEAR(sum / N, mean, 4.5 * sqrt(variance / N));
        CHECK_NEAR(squares / N, variance, 0.03 * variance);
    }
}

TEST(test_permutation) {
    enum { N = 1000 };
    uint32_t p[N];
    int seen[N] = {0}, fixed = 0;
    SrRng rng = sr_rng(5, SR_RNG_ORDER, 0, 0, 0, 0);
    sr_rng_permutation(&rng, p, N);
    for (int i = 0; i < N; i++) {
        CHECK(p[i] < N);
        seen[p[i]]++;
        fixed += p[i] == (uint32_t)i;
    }
    for (int i = 0; i < N; i++)
        CHECK_INT(seen[i], 1);
    CHECK(fixed < 10); // one is the expected number
    sr_rng_permutation(&rng, p, 0);
}

SR_TESTS(rng, unit(test_known_answers), unit(test_streams_differ), unit(test_fill),
         unit(test_moments), unit(test_range_excludes_its_end), unit(test_below_is_even),
         unit(test_beta), unit(test_permutation))
