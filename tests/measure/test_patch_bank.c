// Tests patches, PatchCore's bank and PaDiM's Gaussians against NumPy's and SciPy's numbers.
#include "base/mem.h"
#include "base/parallel.h"
#include "measure/patches/patch_bank.h"
#include "measure/patches/patch_gauss.h"
#include "measure/patches/patch_maps.h"
#include "tests/check.h"
#include "tests/measure/folder_golden.h"
#include "tests/measure/folder_rows.h"

enum { H = 6, W = 5, P = H * W, D = 7, TRAIN = 8 };

// Makes the patches of tests/parity/folder_rows.py.  out: (P, D).
static void patches(uint32_t seed, float *out) {
    float x[H * W * 3 + 3 * 3 * 4];
    folder_draws(seed, x, SR_COUNT(x));
    SrPatchLayer layer[2] = {{x, H, W, 3}, {x + H * W * 3, 3, 3, 4}};
    CHECK_OK(sr_patch_embed(layer, 2, true, out));
}

static void training(SrMatrix *out) {
    CHECK_OK(sr_matrix_init(out, TRAIN * P, D));
    for (int i = 0; i < TRAIN; i++)
        patches((uint32_t)(20 + i), out->x + i * P * D);
}

TEST(test_patch_core) {
    SrMatrix train, bank;
    float test[P * D], score[P], heat[24 * 20];
    double image;
    int at = 0;
    training(&train);
    for (int i = 0; i < P * D; i++)
        CHECK_NEAR((double)train.x[i], golden_patch_first[i], 1e-6);
    CHECK_OK(sr_patch_bank(&train, 24, 0, 1, &bank));
    CHECK_INT(bank.n, 24);
    patches(50, test);
    for (int i = 0; i < P * D; i++)
        test[i] *= 1.5f;
    CHECK_OK(sr_patch_scores(&bank, test, P, score, &image));
    for (int i = 0; i < P; i++)
        CHECK_NEAR((double)score[i], golden_patch_score[i], 1e-5);
    CHECK_NEAR(image, golden_patch_image[0], 1e-5);
    CHECK_OK(sr_patch_heat(score, H, W, 24, 20, 2.0, heat));
    for (int y = 0; y < 24; y += 5)
        for (int x = 0; x < 20; x += 3)
            CHECK_NEAR((double)heat[y * 20 + x], golden_patch_heat[at++], 1e-5);
    CHECK_INT(at, SR_COUNT(golden_patch_heat));
    // A patch of the bank has distance 0, and one that is not finite has none.
    memcpy(test, bank.x, D * sizeof *test);
    CHECK_OK(sr_patch_scores(&bank, test, 1, score, &image));
    CHECK_NEAR((double)score[0], 0, 1e-6);
    test[0] = NAN;
    CHECK_OK(sr_patch_scores(&bank, test, 2, score, &image));
    CHECK(isnan(score[0]) && isnan(image));
    sr_matrix_deinit(&bank);
    sr_matrix_deinit(&train);
}

// The projection keeps squared lengths on average, and a bank that it chose covers the patches.
TEST(test_projection) {
    enum { ROWS = 400, WIDE = 64, DIMS = 48 };
    SrMatrix f, small, bank;
    double before = 0, after = 0, image;
    static float score[ROWS];
    CHECK_OK(sr_matrix_init(&f, ROWS, WIDE));
    CHECK_OK(sr_matrix_init(&small, ROWS, DIMS));
    folder_draws(8, f.x, ROWS * WIDE);
    CHECK_OK(sr_patch_project(&f, DIMS, 3, &small));
    for (int i = 0; i < ROWS * WIDE; i++)
        before += (double)f.x[i] * (double)f.x[i];
    for (int i = 0; i < ROWS * DIMS; i++)
        after += (double)small.x[i] * (double)small.x[i];
    CHECK(after / before > 0.8 && after / before < 1.25);
    CHECK_OK(sr_patch_bank(&f, ROWS, DIMS, 3, &bank)); // all of them
    CHECK_OK(sr_patch_scores(&bank, f.x, ROWS, score, &image));
    for (int i = 0; i < ROWS; i++)
        CHECK_NEAR((double)score[i], 0, 1e-6);
    sr_matrix_deinit(&bank);
    CHECK_FAILS(sr_patch_bank(&f, ROWS + 1, DIMS, 3, &bank), SR_ERR_CONFIG, "free");
    sr_matrix_deinit(&bank);
    sr_matrix_deinit(&small);
    sr_matrix_deinit(&f);
}

