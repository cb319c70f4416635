// Tests heads on a frozen trunk: kept features give the bits of computed ones, the trunk does not
// change and has no gradients, phases follow VISSL's order, and the best model is saved
// separately.
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "trainer/eval/linear_probes.h"
#include "trainer/run/phases.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

static const char text[] =
    "TEST_EVERY_NUM_EPOCH: 2\n"
    "DATA:\n"
    "  NUM_DATALOADER_WORKERS: 1\n"
    "  TRAIN: &split\n"
    "    DATA_SOURCES: [synthetic]\n"
    "    LABEL_SOURCES: [synthetic]\n"
    "    RANDOM_SYNTHETIC_IMAGES: True\n"
    "    RANDOM_SYNTHETIC_LABELS: 3\n"
    "    DEFAULT_GRAY_IMG_SIZE: 16\n"
    "    DATA_LIMIT: 37\n"
    "    BATCHSIZE_PER_REPLICA: 8\n"
    "    TRANSFORMS: [{name: CenterCrop, size: 16}, {name: ToTensor}, {name: Normalize}]\n"
    "  TEST: *split\n"
    "METERS: {names: [accuracy_list_meter]}\n"
    "MODEL:\n"
    "  FEATURE_EVAL_SETTINGS:\n"
    "    EVAL_MODE_ON: True\n"
    "    FREEZE_TRUNK_ONLY: True\n"
    "    SHOULD_FLATTEN_FEATS: False\n"
    "    LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res2, [AvgPool2d, [[8, 8], 8, 0]]], "
    "[res5avg, [Identity, []]], [res5avg, [Identity, []]]]\n"
    "  TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625, SMALL_IMAGE_STEM: true}}\n"
    "  HEAD: {PARAMS: [[eval_mlp, {in_channels: 4, dims: [16, 3]}], "
    "[eval_mlp, {in_channels: 32, dims: [32, 3]}], [mlp, {dims: [32, 3]}]]}\n"
    "LOSS: {name: cross_entropy_multiple_output_single_target}\n"
    "OPTIMIZER: {num_epochs: 4, param_schedulers: {lr: {name: constant, value: 0.05}}}\n";

typedef struct {
    char dir[64];
    SrConfig *config;
    SrRun *run;
    SrTrainResult result;
} Linear;

static SrStatus start(Linear *l, const char *const *overrides, int n) {
    char folder[96];
    const char *all[8] = {folder};
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", l->dir);
    for (int i = 0; i < n; i++)
        all[1 + i] = overrides[i];
    CHECK_OK(sr_config_parse(text, "linear.yaml", all, n + 1, &l->config));
    return sr_train_run(l->config, &(SrTrainOptions){.random = true}, &l->run, &l->result);
}

static void finish(Linear *l) {
    sr_run_close(l->run);
    sr_config_free(l->config);
}

static void check_same(Linear *a, Linear *b) {
    SrParams *x = sr_model_params(a->run->model), *y = sr_model_params(b->run->model);
    CHECK_INT(sr_params_count(x), sr_params_count(y));
    for (int i = 0; i < sr_params_count(x); i++) {
        const SrParam *p = sr_params_at(x, i), *q = sr_params_at(y, i);
        if (memcmp(p->value, q->value, (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype)))
            fail_msg("'%s' differs", p->name);
    }
    CHECK_NEAR(a->result.last_loss, b->result.last_loss, 0);
}

#define CACHE "MODEL.FEATURE_EVAL_SETTINGS.CACHE_FEATURES="

TEST(test_kept_is_computed) {
    const char *const kinds[] = {CACHE "off", CACHE "memory", CACHE "disk"};
    Linear l[3];
    for (int k = 0; k < 3; k++) {
        temp_dir_make(l[k].dir);
        CHECK_OK(start(&l[k], &kinds[k], 1));
        CHECK((l[k].run->feed.rows != NULL) == (k > 0));
        CHECK(l[k].run->feed.on_disk == (k == 2));
    }
    check_same(&l[0], &l[1]);
    check_same(&l[0], &l[2]);
    CHECK(l[0].result.last_loss < l[0].result.first_loss);
    for (int k = 0; k < 3; k++) {
        finish(&l[k]);
        temp_dir_remove(l[k].dir);
    }
}

