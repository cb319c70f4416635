// Tests supervised training on mixed images, end to end: mixup and CutMix with label smoothing,
// one and several replicas, meters by the heaviest class, and the smaller last batch of an epoch.
// Features of mixed images are not kept.
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/phases.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

// The images are noise, which is learned by heart; images of one colour per class would be
// learned within an epoch.
static const char text[] =
    "DATA:\n"
    "  NUM_DATALOADER_WORKERS: 2\n"
    "  TRAIN: &split\n"
    "    DATA_SOURCES: [synthetic]\n"
    "    LABEL_SOURCES: [synthetic]\n"
    "    LABEL_TYPE: standard\n"
    "    RANDOM_SYNTHETIC_IMAGES: True\n"
    "    RANDOM_SYNTHETIC_LABELS: 4\n"
    "    DEFAULT_GRAY_IMG_SIZE: 16\n"
    "    DATA_LIMIT: 52\n"
    "    BATCHSIZE_PER_REPLICA: 8\n"
    "    COLLATE_FUNCTION: cutmixup_collator\n"
    "    COLLATE_FUNCTION_PARAMS: {mixup_alpha: 0.1, cutmix_alpha: 0.1, mode: elem, num_classes: "
    "4,\n"
    "                              label_smoothing: 0.1}\n"
    "    TRANSFORMS: [{name: CenterCrop, size: 16}, {name: ToTensor}, {name: Normalize}]\n"
    "METERS: {names: [accuracy_list_meter], accuracy_list_meter: {topk_values: [1]}}\n"
    "TEST_MODEL: False\n"
    "MODEL:\n"
    "  TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625, SMALL_IMAGE_STEM: true}}\n"
    "  HEAD: {PARAMS: [[mlp, {dims: [32, 4]}]]}\n"
    "LOSS: {name: cross_entropy_multiple_output_single_target}\n"
    "OPTIMIZER: {num_epochs: 12, momentum: 0.9, param_schedulers: {lr: {name: constant, value: "
    "0.02}}}\n";

typedef struct {
    char dir[64], folder[96];
    SrConfig *config;
    SrRun *run;
    SrTrainResult result;
} Fixture;

static SrStatus train_three(Fixture *f, const char *a, const char *b, const char *c) {
    const char *all[4] = {f->folder, a, b ? b : c, b ? c : NULL};
    f->run = NULL;
    temp_dir_make(f->dir);
    snprintf(f->folder, sizeof f->folder, "CHECKPOINT.DIR=%s/run", f->dir);
    SR_TRY(sr_config_parse(text, "soft.yaml", all, 1 + !!a + !!b + !!c, &f->config));
    return sr_train_run(f->config, &(SrTrainOptions){.random = true}, &f->run, &f->result);
}

static SrStatus train(Fixture *f, const char *a, const char *b) {
    return train_three(f, a, b, NULL);
}

static void finish(Fixture *f) {
    sr_run_close(f->run);
    sr_config_free(f->config);
    sr_log_close();
    temp_dir_remove(f->dir);
}

// The smallest possible loss on mixed images is the entropy of a smoothed label of 4 classes.
static void learns(const char *replicas) {
    Fixture f;
    CHECK_OK(train(&f, replicas, NULL));
    CHECK(f.result.last_loss < 0.85 * f.result.first_loss);
    CHECK(f.result.last_loss > 0.3);
    CHECK_INT(f.run->graph.n_extras, 1);
    CHECK_INT(f.run->graph.labels, SR_NO_NODE);
    finish(&f);
}

TEST(test_learns) {
    learns("DISTRIBUTED.REPLICAS=1");
    learns("DISTRIBUTED.REPLICAS=2");
}

// Meters of training count against the heaviest class: top 1 is far above the chance of 25 %.
TEST(test_counts) {
    Fixture f;
    CHECK_OK(train(&f, "+DATA.TRAIN.COLLATE_FUNCTION_PARAMS.prob=0", "OPTIMIZER.num_epochs=6"));
    SrPhases phases;
    SrMeterValue v[SR_METER_MAX_VALUES];
    CHECK_OK(sr_phases_open(f.run, &phases));
    double wait;
    const int64_t *labels;
    bool end;
    double loss;
    CHECK_OK(sr_feed_start(&f.run->feed, 0, 0));
    for (int64_t at = 0; at < 6; at++) {
        SrStepArgs args = {.iteration = at};
        CHECK_OK(sr_run_load(f.run, at, &end, &labels, &wait));
        CHECK(!end);
        CHECK_OK(sr_step_run(sr_run_step_at(f.run, at), &args, &loss));
        sr_phases_count(&phases, f.run, at, 0, labels);
    }
    CHECK_INT(sr_meter_list_values(phases.train, 0, 0, v), 1);
    CHECK(v[0].value > 60);
    sr_phases_close(&phases);
    finish(&f);
}

// Merging halves the images, rounded up in the last batch; steps count loaded images.
TEST(test_merged) {
    Fixture f;
    CHECK_OK(train_three(&f, "DATA.TRAIN.COLLATE_FUNCTION=multicrop_mixup_collator",
                         "~DATA.TRAIN.COLLATE_FUNCTION_PARAMS", "OPTIMIZER.num_epochs=2"));
    CHECK_INT(f.run->batch, 4);
    CHECK_INT(f.run->tail.batch, 2); // 52 = 6 * 8 + 4
    CHECK_INT(f.run->steps_per_epoch, 7);
    CHECK_INT(f.result.steps, 14);
    finish(&f);
}

static void refused(const char *a, const char *b, const char *part) {
    Fixture f = {.config = NULL};
    CHECK_FAILS(train(&f, a, b), SR_ERR_CONFIG, part);
    finish(&f);
}

TEST(test_refusals) {
    refused("DATA.TRAIN.COLLATE_FUNCTION_PARAMS.num_classes=5", NULL, "num_classes is 5");
    refused("DATA.TRAIN.COLLATE_FUNCTION=mixup_collator", "~DATA.TRAIN.COLLATE_FUNCTION_PARAMS",
            "use cutmixup_collator");
    refused("LOSS.name=bce_logits_multiple_output_single_target", NULL, "needs labels of 1 and 0");
    refused("MODEL.FEATURE_EVAL_SETTINGS={EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: True, "
            "CACHE_FEATURES: memory, LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res5avg, [Identity, []]]]}",
            "MODEL.HEAD.PARAMS=[[mlp, {dims: [32, 4]}]]", "CACHE_FEATURES keeps the features");
}

SR_TESTS(soft_labels, unit(test_learns), unit(test_counts), unit(test_merged), unit(test_refusals))
