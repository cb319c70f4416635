// Tests calibrated batch norms: their running statistics are those of the images, whatever the
// momentum of the norms is.
#include "trainer/features/norm_calibration.h"

#include <math.h>
#include <string.h>

#include "data/load/loader.h"
#include "tests/check.h"
#include "trainer/eval/baselines.h"
#include "trainer/features/feature_source.h"
#include "trainer/features/feature_values.h"

enum { BATCH = 40, SIDE = 32 };

// Writes the layer of the split's first batch and returns how many numbers they have.
static int features(SrModel *model, const char *layer, SrSplit *split, SrMode mode, float *out,
                    int most) {
    SrFeatureOptions o = {.model = model,
                          .live = true,
                          .batch = BATCH,
                          .height = SIDE,
                          .width = SIDE,
                          .mode = mode,
                          .layers = layer,
                          .meaning = SR_NAMES_NODES};
    SrFeatureSource s;
    const SrBatch *images;
    CHECK_OK(sr_feature_source_open(&o, &s));
    CHECK_OK(sr_loader_start(split->loader, 0, 0));
    CHECK_OK(sr_loader_next(split->loader, &images, NULL));
    CHECK_INT(images->batch, BATCH);
    sr_feature_source_run(&s, images->view[0], BATCH);
    int n = BATCH * (int)sr_feature_source_floats(&s, 0);
    CHECK(n <= most);
    sr_feature_copy(&s, 0, BATCH, false, out);
    sr_feature_source_close(&s);
    return n;
}

// Evaluation gives what training gives after the first norm. After later ones the variance over
// rows - 1 images in place of rows makes a difference. MobileNet v3's norms have a momentum of
// 0.01: one pass moves their statistics by a hundredth.
TEST(test_statistics_of_the_images) {
    static const char *const trunks[][2] = {{"mobilenet_v3_small", "features.0"},
                                            {"resnet18", "relu"}};
    enum { MOST = BATCH * 64 * 16 * 16 };
    static float eval[MOST], train[MOST];
    for (int t = 0; t < SR_COUNT(trunks); t++) {
        char trunk[64];
        SrConfig *config;
        SrModel *model;
        SrSplit split = {.note = ""};
        snprintf(trunk, sizeof trunk, "MODEL.TRUNK.NAME=%s", trunks[t][0]);
        const char *overrides[] = {trunk, "DATA.TRAIN.DATA_LIMIT=44"};
        CHECK_OK(sr_config_load("tests/cli/tiny.yaml", overrides, 2, &config));
        CHECK_OK(sr_baselines_drawn(config, "flatten", BATCH, SIDE, &model));
        CHECK_OK(sr_split_open_eval(config, SR_SIDE_BANK, true, BATCH, SIDE, NULL, &split));
        CHECK_OK(sr_norms_calibrate(model, &split, BATCH));
        int n = features(model, trunks[t][1], &split, SR_MODE_EVAL, eval, MOST);
        CHECK_INT(features(model, trunks[t][1], &split, SR_MODE_TRAIN, train, MOST), n);
        double largest = 0, apart = 0;
        for (int i = 0; i < n; i++) {
            largest = fmax(largest, fabs((double)train[i]));
            apart = fmax(apart, fabs((double)train[i] - (double)eval[i]));
        }
        if (!(apart < 1e-3 * largest))
            fail_msg("%s: %g apart of %g", trunks[t][0], apart, largest);
        sr_split_close(&split);
        sr_model_free(model);
        sr_config_free(config);
    }
}

SR_TESTS(norm_calibration, unit(test_statistics_of_the_images))
