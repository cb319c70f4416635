// Tests the cut-off of scores against SciPy's numbers, planted faults, and few scores.
#include "base/mem.h"
#include "measure/probes/score_cutoff.h"
#include "tests/check.h"
#include "tests/measure/folder_golden.h"
#include "tests/measure/folder_rows.h"

TEST(test_against_scipy) {
    float score[FOLDER_N];
    double cut;
    for (int i = 0; i < FOLDER_N; i++)
        score[i] = (float)golden_ratio[i];
    SrCutoffOptions o = {.share = 0.1, .significance = 0.05};
    CHECK_OK(sr_score_cutoff(&o, score, FOLDER_N, &cut));
    CHECK_NEAR(cut, golden_cutoff[0], 1e-5);
}

// Logistic scores have no fault, and ten that are far below them are found.
TEST(test_planted) {
    enum { N = 2000 };
    static float score[N];
    SrCutoffOptions o = {.share = 0.01, .significance = 0.05};
    double cut;
    int below = 0;
    for (int i = 0; i < N; i++) {
        double u = (i + 0.5) / N, z = 2 + 0.3 * log(u / (1 - u));
        score[i] = (float)(1 / (1 + exp(-z)));
    }
    CHECK_OK(sr_score_cutoff(&o, score, N, &cut));
    for (int i = 0; i < N; i++)
        below += (double)score[i] < cut;
    CHECK_INT(below, 1); // 0.05 * 0.01 * 2000
    for (int i = 0; i < 10; i++)
        score[i * 200] = 1e-4f;
    CHECK_OK(sr_score_cutoff(&o, score, N, &cut));
    below = 0;
    for (int i = 0; i < N; i++)
        below += (double)score[i] < cut;
    CHECK(below >= 10 && below <= 13);
}

TEST(test_few) {
    float score[19], all[25];
    double cut = 1;
    SrCutoffOptions o = {.share = 0.01, .significance = 0.05};
    for (int i = 0; i < 25; i++)
        all[i] = i < 19 ? 0.5f : i == 24 ? NAN : 1;
    memcpy(score, all, sizeof score);
    CHECK_OK(sr_score_cutoff(&o, score, 19, &cut));
    CHECK_NEAR(cut, 0, 0);
    CHECK_OK(sr_score_cutoff(&o, all, 25, &cut)); // 1 and NaN do not take part
    CHECK_NEAR(cut, 0, 0);
    sr_mem_fail_at(1);
    CHECK_FAILS(sr_score_cutoff(&o, all, 25, &cut), SR_ERR_MEMORY, "cut-off");
    sr_mem_fail_at(0);
}

SR_TESTS(score_cutoff, unit(test_against_scipy), unit(test_planted), unit(test_few))
