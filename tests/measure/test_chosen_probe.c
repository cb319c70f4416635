// Tests a linear probe that chooses its penalty on held-out training rows, and never by the test
// rows.
#include "base/mem.h"
#include "base/rng.h"
#include "measure/probes/chosen_probe.h"
#include "measure/probes/logreg.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

// Draws two classes that differ in 20 columns by half a deviation, among columns of noise: with a
// weak penalty the probe fits the noise.
static void noisy_rows(SrMatrix *f, int64_t n, int d, uint64_t seed) {
    SrRng rng = sr_rng(seed, SR_RNG_TEST, 0, 0, 0, 0);
    CHECK_OK(sr_matrix_init(f, n, d));
    for (int64_t i = 0; i < n; i++) {
        f->label[i] = i % 2;
        for (int j = 0; j < d; j++)
            f->x[i * d + j] = (float)sr_rng_normal(&rng) + (j < 20 && i % 2 ? 0.5f : 0.0f);
    }
}

static double at_cost(const SrMatrix *train, const SrMatrix *test, double cost) {
    double lambda = (double)train->n / cost;
    SrLowShotConfig config = {.lambdas = {.v = &lambda, .n = 1},
                              .max_iter = SR_CHOSEN_PROBE_MAX_ITER};
    SrArena arena = SR_ARENA_INIT;
    SrLogregResult *r;
    int n;
    CHECK_OK(sr_logreg(&config, 0, train, test, &arena, &r, &n));
    double accuracy = r[0].test;
    sr_arena_deinit(&arena);
    return accuracy;
}

TEST(test_noise_wants_penalty) {
    SrMatrix train, test;
    SrChosenProbe probe;
    noisy_rows(&train, 200, 100, 1);
    noisy_rows(&test, 800, 100, 2);
    int64_t live = sr_mem_live();
    CHECK_OK(sr_chosen_probe(&train, &test, &probe));
    CHECK_INT(sr_mem_live(), live);
    CHECK(probe.cost < 0.1);
    CHECK(probe.test > at_cost(&train, &test, 1) + 2);
    CHECK_NEAR(probe.test, at_cost(&train, &test, probe.cost), 0);
    sr_matrix_deinit(&train);
    sr_matrix_deinit(&test);
}

// Labels in turn, as lists often have them: every class is both fitted and held out.
TEST(test_classes_in_turn) {
    SrMatrix train, test;
    SrChosenProbe probe;
    test_rows_planted(&train, 50, 6, 5, 3, 1);
    test_rows_planted(&test, 50, 6, 5, 3, 2);
    CHECK_OK(sr_chosen_probe(&train, &test, &probe));
    CHECK(probe.test > 90 && probe.held_out > 90 && probe.held_out <= 100);
    test.n = train.n = 5; // one row per class leaves nothing to hold out
    CHECK_FAILS(sr_chosen_probe(&train, &test, &probe), SR_ERR_CONFIG, "no images");
    test.n = train.n = 50;
    sr_matrix_deinit(&train);
    sr_matrix_deinit(&test);
}

// Permuted labels of the test rows change the accuracy and not the choice.
TEST(test_choice_is_blind) {
    SrMatrix train, test;
    SrChosenProbe straight, turned;
    noisy_rows(&train, 200, 60, 3);
    noisy_rows(&test, 100, 60, 4);
    CHECK_OK(sr_chosen_probe(&train, &test, &straight));
    for (int64_t i = 0; i < test.n; i++)
        test.label[i] = 1 - test.label[i];
    CHECK_OK(sr_chosen_probe(&train, &test, &turned));
    CHECK_NEAR(straight.cost, turned.cost, 0);
    CHECK_NEAR(straight.held_out, turned.held_out, 0);
    CHECK_NEAR(straight.test + turned.test, 100, 1e-9);
    sr_matrix_deinit(&train);
    sr_matrix_deinit(&test);
}

// Rows without a label change neither the choice nor the last fit.
TEST(test_unlabelled_rows_do_not_count) {
    SrMatrix train, test;
    SrChosenProbe with, without;
    noisy_rows(&train, 2000, 100, 5);
    noisy_rows(&test, 800, 100, 6);
    for (int64_t i = 200; i < train.n; i++)
        train.label[i] = -1;
    CHECK_OK(sr_chosen_probe(&train, &test, &with));
    train.n = 200;
    CHECK_OK(sr_chosen_probe(&train, &test, &without));
    CHECK_NEAR(with.cost, without.cost, 0);
    CHECK_NEAR(with.held_out, without.held_out, 0);
    CHECK_NEAR(with.test, without.test, 0);
    sr_matrix_deinit(&train);
    sr_matrix_deinit(&test);
}

SR_TESTS(chosen_probe, unit(test_noise_wants_penalty), unit(test_classes_in_turn),
         unit(test_choice_is_blind), unit(test_unlabelled_rows_do_not_count))