// Tar shards have their own order of images, which kept features follow.
TEST(test_kept_from_shards) {
    const char *const kinds[] = {CACHE "off", CACHE "memory"};
    char dir[64], data[256];
    Linear l[2];
    temp_dir_make(dir);
    program_pack(dir, 80);
    snprintf(data, sizeof data,
             "DATA.TRAIN={DATA_SOURCES: [webdataset], LABEL_SOURCES: [webdataset], DATA_LIMIT: -1, "
             "DATA_PATHS: [%s/shards]}",
             dir);
    for (int k = 0; k < 2; k++) {
        temp_dir_make(l[k].dir);
        const char *overrides[] = {kinds[k], data, "DATA.TEST.RANDOM_SYNTHETIC_LABELS=2"};
        CHECK_OK(start(&l[k], overrides, 3));
        CHECK((l[k].run->feed.rows != NULL) == (k > 0));
    }
    check_same(&l[0], &l[1]);
    for (int k = 0; k < 2; k++) {
        finish(&l[k]);
        temp_dir_remove(l[k].dir);
    }
    temp_dir_remove(dir);
}

static int count_lines(const char *dir, const char *name, const char *with) {
    char path[128], *data;
    size_t bytes;
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK_OK(sr_file_read(path, 1 << 20, &data, &bytes));
    for (const char *at = data; (at = strstr(at, with)) != NULL; at++)
        n++;
    sr_free(data);
    return n;
}

static int stop_after(void *left) { return --*(int *)left == 0; }

// A run that is stopped within an epoch and resumed has the bits of an undisturbed one.
TEST(test_resume) {
    Linear whole, l;
    // before the first epoch, within it, its 5 test batches, between, two of the second
    int left = 1 + 3 + 5 + 1 + 2;
    char folder[96];
    const char *overrides[] = {folder};
    temp_dir_make(whole.dir);
    temp_dir_make(l.dir);
    CHECK_OK(start(&whole, NULL, 0));
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", l.dir);
    CHECK_OK(sr_config_parse(text, "linear.yaml", overrides, 1, &l.config));
    SrTrainOptions options = {.random = true, .stop = stop_after, .stop_arg = &left};
    CHECK_INT(sr_train_run(l.config, &options, &l.run, &l.result), SR_ERR_INTERRUPT);
    CHECK_INT(l.result.iterations, 6);
    finish(&l);
    CHECK_OK(start(&l, NULL, 0));
    check_same(&whole, &l);
    finish(&whole);
    finish(&l);
    temp_dir_remove(whole.dir);
    temp_dir_remove(l.dir);
}

// A run that is stopped in a test phase is saved after the epoch's last batch, and the same
// command then completes the test.
TEST(test_stop_in_test_phase) {
    Linear whole, l;
    int left = 1 + 4 + 2;
    char folder[96];
    const char *overrides[] = {folder};
    temp_dir_make(whole.dir);
    temp_dir_make(l.dir);
    CHECK_OK(start(&whole, NULL, 0));
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", l.dir);
    CHECK_OK(sr_config_parse(text, "linear.yaml", overrides, 1, &l.config));
    SrTrainOptions options = {.stop = stop_after, .stop_arg = &left, .random = true};
    CHECK_FAILS(sr_train_run(l.config, &options, &l.run, &l.result), SR_ERR_INTERRUPT,
                "stopped after 5 of 20 updates and saved");
    finish(&l);
    CHECK_INT(count_lines(l.dir, "metrics.json", "\"test_accuracy_list_meter\""), 0);
    CHECK_OK(start(&l, NULL, 0));
    check_same(&whole, &l);
    CHECK_INT(count_lines(l.dir, "metrics.json", "\"test_accuracy_list_meter\""), 3);
    finish(&whole);
    finish(&l);
    temp_dir_remove(whole.dir);
    temp_dir_remove(l.dir);
}

// Features of random transforms are never kept.
TEST(test_drawing_transforms) {
    const char *const flip[] = {
        CACHE "memory", "OPTIMIZER.num_epochs=1",
        "DATA.TRAIN.TRANSFORMS=[{name: CenterCrop, size: 16}, "
        "{name: RandomHorizontalFlip}, {name: ToTensor}, {name: Normalize}]"};
    Linear l;
    temp_dir_make(l.dir);
    CHECK_OK(start(&l, flip, 3));
    CHECK(l.run->feed.rows == NULL);
    finish(&l);
    temp_dir_remove(l.dir);
}

