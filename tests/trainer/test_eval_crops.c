// Tests evaluation by random crops: the transforms that draw them, and rows that are means over
// the crops of an image.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "data/transform.h"
#include "tests/check.h"
#include "trainer/data/eval_crops.h"
#include "trainer/eval/layer_report.h"
#include "trainer/eval/report.h"

#define CONFIG "tests/cli/tiny.yaml"
#define END "{name: ToTensor}, {name: Normalize}]"

// ---- transforms ---------------------------------------------------------------------------------

static const SrYaml *parse(SrArena *arena, const char *text) {
    SrYaml *tree = NULL;
    CHECK_OK(sr_yaml_parse(arena, text, strlen(text), "case", &tree));
    return tree;
}

static void check_crop(const char *train, const char *evaluation, const char *expected) {
    SrArena arena = {0};
    SrText got = SR_TEXT_INIT, want = SR_TEXT_INIT;
    const SrYaml *list;
    CHECK_OK(sr_eval_crops_transforms(train ? parse(&arena, train) : NULL,
                                      parse(&arena, evaluation), 24, 32, &arena, &list));
    sr_yaml_print_flow(list, &got);
    sr_yaml_print_flow(parse(&arena, expected), &want);
    CHECK_STR(got.s, want.s);
    sr_text_deinit(&got);
    sr_text_deinit(&want);
    sr_arena_deinit(&arena);
}

// Scale, ratio and filter are those of the first crop of training, also where they are defaults.
// Everything of an evaluation
// that chooses no size stays, in its order.
TEST(test_transforms) {
    static const char whole[] = "[{name: Resize, size: 36}, {name: CenterCrop, size: 32}, " END;
    check_crop("[{name: ImgReplicatePil, num_times: 2}, {name: RandomResizedCrop, size: 96, scale: "
               "[0.3, 0.5], ratio: [1, 2], interpolation: bicubic}, {name: RandomHorizontalFlip}, "
               "{name: ColorJitter}, " END,
               whole,
               "[{name: RandomResizedCrop, size: [24, 32], scale: [0.3, 0.5], ratio: [1, 2], "
               "interpolation: bicubic}, " END);
    check_crop("[{name: RandomResizedCrop}]", whole,
               "[{name: RandomResizedCrop, size: [24, 32], scale: [0.08, 1], ratio: [0.75, "
               "1.3333333333333333], interpolation: bilinear}, " END);
    check_crop("[{name: ImgPilToMultiCrop, total_num_crops: 6, num_crops: [2, 4], size_crops: "
               "[16, 8], crop_scales: [[0.25, 0.3], [0.1, 0.2]], interpolation: bicubic}]",
               whole,
               "[{name: RandomResizedCrop, size: [24, 32], scale: [0.25, 0.3], interpolation: "
               "bicubic}, " END);
    check_crop("[{name: ImgPilToMultiCrop}]", whole,
               "[{name: RandomResizedCrop, size: [24, 32], scale: [0.14, 1], interpolation: "
               "bilinear}, " END);
    check_crop("[{name: ImgPilToPatchesAndImage, crop_scale_image: [0.4, 0.9]}]", whole,
               "[{name: RandomResizedCrop, size: [24, 32], scale: [0.4, 0.9]}, " END);
    check_crop("[{name: CenterCrop, size: 32}]", whole,
               "[{name: RandomResizedCrop, size: [24, 32], scale: [0.2, 1]}, " END);
    check_crop(NULL, "[{name: ImgPilResizeLargerSide, size: 32}, {name: ImgPil2LabTensor}]",
               "[{name: RandomResizedCrop, size: [24, 32], scale: [0.2, 1]}, {name: "
               "ImgPil2LabTensor}]");
}

// Each transform that announces a box has defaults for it that a RandomResizedCrop accepts.
TEST(test_announced_boxes) {
    const SrTransform *t;
    int found = 0;
    for (int i = 0; (t = sr_transform_at(i)); i++) {
        SrArena arena = {0};
        SrPipeline *pipeline;
        const SrYaml *list;
        char train[96];
        snprintf(train, sizeof train, "[{name: %s}]", t->name);
        if (!t->box_scale)
            continue;
        CHECK_OK(sr_eval_crops_transforms(parse(&arena, train), parse(&arena, "[" END), 24, 32,
                                          &arena, &list));
        CHECK(sr_yaml_find_path(list->items[0], "scale.1"));
        CHECK_OK(sr_pipeline_new(list, "case", &pipeline));
        sr_pipeline_free(pipeline);
        sr_arena_deinit(&arena);
        found++;
    }
    CHECK_INT(found, 3);
}

