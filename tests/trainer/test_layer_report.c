// Tests the report over the stages of a trunk: which stages it has, how maps are pooled, and that
// an untrained trunk gains nothing on itself.
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/check.h"
#include "trainer/eval/layer_report.h"
#include "trainer/run/run.h"

#define CONFIG "tests/cli/tiny.yaml"

typedef struct {
    SrConfig *config;
    SrRun *run;
    SrBaselines images;
} Fixture;

static void begin(Fixture *f, const char *trunk) {
    const char *overrides[] = {"DATA.TRAIN.DATA_LIMIT=400", "NEAREST_NEIGHBOR.L2_NORM_FEATS=True",
                               "MODEL.TRUNK.RESNET_CIFAR.WIDTH_MULTIPLIER=0.5", trunk};
    *f = (Fixture){.config = NULL};
    CHECK_OK(sr_config_load(CONFIG, overrides, SR_COUNT(overrides), &f->config));
    CHECK_OK(sr_run_open(f->config, SR_RUN_TRAIN, &f->run));
    CHECK_OK(sr_baselines_open(&f->images, f->config, "flatten"));
}

static void end(Fixture *f) {
    sr_baselines_close(&f->images);
    sr_run_close(f->run);
    sr_config_free(f->config);
}

// Pooling as torch.nn.AdaptiveAvgPool2d does it: windows overlap if the sides do not divide.
TEST(test_pool) {
    static const float x[3 * 3 * 2] = {1,  10, 2,  20, 3,  30, 4,  40, 5,
                                       50, 6,  60, 7,  70, 8,  80, 9,  90};
    static const float expected[2 * 2 * 2] = {3, 30, 4, 40, 6, 60, 7, 70};
    float y[8];
    sr_stage_pool(x, 3, 3, 2, 2, 2, y);
    for (int i = 0; i < 8; i++)
        CHECK_NEAR(y[i], expected[i], 1e-5);
    sr_stage_pool(x, 3, 3, 2, 1, 1, y);
    CHECK_NEAR(y[0], 5, 1e-5);
    CHECK_NEAR(y[1], 50, 1e-5);
}

// The report omits the stem, timm's numbers for stages, and the map of one pixel before flatten.
TEST(test_stages) {
    static const struct {
        const char *trunk, *names[SR_STAGES_MAX + 1];
    } cases[] = {{"MODEL.TRUNK.NAME=resnet", {"res2", "res3", "res4", "res5", "flatten"}},
                 {"MODEL.TRUNK.NAME=resnet_cifar", {"res2", "res3", "res4", "flatten"}}};
    for (int c = 0; c < SR_COUNT(cases); c++) {
        Fixture f;
        SrStages layers;
        SrMatrix joint, one, flat;
        begin(&f, cases[c].trunk);
        CHECK_OK(sr_feature_rows_of_model(f.run->model, "flatten", &layers, &f.images.test,
                                          f.images.batch, &joint));
        for (int i = 0; i < layers.n; i++) {
            CHECK_STR(layers.v[i].name, cases[c].names[i]);
            CHECK(layers.v[i].rows * layers.v[i].columns * layers.v[i].depth <= SR_STAGE_FLOATS);
        }
        CHECK(cases[c].names[layers.n] == NULL);
        // The last stage has the same bits as in a pass for it alone.
        CHECK_OK(sr_stages_take(&layers, layers.n - 1, &joint, &one));
        CHECK_OK(sr_feature_rows_of_model(f.run->model, "flatten", NULL, &f.images.test,
                                          f.images.batch, &flat));
        CHECK_INT(one.d, flat.d);
        CHECK(memcmp(one.x, flat.x, (size_t)(one.n * one.d) * sizeof *one.x) == 0);
        CHECK(memcmp(one.label, flat.label, (size_t)one.n * sizeof *one.label) == 0);
        sr_matrix_deinit(&one);
        sr_matrix_deinit(&flat);
        // So has a map that is asked for alone and pooled.
        CHECK_OK(sr_stages_take(&layers, 0, &joint, &one));
        CHECK_OK(sr_feature_rows_pooled(f.run->model, layers.v[0].name, &f.images.test,
                                        f.images.batch, &flat));
        // The first trunk's map has exactly SR_STAGE_FLOATS numbers, the second one's is pooled.
        CHECK(c == 0 ||
              sr_shape_count(layers.v[0].shape) / layers.v[0].shape.d[0] > SR_STAGE_FLOATS);
        CHECK_INT(one.d, flat.d);
        CHECK(memcmp(one.x, flat.x, (size_t)(one.n * one.d) * sizeof *one.x) == 0);
        sr_matrix_deinit(&joint);
        sr_matrix_deinit(&one);
        sr_matrix_deinit(&flat);
        end(&f);
    }
}