TEST(test_trunk_stays) {
    Linear l;
    temp_dir_make(l.dir);
    CHECK_OK(start(&l, NULL, 0));
    SrParams *params = sr_model_params(l.run->model);
    int trunk = 0, heads = 0;
    SrConfig *config = l.config;
    SrRun *fresh;
    CHECK_OK(sr_run_open(config, SR_RUN_TRAIN, &fresh));
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i),
                      *q = sr_params_at(sr_model_params(fresh->model), i);
        bool is_trunk = strncmp(p->name, "trunk.base_model._feature_blocks.", 33) == 0;
        trunk += is_trunk;
        heads += p->trainable;
        CHECK(is_trunk || strncmp(p->name, "heads.", 6) == 0);
        CHECK(!is_trunk || (!p->trainable && p->grad == NULL));
        CHECK(!is_trunk ||
              memcmp(p->value, q->value,
                     (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype)) == 0);
    }
    CHECK_INT(trunk, 20 + 20 * 5); // convolutions, norms
    CHECK_INT(heads, 4 + 4 + 2);
    sr_run_close(fresh);
    finish(&l);
    temp_dir_remove(l.dir);
}

// Test phases follow epochs 0, 2 and the last (3). The best model is saved, and TEST_ONLY gives
// its figure again.
TEST(test_phases) {
    Linear l;
    char path[128];
    temp_dir_make(l.dir);
    CHECK_OK(start(&l, NULL, 0));
    finish(&l);
    CHECK_INT(count_lines(l.dir, "metrics.json", "\"test_accuracy_list_meter\""), 3);
    CHECK_INT(count_lines(l.dir, "metrics.json", "\"train_accuracy_list_meter\""), 4);
    CHECK_INT(count_lines(l.dir, "metrics.json", "\"res5avg\": ["), 7);
    snprintf(path, sizeof path, "%s/model_best.safetensors", l.dir);
    CHECK(sr_file_exists(path));
    SrPosition at;
    CHECK_OK(sr_checkpoint_position(path, &at));
    CHECK(at.best > 33);
    const char *const only[] = {
        "TEST_ONLY=True", "DATA.TRAIN.DATA_SOURCES=[disk_folder]", "DATA.TRAIN.DATA_PATHS=[gone]",
        "MODEL.WEIGHTS_INIT.PARAMS_FILE=gone"}; // the folder's checkpoint wins
    CHECK_OK(start(&l, only, 4));
    CHECK(l.run->train.loader == NULL); // TEST_ONLY does not open the training images
    CHECK_INT(l.result.epochs, 0);
    finish(&l);
    CHECK_INT(count_lines(l.dir, "metrics.json", "\"test_accuracy_list_meter\""), 4);
    temp_dir_remove(l.dir);
}

// The report has the run's own figures and all baselines, as a table and as a JSON line.
TEST(test_report) {
    Linear l;
    SrLinearReport r;
    SrText out = SR_TEXT_INIT;
    temp_dir_make(l.dir);
    int64_t live = sr_mem_live();
    CHECK_OK(start(&l, NULL, 0));
    SrLogLevel before =
        sr_log_set_level(SR_LOG_ERROR); // the level that -q -q sets must survive the baselines
    CHECK_OK(sr_linear_report(l.run, &r));
    CHECK_INT(sr_log_set_level(before), SR_LOG_ERROR);
    CHECK(r.random); // start() requests it
    CHECK_INT(r.n_layers, 3);
    CHECK_INT(r.n_values, 1);
    CHECK_STR(r.layer[1], "res5avg");
    for (int row = 0; row < SR_ROW_COUNT; row++) // a frozen trunk did not move from its start
        CHECK_INT(r.has[row], row != SR_ROW_STARTED);
    CHECK(r.majority > 33 && r.majority < 100);
    sr_linear_report_print(&r, true, &out);
    CHECK(strstr(out.s, "\"untrained_res2_norms\": "));
    for (int k = 0; k < r.n_layers; k++) { // the better of the two untrained rows
        char key[64], *at;
        snprintf(key, sizeof key, "\"untrained_%s%s_top_1\": ", r.layer[k], k == 2 ? "_2" : "");
        CHECK((at = strstr(out.s, key)) != NULL);
        CHECK_NEAR(
            strtod(at + strlen(key), NULL),
            SR_MAX(r.value[SR_ROW_UNTRAINED][k][0].value, r.value[SR_ROW_CALIBRATED][k][0].value),
            1e-3);
    }
    CHECK(strstr(out.s, "\"pixels_top_1\": ") && strstr(out.s, "\"untrained_res2_top_1\": ") &&
          strstr(out.s, "\"trained_res5avg_2_top_1\": "));
    sr_text_deinit(&out);
    sr_linear_report_print(&r, false, &out);
    CHECK(strstr(out.s, "raw pixels") && strstr(out.s, "majority class"));
    sr_text_deinit(&out);
    finish(&l);
    sr_log_close();
    CHECK_INT(sr_mem_live(), live);
    temp_dir_remove(l.dir);
}

