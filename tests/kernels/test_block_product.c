// Tests products and transposes of small matrices against plain loops in double precision, over
// random shapes and row strides.
#include "kernels/core/block_product.h"

#include "base/bf16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tests/check.h"
#include "tests/machine.h"

static float *draw(SrRng *rng, int64_t n) {
    float *p = sr_alloc((size_t)n * sizeof *p);
    CHECK(p != NULL);
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)sr_rng_normal(rng);
    return p;
}

static int upto(SrRng *rng, int most) { return 1 + (int)sr_rng_below(rng, (uint32_t)most); }

// Checks one random product, and that the numbers between the rows of C are not written.
static void check_product(SrRng *rng) {
    int m = upto(rng, 20), n = upto(rng, 150), k = upto(rng, 70);
    bool turned = sr_rng_below(rng, 2);
    SrBlockProduct p = {.m = m, .n = n, .k = k, .alpha = 0.5f, .add = sr_rng_below(rng, 2)};
    int row = (turned ? m : k) + upto(rng, 3), rows = turned ? k : m;
    p.a_row = turned ? 1 : row;
    p.a_step = turned ? row : 1;
    p.b_row = n + upto(rng, 3);
    p.c_row = n + upto(rng, 3);
    float *a = draw(rng, rows * row), *b = draw(rng, k * p.b_row);
    float *c = draw(rng, m * p.c_row), *before = sr_alloc((size_t)(m * p.c_row) * sizeof *c);
    CHECK(before != NULL);
    memcpy(before, c, (size_t)(m * p.c_row) * sizeof *c);
    p.a = a, p.b = b, p.c = c;
    sr__block_product(test_machine(), &p);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < p.c_row; j++) {
            double want = j >= n || p.add ? (double)before[i * p.c_row + j] : 0;
            for (int l = 0; j < n && l < k; l++)
                want += 0.5 * (double)a[i * p.a_row + l * p.a_step] * (double)b[l * p.b_row + j];
            CHECK_NEAR(c[i * p.c_row + j], want, 1e-5 * (fabs(want) + sqrt(k)));
        }
    sr_free(a), sr_free(b), sr_free(c), sr_free(before);
}

// Checks `count` random products on the levels of this processor in turn.
static void check_levels(void (*check)(SrRng *rng), int count, SrRng rng) {
    SrCpuLevel best = test_machine()->level;
    for (int i = 0; i < count; i++) {
        test_machine_level((SrCpuLevel)(i % ((int)best + 1)));
        check(&rng);
    }
    test_machine_level(best);
}

TEST(test_products) { check_levels(check_product, 300, sr_rng(3, SR_RNG_TEST, 0, 0, 0, 0)); }

// Draws n lanes, each a pair of bfloat16 numbers of A or B.
static void draw_pairs(SrRng *rng, float *lanes, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i++)
        ((SrBf16 *)(void *)lanes)[i] = sr_bf16_round((float)sr_rng_normal(rng));
}

static double number_of(const float *lanes, int64_t lane, int half) {
    return (double)sr_bf16_float(((const SrBf16 *)(const void *)lanes)[2 * lane + half]);
}

static void check_pairs(const SrBlockProduct *p, const float *before) {
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->c_row; j++) {
            double want = j >= p->n || p->add ? (double)before[i * p->c_row + j] : 0;
            for (int l = 0; j < p->n && l < p->k; l++)
                for (int half = 0; half < 2; half++)
                    want += (double)p->alpha * number_of(p->a, i * p->a_row + l * p->a_step, half) *
                            number_of(p->b, l * p->b_row + j, half);
            CHECK_NEAR(p->c[i * p->c_row + j], want, 1e-5 * (fabs(want) + sqrt(2 * p->k)));
        }
}

// Runs the product on a copy of `before`, which becomes the content of c.
static void run_pairs(const SrBlockProduct *p, const float *before, size_t bytes) {
    memcpy(p->c, before, bytes);
    sr__block_pair_product(test_machine(), p);
    check_pairs(p, before);
}

// The vector product agrees with double precision, and tile registers give the bits of their
// emulation.
static void check_pair_product(SrRng *rng) {
    int m = upto(rng, 70), n = upto(rng, 100), k = upto(rng, sr_rng_below(rng, 5) ? 40 : 300);
    bool turned = sr_rng_below(rng, 2);
    SrBlockProduct p = {.m = m, .n = n, .k = k, .add = sr_rng_below(rng, 2)};
    int row = (turned ? m : k) + upto(rng, 3), rows = turned ? k : m;
    p.alpha = sr_rng_below(rng, 2) ? 1 : 0.3f;
    p.a_row = turned ? 1 : row;
    p.a_step = turned ? row : 1;
    p.b_row = n + upto(rng, 3);
    p.c_row = n + upto(rng, 3);
    float *a = draw(rng, rows * row), *b = draw(rng, k * p.b_row), *c = draw(rng, m * p.c_row);
    size_t bytes = (size_t)(m * p.c_row) * sizeof *c;
    float *before = sr_alloc(bytes), *emulated = sr_alloc(bytes);
    CHECK(before != NULL && emulated != NULL);
    draw_pairs(rng, a, rows * row);
    draw_pairs(rng, b, k * p.b_row);
    memcpy(before, c, bytes);
    p.a = a, p.b = b, p.c = c;
    test_machine()->emulates_tiles = true;
    run_pairs(&p, before, bytes);
    test_machine()->emulates_tiles = false;
    memcpy(emulated, c, bytes);
    run_pairs(&p, before, bytes);
    CHECK(!sr_machine_has_tiles(test_machine()) || memcmp(emulated, c, bytes) == 0);
    sr_free(a), sr_free(b), sr_free(c), sr_free(before), sr_free(emulated);
}

TEST(test_pair_products) {
    check_levels(check_pair_product, 150, sr_rng(6, SR_RNG_TEST, 0, 0, 0, 0));
}

TEST(test_transposes) {
    SrRng rng = sr_rng(4, SR_RNG_TEST, 0, 0, 0, 0);
    for (int round = 0; round < 100; round++) {
        int m = upto(&rng, 70), n = upto(&rng, 70), from_row = n + upto(&rng, 3),
            to_row = m + upto(&rng, 3);
        float *from = draw(&rng, m * from_row), *to = draw(&rng, n * to_row);
        float beside = to[m];
        sr__block_transpose(test_machine(), from, from_row, m, n, to, to_row);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
                CHECK(to[j * to_row + i] == from[i * from_row + j]);
        CHECK(to[m] == beside);
        sr_free(from), sr_free(to);
    }
}

SR_TESTS(block_product, unit(test_products), unit(test_pair_products), unit(test_transposes))
