// Tests DISTILLATION.CACHED_VIEWS: a run that reads the teacher's outputs from a file ends in the
// bits of a run that asks the teacher in every step, also after a stop, with a damaged file, with
// several replicas and with a file of another student.
#include "trainer/run/teacher_cache.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/run.h"
#include "trainer/run/run_cost.h"
#include "trainer/train.h"

#define TRUNK(width) \
    "TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: " width ", SMALL_IMAGE_STEM: true}}"

static const char text[] =
    "DATA:\n"
    "  NUM_DATALOADER_WORKERS: 1\n"
    "  TRAIN:\n"
    "    DATA_SOURCES: [synthetic]\n"
    "    LABEL_SOURCES: [synthetic]\n"
    "    LABEL_TYPE: standard\n"
    "    RANDOM_SYNTHETIC_IMAGES: True\n"
    "    DEFAULT_GRAY_IMG_SIZE: 16\n"
    "    DATA_LIMIT: 28\n"
    "    BATCHSIZE_PER_REPLICA: 8\n"
    "    DROP_LAST: False\n"
    "    TRANSFORMS: [{name: RandomResizedCrop, size: 16}, {name: ToTensor}, {name: Normalize}]\n"
    "TEST_MODEL: False\n"
    "MODEL: {" TRUNK(
        "0.0625") ", HEAD: {PARAMS: [[identity, {}]]}}\n"
                  "DISTILLATION: {CACHED_VIEWS: 2, TEACHER_MODEL: {" TRUNK(
                      "0.125") "}}\n"
                               "LOSS: {name: feature_distillation_loss, "
                               "feature_distillation_loss: {queue_size: 12}}\n"
                               "OPTIMIZER: {num_epochs: 5, momentum: 0.9, param_schedulers: {lr: "
                               "{name: constant, value: 0.02}}}\n";

static char dir[64];

typedef struct {
    SrConfig *config;
    SrRun *run;
} Trained;

static int stop_after(void *arg) { return --*(int *)arg == 0 ? 2 : 0; }

// Trains into dir/folder.  more: (n) overrides.  stop: steps after which the run stops; 0: never.
static SrStatus train(Trained *t, const char *folder, const char *const *more, int n, int stop) {
    const char *all[10];
    char at[128];
    SrTrainResult result;
    SrTrainOptions options = {.random = true, .stop = stop ? stop_after : NULL, .stop_arg = &stop};
    stop++; // the question before the first step
    snprintf(at, sizeof at, "CHECKPOINT.DIR=%s/%s", dir, folder);
    all[0] = at;
    for (int i = 0; i < n; i++)
        all[1 + i] = more[i];
    *t = (Trained){NULL, NULL};
    SR_TRY(sr_config_parse(text, "cache.yaml", all, 1 + n, &t->config));
    return sr_train_run(t->config, &options, &t->run, &result);
}

static void finish(Trained *t) {
    sr_run_close(t->run);
    sr_config_free(t->config);
    sr_log_close();
}

static void check_same(const Trained *a, const Trained *b) {
    SrParams *x = sr_model_params(a->run->model), *y = sr_model_params(b->run->model);
    CHECK_INT(sr_params_count(x), sr_params_count(y));
    for (int i = 0; i < sr_params_count(x); i++) {
        const SrParam *p = sr_params_at(x, i), *q = sr_params_at(y, i);
        CHECK_STR(p->name, q->name);
        if (memcmp(p->value, q->value,
                   (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype)) != 0)
            fail_msg("%s differs", p->name);
    }
}

// Trains the same run without a file and with one, and compares all bits.
static void check_exact(const char *const *more, int n) {
    const char *off[8] = {"DISTILLATION.CACHE=off"};
    Trained asked, cached;
    for (int i = 0; i < n; i++)
        off[1 + i] = more[i];
    CHECK_OK(train(&asked, "asked", off, 1 + n, 0));
    CHECK(!asked.run->teacher_cache && asked.run->teacher.plan);
    CHECK_OK(train(&cached, "cached", more, n, 0));
    CHECK(cached.run->teacher_cache);
    int64_t batches = cached.run->steps_per_epoch * cached.config->replicas;
    CHECK_INT(sr_teacher_cache_written(cached.run->teacher_cache), 2 * batches);
    check_same(&asked, &cached);
    finish(&asked);
    finish(&cached);
}

TEST(test_exact) {
    temp_dir_make(dir);
    check_exact(NULL, 0);
    temp_dir_remove(dir);
}

TEST(test_replicas) {
    const char *more[] = {"DISTRIBUTED.REPLICAS=3"};
    temp_dir_make(dir);
    check_exact(more, 1);
    temp_dir_remove(dir);
}

TEST(test_bfloat16) {
    const char *more[] = {"MODEL.AMP_PARAMS.USE_AMP=True"};
    temp_dir_make(dir);
    check_exact(more, 1);
    temp_dir_remove(dir);
}

