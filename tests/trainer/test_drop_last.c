// Tests DROP_LAST=False: losses that can train on the last partial batch, as PyTorch's loader
// gives it; the others refuse.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/checkpoint.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

#define TRUNK "  TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625, SMALL_IMAGE_STEM: true}}\n"
#define DATA(shape)                                                                         \
    "TEST_MODEL: False\n"                                                                   \
    "DATA:\n"                                                                               \
    "  NUM_DATALOADER_WORKERS: 1\n"                                                         \
    "  TRAIN:\n"                                                                            \
    "    DATA_SOURCES: [synthetic]\n"                                                       \
    "    LABEL_SOURCES: [synthetic]\n"                                                      \
    "    RANDOM_SYNTHETIC_IMAGES: True\n"                                                   \
    "    RANDOM_SYNTHETIC_LABELS: 3\n"                                                      \
    "    DEFAULT_GRAY_IMG_SIZE: 16\n"                                                       \
    "    TRANSFORMS: [{name: CenterCrop, size: 16}, {name: ToTensor}, {name: Normalize}]\n" \
    "METERS: {names: [accuracy_list_meter], enable_training_meter: True}\n"                 \
    "LOSS: {name: cross_entropy_multiple_output_single_target}\n"                           \
    "OPTIMIZER: {num_epochs: 3, param_schedulers: {lr: {name: constant, value: 0.05}}}\n"   \
    "MODEL:\n" shape TRUNK

// Two configurations: everything learns, or heads learn over a frozen trunk whose features are
// kept.
static const char all[] = DATA("") "  HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}\n";
static const char heads[] =
    DATA("  FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: True, "
         "SHOULD_FLATTEN_FEATS: False, LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res5avg, [Identity, "
         "[]]]]}\n") "  HEAD: {PARAMS: [[eval_mlp, {in_channels: 32, dims: [32, 3]}]]}\n";

typedef struct {
    char dir[64];
    SrConfig *config;
    SrRun *run;
    SrTrainResult result;
} Trained;