TEST(test_padim) {
    SrPatchGauss g;
    float x[P * D], score[P], again[P];
    double image, largest = 0;
    CHECK_OK(sr_patch_gauss_init(P, D, &g));
    CHECK_FAILS(sr_patch_gauss_finish(&g), SR_ERR_CONFIG, "at least 2 images");
    for (int i = 0; i < TRAIN; i++) {
        patches((uint32_t)(20 + i), x);
        sr_patch_gauss_add(&g, x);
    }
    CHECK_OK(sr_patch_gauss_finish(&g));
    patches(50, x);
    CHECK_OK(sr_patch_gauss_scores(&g, x, score, &image));
    for (int i = 0; i < P; i++) {
        CHECK_NEAR((double)score[i], golden_gauss_score[i], 1e-4);
        largest = fmax(largest, (double)score[i]);
    }
    CHECK_NEAR(image, largest, 0);
    int before = sr_parallel_threads();
    sr_parallel_set_threads(before > 1 ? 1 : 3);
    CHECK_OK(sr_patch_gauss_scores(&g, x, again, &image));
    sr_parallel_set_threads(before);
    CHECK(memcmp(score, again, sizeof score) == 0);
    sr_patch_gauss_deinit(&g);
    CHECK_OK(sr_patch_gauss_init(P, D, &g));
    x[3] = NAN;
    sr_patch_gauss_add(&g, x);
    sr_patch_gauss_add(&g, x);
    CHECK_FAILS(sr_patch_gauss_finish(&g), SR_ERR_CONFIG, "not finite");
    sr_patch_gauss_deinit(&g);
}

TEST(test_channels) {
    int channel[10], all[20];
    CHECK_OK(sr_patch_channels(20, 10, 1, channel));
    for (int i = 0; i < 10; i++) {
        CHECK(channel[i] >= 0 && channel[i] < 20);
        CHECK(i == 0 || channel[i] > channel[i - 1]);
    }
    CHECK_OK(sr_patch_channels(20, 20, 1, all));
    for (int i = 0; i < 20; i++)
        CHECK_INT(all[i], i);
}

TEST(test_memory) {
    SrMatrix train, bank;
    float score[P], x[H * W];
    double image;
    training(&train);
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 8; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_patch_bank(&train, 5, 3, 1, &bank), SR_ERR_MEMORY, "memory");
        sr_mem_fail_at(0);
        sr_matrix_deinit(&bank);
        CHECK_INT(sr_mem_live(), live);
    }
    CHECK_OK(sr_patch_bank(&train, 12, 3, 1, &bank));
    live = sr_mem_live();
    for (int i = 1; i <= 6; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_patch_scores(&bank, train.x, P, score, &image), SR_ERR_MEMORY, "memory");
        sr_mem_fail_at(0);
        CHECK_INT(sr_mem_live(), live);
    }
    sr_mem_fail_at(2);
    CHECK_FAILS(sr_patch_heat(score, H, W, H, W, 1, x), SR_ERR_MEMORY, "heat map");
    sr_mem_fail_at(0);
    CHECK_INT(sr_mem_live(), live);
    sr_matrix_deinit(&bank);
    sr_matrix_deinit(&train);
}

SR_TESTS(patch_bank, unit(test_patch_core), unit(test_projection), unit(test_padim),
         unit(test_channels), unit(test_memory))
