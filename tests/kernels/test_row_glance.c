// Tests that a first look lets every product pass that reaches a bar, and few others.
#include "kernels/core/row_glance.h"

#include "base/mem.h"
#include "base/rng.h"
#include "tests/check.h"
#include "tests/machine.h"

typedef struct {
    int d, n, m;
    float *a, *b, *centre; // (n, d), (m, d), (d)
} Case;

// Rows are a common part, which may be long, and noise.
static Case draw(SrRng *rng, float common) {
    Case c = {.d = 1 + (int)sr_rng_below(rng, sr_rng_below(rng, 4) ? 100 : 700),
              .n = 1 + (int)sr_rng_below(rng, 40),
              .m = 1 + (int)sr_rng_below(rng, 150)};
    size_t d = (size_t)c.d;
    c.a = sr_alloc((size_t)c.n * d * sizeof *c.a);
    c.b = sr_alloc((size_t)c.m * d * sizeof *c.b);
    c.centre = sr_alloc(d * sizeof *c.centre);
    CHECK(c.a && c.b && c.centre);
    for (int k = 0; k < c.d; k++)
        c.centre[k] = common * (float)sr_rng_normal(rng);
    for (int i = 0; i < (c.n + c.m) * c.d; i++)
        *(i < c.n * c.d ? &c.a[i] : &c.b[i - c.n * c.d]) =
            c.centre[i % c.d] + (float)sr_rng_normal(rng) / (float)sqrt(c.d);
    return c;
}

static void end(Case *c) {
    sr_free(c->a);
    sr_free(c->b);
    sr_free(c->centre);
}

static double product(const Case *c, int i, int j) {
    double sum = 0;
    for (int k = 0; k < c->d; k++)
        sum += (double)c->a[i * c->d + k] * (double)c->b[j * c->d + k];
    return sum;
}

// Walks over the columns that pass at a bar, and returns how many do not reach it.
static int check_row(const Case *c, const SrGlance *g, int at, int i, float bar) {
    int j = -1, needless = 0;
    for (int next = sr_glance_next(g, at, bar, 0); j < c->m;
         next = sr_glance_next(g, at, bar, j + 1)) {
        while (++j < next)
            CHECK(product(c, i, j) < (double)bar);
        if (j == c->m)
            break;
        double want = product(c, i, j);
        CHECK_NEAR(sr_glance_exact(g, at, j), want, 1e-6 * fabs(want) + 1e-6);
        needless += want < (double)bar;
    }
    return needless;
}

// Returns the share of products that pass without need, at bars that a tenth of the rows reach.
static double check_case(const Case *c) {
    SrGlance g;
    int needless = 0, some = (c->n + 1) / 2;
    int32_t which[40];
    CHECK_OK(sr_glance_init(&g, test_machine(), c->centre, c->d, c->n, c->m + 3, some));
    sr_glance_left(&g, c->a, c->n);
    sr_glance_right(&g, c->b, c->m);
    for (int first = 0; first < c->n; first += some) {
        int n = SR_MIN(some, c->n - first);
        for (int i = 0; i < n; i++)
            which[i] = c->n - 1 - first - i;
        for (int turned = 0; turned < 2; turned++) {
            sr_glance_multiply(&g, turned ? which : NULL, first, n);
            for (int i = 0; i < n; i++) {
                int row = turned ? which[i] : first + i;
                needless += check_row(c, &g, i, row, (float)product(c, row, c->m / 2));
            }
        }
    }
    sr_glance_deinit(&g);
    return (double)needless / (2.0 * c->n * c->m);
}

// Takes each instruction set in turn, and at last the emulation of tile registers.
static void take_machine(int i) {
    test_machine_reset();
    if (i == SR_CPU_LEVELS)
        test_machine()->emulates_tiles = true;
    else
        test_machine_level((SrCpuLevel)i);
}
enum { MACHINES = SR_CPU_LEVELS + 1 };

TEST(test_passes) {
    SrRng rng = sr_rng(7, SR_RNG_TEST, 0, 0, 0, 0);
    double needless = 0;
    for (int i = 0; i < 60; i++) {
        take_machine(i % MACHINES);
        Case c = draw(&rng, i % 5 == 0 ? 0 : 1);
        needless += check_case(&c) / 60;
        end(&c);
    }
    CHECK(needless < 0.05);
}

// A wrong centre costs time alone.
TEST(test_any_centre) {
    SrRng rng = sr_rng(8, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < 20; i++) {
        take_machine(i % MACHINES);
        Case c = draw(&rng, 1);
        for (int k = 0; k < c.d; k++)
            c.centre[k] = i % 2 ? 0 : -3 * c.centre[k];
        check_case(&c);
        end(&c);
    }
}

// Rows that are not finite, or so long that squares overflow, hide no other row.
TEST(test_not_finite) {
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f};
    SrRng rng = sr_rng(9, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < 4 * MACHINES; i++) {
        take_machine(i / 4);
        Case c = draw(&rng, 1);
        SrGlance g;
        c.b[sr_rng_below(&rng, (uint32_t)(c.m * c.d))] = bad[i % 4];
        CHECK_OK(sr_glance_init(&g, test_machine(), c.centre, c.d, c.n, c.m, c.n));
        sr_glance_left(&g, c.a, c.n);
        sr_glance_right(&g, c.b, c.m);
        sr_glance_multiply(&g, NULL, 0, c.n);
        for (int row = 0; row < c.n; row++)
            for (int j = 0; j < c.m; j++)
                if (isfinite(product(&c, row, j)))
                    CHECK_INT(sr_glance_next(&g, row, (float)product(&c, row, j), j), j);
        sr_glance_deinit(&g);
        end(&c);
    }
}

SR_TESTS(row_glance, unit(test_passes), unit(test_any_centre), unit(test_not_finite))