// ---- rows ---------------------------------------------------------------------------------------

enum { SIDE = 16, FLOATS = SIDE * SIDE * 3, CROPS = 3 };

typedef struct {
    SrConfig *config;
    SrBaselines images;
    SrModel *model;
} Fixture;

static void begin(Fixture *f, int crops, const char *other) {
    const char *overrides[] = {"DATA.TRAIN.DATA_LIMIT=300", other};
    *f = (Fixture){.config = NULL};
    CHECK_OK(sr_config_load(CONFIG, overrides, other ? 2 : 1, &f->config));
    f->config->knn.crops = crops;
    CHECK_OK(sr_baselines_open(&f->images, f->config, "flatten"));
    CHECK_OK(sr_baselines_drawn(f->config, "flatten", f->images.batch, SIDE, &f->model));
}

static void end(Fixture *f) {
    sr_baselines_close(&f->images);
    sr_model_free(f->model);
    sr_config_free(f->config);
}

static void features_of(Fixture *f, SrMatrix *out) {
    CHECK_OK(
        sr_feature_rows_of_model(f->model, "flatten", NULL, &f->images.test, f->images.batch, out));
}

// Adds a third of each row of crop `pass` to the sums; the rows of pixels and of the model.
static void add_pass(Fixture *f, SrFeatureSource *s, int pass, double *pixels, double *features,
                     int64_t d) {
    const SrBatch *batch;
    SrLoader *loader = f->images.test.loader;
    int64_t at = 0;
    CHECK_OK(sr_loader_start(loader, pass, 0));
    for (;;) {
        CHECK_OK(sr_loader_next(loader, &batch, NULL));
        if (!batch)
            break;
        sr_feature_source_run(s, batch->view[0], batch->batch);
        const float *value = sr_feature_source_value(s, 0).data;
        for (int64_t i = 0; i < batch->batch * (int64_t)FLOATS; i++)
            pixels[at * FLOATS + i] += batch->view[0][i] / (double)CROPS;
        for (int64_t i = 0; i < batch->batch * d; i++)
            features[at * d + i] += value[i] / (double)CROPS;
        at += batch->batch;
    }
    CHECK_INT(at, sr_loader_length(loader));
}

static double largest_difference(const SrMatrix *rows, const double *expected) {
    double largest = 0;
    for (int64_t i = 0; i < rows->n * rows->d; i++)
        largest = SR_MAX(largest, fabs(rows->x[i] - expected[i]));
    return largest;
}

// Rows of pixels and of a trunk are means over the passes k = 0, 1, 2, computed here in double, and
// differ from those of one crop.
TEST(test_mean_of_crops) {
    Fixture f;
    SrMatrix pixels, features;
    SrFeatureSource s;
    begin(&f, CROPS, NULL);
    CHECK_OK(sr_feature_rows_of_pixels(&f.images.test, &pixels));
    features_of(&f, &features);
    CHECK(pixels.n == 30 && pixels.d == FLOATS);
    double *pixel_sums = sr_calloc((size_t)(pixels.n * pixels.d), sizeof *pixel_sums);
    double *sums = sr_calloc((size_t)(features.n * features.d), sizeof *sums);
    CHECK(pixel_sums && sums);
    SrFeatureOptions o = {.model = f.model,
                          .live = true,
                          .layers = "flatten",
                          .meaning = SR_NAMES_STAGES,
                          .batch = f.images.batch,
                          .height = SIDE,
                          .width = SIDE};
    CHECK_OK(sr_feature_source_open(&o, &s));
    add_pass(&f, &s, 0, pixel_sums, sums, features.d);
    for (int64_t i = 0; i < features.n * features.d; i++)
        sums[i] *= CROPS;
    CHECK(largest_difference(&features, sums) > 1e-3); // the first crop alone
    for (int64_t i = 0; i < features.n * features.d; i++)
        sums[i] /= CROPS;
    add_pass(&f, &s, 1, pixel_sums, sums, features.d);
    add_pass(&f, &s, 2, pixel_sums, sums, features.d);
    CHECK_NEAR(largest_difference(&pixels, pixel_sums), 0, 1e-5);
    CHECK_NEAR(largest_difference(&features, sums), 0, 1e-5);
    sr_feature_source_close(&s);
    sr_free(pixel_sums);
    sr_free(sums);
    sr_matrix_deinit(&pixels);
    sr_matrix_deinit(&features);
    end(&f);
}

