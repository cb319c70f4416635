// Tests several labels per image, end to end: .npy lists, binary cross entropy on a frozen trunk,
// the three meters, features for the evaluation verbs. Settings that do not support several
// labels are refused before the first step.
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/npy.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "trainer/eval/linear_probes.h"
#include "trainer/eval/report.h"
#include "trainer/run/phases.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

enum { N = 48, CLASSES = 3, SIDE = 16 };

static const char text[] =
    "DATA:\n"
    "  NUM_DATALOADER_WORKERS: 1\n"
    "  TRAIN: &split\n"
    "    DATA_SOURCES: [disk_filelist]\n"
    "    LABEL_SOURCES: [disk_filelist]\n"
    "    BATCHSIZE_PER_REPLICA: 8\n"
    "    DEFAULT_GRAY_IMG_SIZE: 16\n"
    "    TRANSFORMS: [{name: CenterCrop, size: 16}, {name: ToTensor}, {name: Normalize}]\n"
    "  TEST: *split\n"
    "METERS:\n"
    "  names: [mean_ap_list_meter, precision_at_k_list_meter, recall_at_k_list_meter]\n"
    "  recall_at_k_list_meter: {topk_values: [1, 3]}\n"
    "MODEL:\n"
    "  FEATURE_EVAL_SETTINGS:\n"
    "    EVAL_MODE_ON: True\n"
    "    FREEZE_TRUNK_ONLY: True\n"
    "    SHOULD_FLATTEN_FEATS: False\n"
    "    LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res2, [AvgPool2d, [[4, 4], 4, 0]]], [res5avg, [Identity, "
    "[]]]]\n"
    "  TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625, SMALL_IMAGE_STEM: true}}\n"
    "  HEAD: {PARAMS: [[eval_mlp, {in_channels: 4, dims: [64, 3]}], [eval_mlp, {in_channels: 32, "
    "dims: [32, 3]}]]}\n"
    "LOSS: {name: bce_logits_multiple_output_single_target}\n"
    "OPTIMIZER: {num_epochs: 12, param_schedulers: {lr: {name: constant, value: 0.1}}}\n";

typedef struct {
    char dir[256], train[300], train_labels[320], test[300], test_labels[320], folder[300];
    SrConfig *config;
    SrRun *run;
    SrTrainResult result;
} Fixture;

// Class c is a bright square in its own corner; one label in nine is unknown.
static void write_side(Fixture *f, const char *name, int first) {
    char list[N * 32] = "", path[300];
    int8_t target[N * CLASSES];
    for (int i = 0; i < N; i++) {
        uint8_t pixels[SIDE * SIDE * 3];
        size_t bytes, len = strlen(list);
        fixture_noise(pixels, sizeof pixels, (uint64_t)(first + i));
        for (int c = 0; c < CLASSES; c++) {
            bool present = (first + i) >> c & 1 || (i % 5 == c);
            for (int k = 0; present && k < 36; k++)
                memset(pixels + 3 * ((c % 2 * 9 + k / 6) * SIDE + c / 2 * 9 + k % 6), 255, 3);
            target[i * CLASSES + c] = (int8_t)(i % 9 == 4 ? -1 : present);
        }
        void *png = fixture_png(pixels, SIDE, SIDE, 3, &bytes);
        snprintf(path, sizeof path, "%s%d.png", name, i);
        fixture_write(f->dir, path, png, bytes);
        snprintf(list + len, sizeof list - len, "%s%d.png\n", name, i);
        sr_free(png);
    }
    snprintf(path, sizeof path, "%s.txt", name);
    fixture_write(f->dir, path, list, strlen(list));
    snprintf(path, sizeof path, "%s/%s.npy", f->dir, name);
    CHECK_OK(sr_npy_save(path, "|i1", SR_SHAPE(N, CLASSES), target, sizeof target));
}

static void begin(Fixture *f) {
    fixture_folder(f->dir);
    write_side(f, "train", 0);
    write_side(f, "test", 1000);
    snprintf(f->train, sizeof f->train, "DATA.TRAIN.DATA_PATHS=[%s/train.txt]", f->dir);
    snprintf(f->train_labels, sizeof f->train_labels, "DATA.TRAIN.LABEL_PATHS=[%s/train.npy]",
             f->dir);
    snprintf(f->test, sizeof f->test, "DATA.TEST.DATA_PATHS=[%s/test.txt]", f->dir);
    snprintf(f->test_labels, sizeof f->test_labels, "DATA.TEST.LABEL_PATHS=[%s/test.npy]", f->dir);
    snprintf(f->folder, sizeof f->folder, "CHECKPOINT.DIR=%s/run", f->dir);
}

static SrStatus run(Fixture *f, const char *override) {
    const char *all[] = {f->train,       f->train_labels, f->test,
                         f->test_labels, f->folder,       "CHECKPOINT.OVERWRITE_EXISTING=True",
                         override};
    f->run = NULL;
    CHECK_OK(sr_config_parse(text, "several.yaml", all, SR_COUNT(all) - !override, &f->config));
    return sr_train_run(f->config, &(SrTrainOptions){.random = true}, &f->run, &f->result);
}