static SrStatus start(Trained *t, const char *text, int images, int batch, bool drop,
                      const char *more) {
    char over[4][96];
    const char *overrides[5] = {over[0], over[1], over[2], over[3], more};
    temp_dir_make(t->dir);
    snprintf(over[0], 96, "CHECKPOINT.DIR=%s", t->dir);
    snprintf(over[1], 96, "DATA.TRAIN.DATA_LIMIT=%d", images);
    snprintf(over[2], 96, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=%d", batch);
    snprintf(over[3], 96, "DATA.TRAIN.DROP_LAST=%s", drop ? "True" : "False");
    CHECK_OK(sr_config_parse(text, "drop.yaml", overrides, more ? 5 : 4, &t->config));
    return sr_train_run(t->config, &(SrTrainOptions){.random = true}, &t->run, &t->result);
}

static void finish(Trained *t) {
    sr_run_close(t->run);
    sr_config_free(t->config);
    sr_log_close();
    temp_dir_remove(t->dir);
}

static bool same(const Trained *a, const Trained *b) {
    SrParams *x = sr_model_params(a->run->model), *y = sr_model_params(b->run->model);
    CHECK_INT(sr_params_count(x), sr_params_count(y));
    bool equal = true;
    for (int i = 0; i < sr_params_count(x); i++) {
        const SrParam *p = sr_params_at(x, i), *q = sr_params_at(y, i);
        equal = equal && memcmp(p->value, q->value,
                                (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype)) == 0;
    }
    return equal;
}

// Epochs of six images with a batch size of eight equal those with a batch size of six, bit by
// bit.
TEST(test_partial_is_a_batch) {
    static const char *const texts[] = {all, heads, heads};
    static const char *const more[] = {NULL, NULL,
                                       "MODEL.FEATURE_EVAL_SETTINGS.CACHE_FEATURES=off"};
    for (int i = 0; i < 3; i++) {
        Trained a, b;
        CHECK_OK(start(&a, texts[i], 6, 8, false, more[i]));
        CHECK_OK(start(&b, texts[i], 6, 6, true, more[i]));
        CHECK_INT(a.result.iterations, 3);
        CHECK_INT(b.result.iterations, 3);
        CHECK(same(&a, &b));
        CHECK_NEAR(a.result.last_loss, b.result.last_loss, 0);
        finish(&b);
        finish(&a);
    }
}

// 22 images with a batch size of eight make three updates per epoch, or two without the last six;
// the models differ.
TEST(test_both_settings) {
    static const char *const texts[] = {all, heads};
    for (int i = 0; i < 2; i++) {
        Trained a, b;
        CHECK_OK(start(&a, texts[i], 22, 8, false, NULL));
        CHECK_OK(start(&b, texts[i], 22, 8, true, NULL));
        CHECK_INT(a.result.iterations, 9);
        CHECK_INT(b.result.iterations, 6);
        CHECK(!same(&a, &b));
        finish(&b);
        finish(&a);
    }
}

// The smallest and largest loss are those of one epoch, which here has one step.
TEST(test_loss_range_is_of_an_epoch) {
    Trained t;
    SrPosition at;
    char path[160];
    CHECK_OK(start(&t, all, 6, 6, true, NULL));
    CHECK_OK(sr_file_join(path, sizeof path, t.dir, "checkpoint.safetensors"));
    CHECK_OK(sr_checkpoint_position(path, &at));
    CHECK_INT(at.iteration, 3);
    CHECK_NEAR(at.loss_min, at.loss_sum, 0);
    CHECK_NEAR(at.loss_max, at.loss_sum, 0);
    finish(&t);
}

// The advice of each error works: with DROP_LAST=False the first one is gone. A batch of one
// image has no statistics.
TEST(test_refusals) {
    Trained t;
    CHECK_FAILS(start(&t, all, 6, 8, true, NULL), SR_ERR_CONFIG,
                "6 images do not fill one batch of 8: lower DATA.TRAIN.BATCHSIZE_PER_REPLICA to at "
                "most 6, or set DATA.TRAIN.DROP_LAST=False");
    finish(&t);
    CHECK_FAILS(start(&t, heads, 9, 8, false, NULL), SR_ERR_CONFIG,
                "DATA.TRAIN.DROP_LAST=False leaves a last batch of 1, so the batch norm");
    finish(&t);
}

// SwAV's queue takes full batches, and no error advises otherwise. SwAV without a queue trains on
// the last partial batch.
TEST(test_whole_batches) {
    SrConfig *config;
    SrSplit train;
    Trained t;
    const char *overrides[] = {"DATA.TRAIN.DATA_LIMIT=7", "DATA.TRAIN.DROP_LAST=False"};
    CHECK_OK(sr_config_load("tests/cli/tiny.yaml", overrides, 2, &config));
    CHECK_FAILS(sr_split_open_train(config, &train), SR_ERR_CONFIG,
                "BATCHSIZE_PER_REPLICA to at most 7");
    CHECK(!strstr(sr_status_message(), "DROP_LAST"));
    sr_config_free(config);
    char dir[96];
    temp_dir_make(t.dir);
    snprintf(dir, sizeof dir, "CHECKPOINT.DIR=%s", t.dir);
    const char *no_queue[] = {"DATA.TRAIN.DATA_LIMIT=14", // a batch of 8 and one of 6
                              "DATA.TRAIN.DROP_LAST=False", "LOSS.swav_loss.queue.queue_length=0",
                              "OPTIMIZER.num_epochs=2", dir};
    CHECK_OK(sr_config_load("tests/cli/tiny.yaml", no_queue, 5, &t.config));
    CHECK_OK(sr_train_run(t.config, &(SrTrainOptions){.random = true}, &t.run, &t.result));
    CHECK_INT(t.result.iterations, 4);
    CHECK(isfinite(t.result.last_loss));
    finish(&t);
}

SR_TESTS(drop_last, unit(test_partial_is_a_batch), unit(test_both_settings), unit(test_refusals),
         unit(test_loss_range_is_of_an_epoch), unit(test_whole_batches))