// Scores of heads, labels, and a loss whose rows are independent.
TEST(test_scores) {
    const char *more[] = {"LOSS.name=distillation_loss", "DATA.TRAIN.RANDOM_SYNTHETIC_LABELS=4",
                          "MODEL.HEAD.PARAMS=[[mlp, {dims: [32, 4]}]]",
                          "+DISTILLATION.TEACHER_MODEL.HEAD={PARAMS: [[mlp, {dims: [64, 4]}]]}",
                          "DISTRIBUTED.REPLICAS=2"};
    temp_dir_make(dir);
    check_exact(more, 5);
    temp_dir_remove(dir);
}

// The teacher sees the views at another size.
TEST(test_input_size) {
    const char *more[] = {"DISTILLATION.TEACHER_INPUT_SIZE=24", "DISTRIBUTED.REPLICAS=2"};
    temp_dir_make(dir);
    check_exact(more, 1);
    temp_dir_remove(dir);
    temp_dir_make(dir);
    check_exact(more, 2);
    temp_dir_remove(dir);
}

// Cosines between patches, or the patches where these are fewer numbers; images are mixed.
TEST(test_patches) {
    const char *more[] = {"LOSS.name=patch_distillation_loss",
                          "+LOSS.patch_distillation_loss={queue_size: 12}",
                          "DATA.TRAIN.COLLATE_FUNCTION=mixup_collator",
                          "DISTILLATION.TEACHER_INPUT_SIZE=72", "DISTRIBUTED.REPLICAS=3"};
    for (int n = 3; n <= 5; n++) {
        temp_dir_make(dir);
        check_exact(more, n);
        temp_dir_remove(dir);
    }
}

// Checks the size that `check` reports: 64 bytes, and for each of 2 epochs of 4 batches 16 bytes
// and 8 x `each` numbers of 2 bytes, rounded up to 64.
static void check_size(const char *const *more, int n, int each) {
    SrConfig *config;
    SrRun *run;
    SrText out = SR_TEXT_INIT;
    CHECK_OK(sr_config_parse(text, "cache.yaml", more, n, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_CHECK, &run));
    CHECK_INT(run->cost.teacher_file_bytes, 64 + 2 * 4 * ((16 + 8 * each * 2 + 63) / 64 * 64));
    sr_run_cost_text(run, &out);
    CHECK(strstr(out.s, "file of the teacher's outputs"));
    sr_text_deinit(&out);
    sr_run_close(run);
    sr_config_free(config);
}

// Maps of the last two blocks of a transformer, which has a grid of its own, or of a ResNet.
TEST(test_maps) {
    const char *more[] = {
        "LOSS.name=dense_distillation_loss", "DATA.TRAIN.COLLATE_FUNCTION=mixup_collator",
        "DISTRIBUTED.REPLICAS=2",
        "DISTILLATION.TEACHER_MODEL.TRUNK={NAME: vision_transformer, VISION_TRANSFORMERS: "
        "{IMAGE_SIZE: 16, PATCH_SIZE: 4, NUM_LAYERS: 3, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: "
        "32}}"};
    for (int n = 2; n <= 4; n++) {
        temp_dir_make(dir);
        check_exact(more, n);
        temp_dir_remove(dir);
    }
    check_size(more, 1, 2 * 2 * 64);
    more[2] = more[3];
    check_size(more, 3, 16 * 2 * 16);
}

// The views of epoch 2 are those of epoch 0, so that a period of 5 epochs gives other numbers.
TEST(test_views_repeat) {
    const char *more[] = {"DISTILLATION.CACHED_VIEWS=5"};
    Trained two, five;
    temp_dir_make(dir);
    CHECK_OK(train(&two, "two", NULL, 0, 0));
    CHECK_OK(train(&five, "five", more, 1, 0));
    SrParams *x = sr_model_params(two.run->model), *y = sr_model_params(five.run->model);
    int at = sr_params_find(x, "loss.queue");
    CHECK(memcmp(sr_params_at(x, at)->value, sr_params_at(y, at)->value, 64) != 0);
    finish(&two);
    finish(&five);
    temp_dir_remove(dir);
}

static void flip(const char *name, size_t at) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r+b");
    CHECK(f && fseek(f, (long)at, SEEK_SET) == 0);
    int c = fgetc(f);
    CHECK(fseek(f, (long)at, SEEK_SET) == 0 && fputc(c ^ 1, f) != EOF);
    CHECK_INT(fclose(f), 0);
}

// A run that stops three times, within epochs, and finds a damaged record each time.
TEST(test_stop_and_damage) {
    const char *off[] = {"DISTILLATION.CACHE=off"};
    Trained whole, part;
    temp_dir_make(dir);
    CHECK_OK(train(&whole, "whole", off, 1, 0));
    for (int i = 0; i < 3; i++) {
        SrStatus status = train(&part, "part", NULL, 0, 3 + i);
        CHECK(status == SR_ERR_INTERRUPT);
        finish(&part);
        flip("part/teacher_outputs.cache", 64 + 16 + 5); // a number of the first record
    }
    CHECK_OK(train(&part, "part", NULL, 0, 0));
    check_same(&whole, &part);
    finish(&whole);
    finish(&part);
    temp_dir_remove(dir);
}