static void finish(Fixture *f) {
    sr_run_close(f->run);
    sr_config_free(f->config);
    sr_log_close();
}

// Mean AP and recall of the test are well above chance, and kept features give the loss of
// computed ones. Reports have no majority class.
TEST(test_learns) {
    Fixture f;
    SrPhases phases;
    SrMeterValue ap[SR_METER_MAX_VALUES], recall[SR_METER_MAX_VALUES];
    SrLinearReport report;
    begin(&f);
    CHECK_OK(run(&f, NULL));
    CHECK(f.run->feed.rows && f.run->feed.n_targets == CLASSES);
    double kept = f.result.last_loss;
    CHECK(kept < 0.8 * f.result.first_loss);
    CHECK_OK(sr_phases_open(f.run, &phases));
    CHECK_OK(sr_phases_run_test(&phases));
    CHECK_INT(sr_meter_list_values(phases.test, 0, 0, ap), 1);
    CHECK_STR(ap[0].key, "mAP");
    CHECK(ap[0].value > 85);
    CHECK_INT(sr_meter_list_values(phases.test, 2, 0, recall), 2);
    CHECK_NEAR(recall[1].value, 100, 0); // all three classes
    CHECK(recall[0].value < 100);
    sr_phases_close(&phases);
    CHECK_OK(sr_linear_report(f.run, &report));
    // Rows of the report that need one label per image are omitted.
    CHECK(!report.has[SR_ROW_MAJORITY] && !report.has[SR_ROW_PIXELS]);
    CHECK(report.has[SR_ROW_UNTRAINED] && report.has[SR_ROW_CALIBRATED]);
    finish(&f);
    CHECK_OK(run(&f, "MODEL.FEATURE_EVAL_SETTINGS.CACHE_FEATURES=off"));
    CHECK_NEAR(f.result.last_loss, kept, 0);
    finish(&f);
    fixture_remove(f.dir);
}

static SrStatus keep_targets(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    (void)row;
    int *ones = arg;
    CHECK(train->n_targets == CLASSES && test->n_targets == CLASSES && train->label[0] == -1);
    for (int64_t i = 0; i < train->n * CLASSES; i++)
        *ones += train->target[i] == 1;
    return SR_OK;
}

// The rows that svm, logreg and retrieve read; kNN cannot vote for several classes.
TEST(test_rows) {
    Fixture f;
    SrBaselines rows;
    SrKnnReport knn;
    int ones = 0, want = 0;
    begin(&f);
    CHECK_OK(run(&f, "OPTIMIZER.num_epochs=1"));
    CHECK_OK(sr_baselines_open(&rows, f.config, "flatten"));
    CHECK_OK(sr_baselines_each(&rows, f.run->model, false, keep_targets, &ones));
    for (int64_t i = 0; i < N; i++)
        for (int c = 0; c < CLASSES; c++)
            want += rows.bank.source->targets(rows.bank.set, i)[c] == 1;
    CHECK_INT(ones, want);
    CHECK(want > N / 2);
    sr_baselines_close(&rows);
    CHECK_OK(sr_knn_report(f.config, f.run->model, false, &knn));
    CHECK(!knn.labels);
    finish(&f);
    fixture_remove(f.dir);
}

TEST(test_refused) {
    Fixture f;
    char wrong[400];
    float half[N * CLASSES] = {1, 0, 0.5f};
    begin(&f);
    CHECK_FAILS(run(&f, "LOSS.name=cross_entropy_multiple_output_single_target"), SR_ERR_CONFIG,
                "LOSS.name=bce_logits_multiple_output_single_target");
    finish(&f);
    CHECK_FAILS(run(&f, "MODEL.HEAD.PARAMS=[[eval_mlp, {in_channels: 4, dims: [64, 4]}], "
                        "[eval_mlp, {in_channels: 32, dims: [32, 4]}]]"),
                SR_ERR_CONFIG, "the labels have 3 columns, but output 0 of the model has 4 scores");
    finish(&f);
    CHECK_FAILS(run(&f, "DATA.TEST.LABEL_PATHS=[]"), SR_ERR_CONFIG, "DATA.TRAIN and DATA.TEST");
    finish(&f);
    snprintf(wrong, sizeof wrong, "%s/half.npy", f.dir);
    CHECK_OK(sr_npy_save(wrong, "<f4", SR_SHAPE(N, CLASSES), half, sizeof half));
    snprintf(wrong, sizeof wrong, "DATA.TRAIN.LABEL_PATHS=[%s/half.npy]", f.dir);
    CHECK_FAILS(run(&f, wrong), SR_ERR_CONFIG, "row 0, column 2");
    finish(&f);
    const char *balanced = "DATA.TRAIN={DATA_LIMIT: 16, DATA_LIMIT_SAMPLING: {IS_BALANCED: True}}";
    CHECK_FAILS(run(&f, balanced), SR_ERR_CONFIG, "these images have several labels");
    finish(&f);
    fixture_remove(f.dir);
}

SR_TESTS(multi_label, unit(test_learns), unit(test_rows), unit(test_refused))