// Rows have the same bits for any number of threads that decode or compute.
TEST(test_threads) {
    static const char *const loaders[] = {"DATA.NUM_DATALOADER_WORKERS=0",
                                          "DATA.NUM_DATALOADER_WORKERS=1",
                                          "DATA.NUM_DATALOADER_WORKERS=2"};
    int threads = sr_parallel_threads();
    SrMatrix first = {0}, rows;
    for (int i = 0; i < SR_COUNT(loaders); i++) {
        Fixture f;
        sr_parallel_set_threads(i == 0 ? 1 : 2);
        begin(&f, CROPS, loaders[i]);
        features_of(&f, i == 0 ? &first : &rows);
        end(&f);
        if (i == 0)
            continue;
        CHECK(rows.n == first.n && rows.d == first.d);
        CHECK(memcmp(rows.x, first.x, (size_t)(rows.n * rows.d) * sizeof *rows.x) == 0);
        sr_matrix_deinit(&rows);
    }
    sr_parallel_set_threads(threads);
    sr_matrix_deinit(&first);
}

// ---- reports ------------------------------------------------------------------------------------

// One crop that is the whole square image gives the bits and the figures of whole images.
TEST(test_whole_crop) {
    static const char whole[] =
        "DATA.TRAIN.TRANSFORMS=[{name: ImgReplicatePil, num_times: 3}, {name: RandomResizedCrop, "
        "size: 16, scale: [1, 1], ratio: [1, 1]}, " END;
    SrKnnReport knn[2];
    SrMatrix rows[2];
    SrLayerReport *layers = sr_calloc(2, sizeof *layers);
    CHECK(layers);
    for (int crops = 0; crops < 2; crops++) {
        Fixture f;
        begin(&f, crops, whole);
        CHECK_OK(sr_knn_report(f.config, f.model, true, &knn[crops]));
        CHECK_OK(sr_layer_report(f.config, f.model, NULL, &layers[crops]));
        features_of(&f, &rows[crops]);
        CHECK(knn[crops].crops == crops && layers[crops].crops == crops);
        end(&f);
    }
    for (int row = 0; row < SR_ROW_COUNT; row++) {
        CHECK_INT(knn[0].has[row], knn[1].has[row]);
        CHECK_NEAR(knn[0].row[row][0].top1, knn[1].row[row][0].top1, 0);
        for (int i = 0; i < layers[0].layers.n; i++) {
            CHECK_NEAR(layers[0].score[row][i].knn, layers[1].score[row][i].knn, 0);
            CHECK_NEAR(layers[0].score[row][i].probe.test, layers[1].score[row][i].probe.test, 0);
        }
    }
    CHECK(memcmp(rows[0].x, rows[1].x, (size_t)(rows[0].n * rows[0].d) * sizeof(float)) == 0);
    sr_matrix_deinit(&rows[0]);
    sr_matrix_deinit(&rows[1]);
    CHECK(knn[0].has[SR_ROW_TRAINED] && layers[0].layers.n == 5);
    sr_free(layers);
}

// Tables and lines of JSON say how many crops there were, and say nothing without crops.
TEST(test_headings) {
    static const char *const expected[] = {NULL, "mean of 1 crop per image, ",
                                           "mean of 2 crops per image, "};
    for (int crops = 0; crops < 3; crops++) {
        Fixture f;
        SrKnnReport knn;
        SrLayerReport layers;
        SrText text = SR_TEXT_INIT, json = SR_TEXT_INIT;
        begin(&f, crops, NULL);
        CHECK_OK(sr_knn_report(f.config, f.model, false, &knn));
        CHECK_OK(sr_layer_report(f.config, f.model, NULL, &layers));
        sr_knn_report_print(&knn, false, &text);
        CHECK(expected[crops] ? strstr(text.s, expected[crops]) != NULL
                              : !strstr(text.s, "per image"));
        sr_text_deinit(&text);
        sr_layer_report_text(&layers, &text);
        CHECK(expected[crops] ? strstr(text.s, expected[crops]) != NULL
                              : !strstr(text.s, "per image"));
        sr_knn_report_json(&knn, &json);
        CHECK((strstr(json.s, "\"crops\": ") != NULL) == (crops > 0));
        sr_text_deinit(&json);
        sr_layer_report_json(&layers, &json);
        CHECK((strstr(json.s, "\"crops\": ") != NULL) == (crops > 0));
        sr_text_deinit(&json);
        sr_text_deinit(&text);
        end(&f);
    }
}

SR_TESTS(eval_crops, unit(test_transforms), unit(test_announced_boxes), unit(test_mean_of_crops),
         unit(test_threads), unit(test_whole_crop), unit(test_headings))