// A student of another width reads the file of the first, and its teacher never runs.
TEST(test_shared) {
    char file[160];
    Trained first, second, asked;
    temp_dir_make(dir);
    snprintf(file, sizeof file, "DISTILLATION.CACHE_FILE=%s/shared.cache", dir);
    const char *one[] = {file};
    const char *other[] = {file, "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=0.1875"};
    const char *off[] = {"DISTILLATION.CACHE=off", other[1]};
    CHECK_OK(train(&first, "first", one, 1, 0));
    CHECK_OK(train(&second, "second", other, 2, 0));
    CHECK(!second.run->teacher.plan && !second.run->tail.teacher.plan);
    CHECK_OK(train(&asked, "asked", off, 2, 0));
    check_same(&second, &asked);
    finish(&first);
    finish(&second);
    finish(&asked);
    const char *batch[] = {file, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=7"};
    CHECK_FAILS(train(&first, "third", batch, 2, 0), SR_ERR_CONFIG,
                "outputs of another teacher, or for other images, views or batches");
    finish(&first);
    const char *seed[] = {file, "SEED_VALUE=3"};
    CHECK_FAILS(train(&first, "fourth", seed, 2, 0), SR_ERR_CONFIG, "name another file");
    finish(&first);
    const char *size[] = {file, "DISTILLATION.TEACHER_INPUT_SIZE=24"};
    CHECK_FAILS(train(&first, "larger", size, 2, 0), SR_ERR_CONFIG, "name another file");
    finish(&first);
    flip("shared.cache", 30); // the fingerprint
    CHECK_FAILS(train(&first, "fifth", one, 1, 0), SR_ERR_IO, "the header is damaged");
    finish(&first);
    flip("shared.cache", 2);
    CHECK_FAILS(train(&first, "sixth", one, 1, 0), SR_ERR_IO,
                "is not a file of a teacher's outputs");
    finish(&first);
    temp_dir_remove(dir);
}

// The run's own file follows the run: after --restart with other batches it is written again.
TEST(test_own_file_is_renewed) {
    const char *batch[] = {"DATA.TRAIN.BATCHSIZE_PER_REPLICA=7", "OPTIMIZER.num_epochs=6"};
    Trained t;
    temp_dir_make(dir);
    CHECK_OK(train(&t, "own", NULL, 0, 0));
    finish(&t);
    CHECK_OK(train(&t, "own", batch, 2, 0));
    CHECK(t.run->teacher_cache);
    finish(&t);
    temp_dir_remove(dir);
}

// The teacher has 64 channels, on 2 x 2 patches of 16 pixels and 9 x 9 of 72.
TEST(test_size) {
    const char *more[] = {"LOSS.name=patch_distillation_loss",
                          "DISTILLATION.TEACHER_INPUT_SIZE=72"};
    check_size(NULL, 0, 64);
    check_size(more, 1, 64 + 4 * 4);
    check_size(more, 2, 64 + 81 * 64);
}

TEST(test_records) {
    char path[96];
    SrTeacherCache *c;
    SrTeacherCacheForm form = {.fingerprint = 7, .epochs = 2, .batches = 3, .values = 5};
    const uint16_t values[] = {1, 2, 3, 4, 5};
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/c", dir);
    CHECK_OK(sr_teacher_cache_open(path, &form, false, &c));
    CHECK(!sr_teacher_cache_find(c, 1, 2, 5));
    sr_teacher_cache_put(c, 1, 2, values, 5);
    sr_teacher_cache_put(c, 0, 2, values, 3);
    CHECK(!sr_teacher_cache_find(c, 0, 2, 5)); // another number of values
    CHECK(memcmp(sr_teacher_cache_find(c, 0, 2, 3), values, 6) == 0);
    CHECK_INT(sr_teacher_cache_written(c), 2);
    sr_teacher_cache_close(c);
    CHECK_OK(sr_teacher_cache_open(path, &form, false, &c));
    CHECK(memcmp(sr_teacher_cache_find(c, 1, 2, 5), values, sizeof values) == 0);
    CHECK(!sr_teacher_cache_find(c, 1, 1, 5));
    CHECK(!sr_teacher_cache_find(c, 2, 0, 5) && !sr_teacher_cache_find(c, 0, 3, 5));
    sr_teacher_cache_close(c);
    temp_dir_remove(dir);
}

SR_TESTS(teacher_cache, unit(test_exact), unit(test_replicas), unit(test_bfloat16),
         unit(test_scores), unit(test_input_size), unit(test_patches), unit(test_maps),
         unit(test_views_repeat), unit(test_stop_and_damage), unit(test_shared),
         unit(test_own_file_is_renewed), unit(test_size), unit(test_records))
