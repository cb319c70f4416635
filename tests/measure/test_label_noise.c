// Tests confident learning against NumPy's numbers, rows without labels, and memory.
#include "base/mem.h"
#include "measure/probes/label_noise.h"
#include "tests/check.h"
#include "tests/measure/folder_golden.h"
#include "tests/measure/folder_rows.h"

// Makes the predictions of tests/parity/folder_rows.py.
static void predictions(float *p, int64_t *label) {
    folder_draws(5, p, (int64_t)FOLDER_N * FOLDER_CLASSES);
    for (int i = 0; i < FOLDER_N; i++) {
        double z[FOLDER_CLASSES], sum = 0;
        int truth = i % FOLDER_CLASSES;
        for (int c = 0; c < FOLDER_CLASSES; c++)
            sum += z[c] = exp(2 * (double)p[i * FOLDER_CLASSES + c] + (c == truth ? 1.5 : 0));
        for (int c = 0; c < FOLDER_CLASSES; c++)
            p[i * FOLDER_CLASSES + c] = (float)(z[c] / sum);
        label[i] = i % 7 == 0 ? (truth + 1) % FOLDER_CLASSES : truth;
    }
}

TEST(test_against_numpy) {
    float p[FOLDER_N * FOLDER_CLASSES];
    int64_t label[FOLDER_N];
    SrLabelNoise noise;
    double sum = 0, beside = 0;
    predictions(p, label);
    CHECK_OK(sr_label_noise(p, label, FOLDER_N, FOLDER_CLASSES, &noise));
    for (int i = 0; i < FOLDER_CLASSES * FOLDER_CLASSES; i++) {
        CHECK_NEAR(noise.joint[i], golden_joint[i], 1e-6);
        sum += noise.joint[i];
        beside += i % (FOLDER_CLASSES + 1) ? noise.joint[i] : 0;
    }
    CHECK_NEAR(sum, 1, 1e-9);
    CHECK_NEAR(noise.noise, beside, 1e-9);
    for (int i = 0; i < FOLDER_N; i++)
        CHECK_INT(noise.wrong[i], golden_wrong[i]);
    sr_label_noise_deinit(&noise);
}

TEST(test_without_labels) {
    float p[4 * 2] = {0.9f, 0.1f, 0.2f, 0.8f, 0.1f, 0.9f, 0.5f, 0.5f};
    int64_t label[4] = {0, 1, -1, -1};
    SrLabelNoise noise;
    CHECK_OK(sr_label_noise(p, label, 4, 2, &noise));
    CHECK_INT(noise.best[0], 0);
    CHECK_INT(noise.best[1], 1);
    CHECK_INT(noise.best[2], -1);
    CHECK_NEAR(noise.noise, 0, 0);
    CHECK_NEAR(noise.joint[0], 0.5, 1e-12);
    for (int i = 0; i < 4; i++)
        CHECK_INT(noise.wrong[i], 0);
    sr_label_noise_deinit(&noise);
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 7; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_label_noise(p, label, 4, 2, &noise), SR_ERR_MEMORY, "noise");
        sr_mem_fail_at(0);
        sr_label_noise_deinit(&noise);
        CHECK_INT(sr_mem_live(), live);
    }
}

SR_TESTS(label_noise, unit(test_against_numpy), unit(test_without_labels))