static void put(SrConfig *config, const char *path, double value) {
    SrYaml *number = sr_yaml_new(&config->arena, SR_YAML_FLOAT, "", 0);
    CHECK(number);
    number->f = value;
    CHECK_OK(sr_yaml_put_path(&config->arena, config->tree, path, number));
}

// With a weight decay that multiplies the weights by 14 per step the baseline overflows within 16
// updates; at a tenth of the rate it does not. Only the baselines read the changed tree, so that
// the trained run itself does not diverge.
TEST(test_diverged_baseline) {
    Linear l;
    SrLinearReport r;
    SrText out = SR_TEXT_INIT;
    temp_dir_make(l.dir);
    CHECK_OK(start(&l, (const char *[]){"DATA.TRAIN.DROP_LAST=True"}, 1)); // 16 updates
    put(l.config, "OPTIMIZER.param_schedulers.lr.value", 15);
    put(l.config, "OPTIMIZER.weight_decay", 1);
    put(l.config, "OPTIMIZER.momentum", 0);
    CHECK_OK(sr_linear_report(l.run, &r));
    CHECK(r.has[SR_ROW_PIXELS] && r.has[SR_ROW_UNTRAINED] && r.rate[SR_ROW_TRAINED] == 0);
    CHECK_NEAR(r.rate[SR_ROW_UNTRAINED], 0.1, 0);
    CHECK_NEAR(r.rate[SR_ROW_PIXELS], 0, 0); // pixels are fitted by a solver
    sr_linear_report_print(&r, false, &out);
    CHECK(strstr(out.s, "(untrained, as drawn: diverged, so it learned at 0.1 of the rate)"));
    sr_text_deinit(&out);
    put(l.config, "OPTIMIZER.param_schedulers.lr.value", 1e6); // even a tenth of the rate diverges
    CHECK_FAILS(sr_linear_report(l.run, &r), SR_ERR_RUN, "untrained, as drawn: ");
    finish(&l);
    temp_dir_remove(l.dir);
}

TEST(test_refusals) {
    static const struct {
        const char *override, *message;
    } rows[] = {
        {"DATA.TRAIN.RANDOM_SYNTHETIC_LABELS=5", "has 5 classes, but output 0 of the model has 3"},
        {"METERS.accuracy_list_meter.topk_values=[]", "topk_values"},
    };
    for (int i = 0; i < SR_COUNT(rows); i++) {
        Linear l;
        temp_dir_make(l.dir);
        CHECK_FAILS(start(&l, &rows[i].override, 1), SR_ERR_CONFIG, rows[i].message);
        finish(&l);
        temp_dir_remove(l.dir);
    }
}

// An untrained trunk cannot be measured as a trained one because a key was forgotten. The trunk
// of raw pixels has no weights.
TEST(test_no_weights) {
    static const char *const needs[] = {"", "TEST_ONLY=True"};
    Linear l;
    char folder[96];
    temp_dir_make(l.dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", l.dir);
    for (int i = 0; i < SR_COUNT(needs); i++) {
        const char *overrides[] = {folder, needs[i]};
        CHECK_OK(sr_config_parse(text, "linear.yaml", overrides, 1 + i, &l.config));
        CHECK_FAILS(sr_train_run(l.config, &(SrTrainOptions){0}, &l.run, &l.result), SR_ERR_CONFIG,
                    "set MODEL.WEIGHTS_INIT.PARAMS_FILE");
        CHECK(strstr(sr_status_message(), "--random"));
        finish(&l);
    }
    const char *pixels[] = {
        folder, "OPTIMIZER.num_epochs=1", "MODEL.TRUNK.NAME=pixels",
        "MODEL.FEATURE_EVAL_SETTINGS.LINEAR_EVAL_FEAT_POOL_OPS_MAP=[[flatten, [Identity, []]]]",
        "MODEL.HEAD.PARAMS=[[mlp, {dims: [768, 3]}]]"};
    CHECK_OK(sr_config_parse(text, "linear.yaml", pixels, SR_COUNT(pixels), &l.config));
    CHECK_OK(sr_train_run(l.config, &(SrTrainOptions){0}, &l.run, &l.result));
    finish(&l);
    sr_log_close();
    temp_dir_remove(l.dir);
}

SR_TESTS(linear_probes, unit(test_kept_is_computed), unit(test_kept_from_shards), unit(test_resume),
         unit(test_stop_in_test_phase), unit(test_drawing_transforms), unit(test_trunk_stays),
         unit(test_phases), unit(test_report), unit(test_diverged_baseline), unit(test_refusals),
         unit(test_no_weights))
