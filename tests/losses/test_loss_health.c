// Tests entropies of distributions against values that are known: one sure prototype, all
// prototypes alike, and half of each.
#include "losses/shared/loss_health.h"

#include "base/mem.h"
#include "tests/check.h"

TEST(test_rows) {
    static const float sure[] = {0, 1, 0, 0, 1, 0, 0, 0}, even[] = {.25F, .25F, .25F, .25F},
                       half[] = {3, 3, 0, 0};
    SrLossHealth h = {0};
    sr_loss_entropies(sure, 2, 4, &h);
    CHECK_INT(h.prototypes, 4);
    CHECK_NEAR(h.row_entropy, 0, 0);
    CHECK_NEAR(h.mean_entropy, 0.5, 1e-12); // two of four prototypes
    sr_loss_entropies(even, 1, 4, &h);
    CHECK_NEAR(h.row_entropy, 1, 1e-12);
    CHECK_NEAR(h.mean_entropy, 1, 1e-12);
    sr_loss_entropies(half, 1, 4, &h); // rows are made to add up to 1
    CHECK_NEAR(h.row_entropy, 0.5, 1e-12);
}

// Scores of which the smaller ones underflow, and a centre that makes them equal.
TEST(test_scores) {
    static const float x[] = {0, 1000, 0, -1000}, center[] = {0, 1000, 0, -1000};
    SrLossHealth h = {0};
    sr_loss_score_entropies(x, 1, 4, NULL, 0.1, &h);
    CHECK_NEAR(h.row_entropy, 0, 0);
    sr_loss_score_entropies(x, 1, 4, center, 0.1, &h);
    CHECK_NEAR(h.row_entropy, 1, 1e-12);
}

// Without rows, with one prototype and without memory nothing changes.
TEST(test_unchanged) {
    static const float one[] = {1, 1};
    SrLossHealth h = {.prototypes = 7, .row_entropy = 0.5};
    sr_loss_entropies(one, 0, 2, &h);
    sr_loss_entropies(one, 2, 1, &h);
    sr_mem_fail_at(1);
    sr_loss_entropies(one, 1, 2, &h);
    sr_mem_fail_at(0);
    CHECK_INT(h.prototypes, 7);
    CHECK_NEAR(h.row_entropy, 0.5, 0);
}

SR_TESTS(loss_health, unit(test_rows), unit(test_scores), unit(test_unchanged))