static double number_of(const char *json, const char *key) {
    const char *at = strstr(json, key);
    CHECK(at != NULL);
    return strtod(at + strlen(key), NULL);
}

// A run without a step equals its untrained trunk as drawn: the figures are the same, and a
// sentence says so.
TEST(test_untrained_gains_nothing) {
    Fixture f;
    SrLayerReport r;
    SrText out = SR_TEXT_INIT;
    begin(&f, "MODEL.TRUNK.NAME=resnet_cifar");
    int64_t live = sr_mem_live();
    CHECK_OK(sr_layer_report(f.config, f.run->model, NULL, &r));
    CHECK_OK(sr_layer_report(f.config, f.run->model, NULL, &r)); // the model owns the graphs
    CHECK(sr_mem_live() - live < 1 << 22);
    CHECK(r.labels && r.layers.n == 4 && r.n_test == 40 && r.n_train == 360 && r.k == 5);
    for (int i = 0; i < r.layers.n; i++) {
        const SrLayerScore *trained = &r.score[SR_ROW_TRAINED][i];
        const SrLayerScore *drawn = &r.score[SR_ROW_UNTRAINED][i];
        CHECK_NEAR(trained->knn, drawn->knn, 0);
        CHECK_NEAR(trained->probe.test, drawn->probe.test, 0);
        CHECK(trained->probe.held_out <= r.score[SR_ROW_TRAINED][r.best].probe.held_out);
    }
    sr_layer_report_text(&r, &out);
    CHECK(strstr(out.s, "taught the trunk nothing") && strstr(out.s, "raw pixels (768)"));
    CHECK(strstr(out.s, " * ") && strstr(out.s, "majority class"));
    sr_text_deinit(&out);
    sr_layer_report_json(&r, &out);
    CHECK_NEAR(number_of(out.s, "\"trained_res3_probe\": "), r.score[SR_ROW_TRAINED][1].probe.test,
               1e-3);
    SrReportRow row = sr_layer_untrained(&r, 1, false);
    CHECK_NEAR(number_of(out.s, "\"untrained_res3_knn\": "), r.score[row][1].knn, 1e-3);
    CHECK(r.score[row][1].knn >= r.score[SR_ROW_UNTRAINED][1].knn &&
          r.score[row][1].knn >= r.score[SR_ROW_CALIBRATED][1].knn);
    CHECK_NEAR(number_of(out.s, "\"pixels_probe\": "), r.score[SR_ROW_PIXELS][0].probe.test, 1e-3);
    CHECK(strstr(out.s, "\"best_layer\": \"") && strstr(out.s, "\"untrained_res3_probe_norms\": "));
    sr_text_deinit(&out);
    end(&f);
}

// Verdicts on made-up figures: for 1,000 images of which 80 % are right, 2.5 points are chance.
TEST(test_sentence) {
    static const struct {
        double pixels, untrained;
        const char *says;
    } cases[] = {{70, 75, "better than raw pixels and random weights"},
                 {79, 75, "no better than raw pixels"},
                 {70, 79, "taught the trunk nothing"}};
    for (int c = 0; c < SR_COUNT(cases); c++) {
        SrLayerReport r = {
            .labels = true, .n_test = 1000, .layers.n = 2, .best = 1, .other_images = c == 1};
        SrText out = SR_TEXT_INIT;
        strcpy(r.layers.v[0].name, "res2");
        strcpy(r.layers.v[1].name, "res3");
        r.score[SR_ROW_PIXELS][0].probe.test = cases[c].pixels;
        r.score[SR_ROW_CALIBRATED][0].probe.test = cases[c].untrained;
        r.score[SR_ROW_TRAINED][1].probe.test = 80;
        sr_layer_report_text(&r, &out);
        if (!strstr(out.s, cases[c].says))
            fail_msg("expected \"%s\" in:\n%s", cases[c].says, out.s);
        CHECK(strstr(out.s, "best layer: res3") && strstr(out.s, "(res2)"));
        CHECK_INT(strstr(out.s, "figures of the kNN report are of others") != NULL, c == 1);
        CHECK_INT(strstr(out.s, "    of 1000") != NULL, c == 1); // rows of the table
        sr_text_deinit(&out);
    }
}

SR_TESTS(layer_report, unit(test_pool), unit(test_stages), unit(test_untrained_gains_nothing),
         unit(test_sentence))
