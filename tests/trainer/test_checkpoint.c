// Checkpoint files and the run folder: round trip in bits, every kind of damage, another model,
// resume and pruning.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/run_folder.h"

// ---- a small model ------------------------------------------------------------------------------

static SrParams *small_model(int width) {
    SrParams *params;
    int index;
    const SrInit normal = {SR_INIT_NORMAL, 1.0}, zero = {SR_INIT_CONSTANT, 0};
    const SrSlot weight = {"weight",      SR_SHAPE(width, 5), SR_F32,
                           SR_SLOT_PARAM, SR_ROLE_WEIGHT,     normal};
    const SrSlot mean = {"running_mean", SR_SHAPE(width), SR_F32,
                         SR_SLOT_STATE,  SR_ROLE_OTHER,   normal};
    const SrSlot count = {"num_batches_tracked", SR_SCALAR,     SR_I64,
                          SR_SLOT_STATE,         SR_ROLE_OTHER, zero};
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_params_add(params, "trunk._feature_blocks.conv1.weight", &weight, &index));
    CHECK_OK(sr_params_add(params, "trunk._feature_blocks.bn1.running_mean", &mean, &index));
    CHECK_OK(
        sr_params_add(params, "trunk._feature_blocks.bn1.num_batches_tracked", &count, &index));
    CHECK_OK(sr_params_allocate(params));
    sr_params_init(params, 7);
    return params;
}

static float *weights(SrParams *params) { return sr_params_at(params, 0)->value; }

static int64_t *counter(SrParams *params) { return sr_params_at(params, 2)->value; }

static SrYaml *tree(SrArena *arena, const char *text) {
    SrYaml *out = NULL;
    CHECK_OK(sr_yaml_parse(arena, text, strlen(text), "test", &out));
    return out;
}

// ---- files --------------------------------------------------------------------------------------

static void test_round_trip(void **state) {
    (void)state;
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    SrArena arena = SR_ARENA_INIT;
    SrParams *a = small_model(4), *b = small_model(4);
    const SrYaml *config = tree(
        &arena,
        "SEED_VALUE: 3\nLOG_FREQUENCY: 10\nOPTIMIZER: {num_epochs: 2, weight_decay: 1.0e-4}\n");
    SrPosition at = {.epoch = 3,
                     .batch = 17,
                     .iteration = 1234567890123,
                     .loss_sum = 0.1,
                     .loss_max = 1e300},
               back;
    weights(a)[3] = 1.0e-40f; // denormal: bits, not numbers, come back
    *counter(a) = INT64_MAX - 1;
    memset(weights(b), 0, 20 * sizeof(float));
    CHECK_OK(sr_checkpoint_save(path, &(SrCheckpointParts){a, NULL, config}, &at));
    CHECK_OK(sr_checkpoint_load(path, &(SrCheckpointParts){b, NULL, config}, &back));
    CHECK(memcmp(weights(a), weights(b), 20 * sizeof(float)) == 0);
    CHECK_INT(*counter(b), INT64_MAX - 1);
    CHECK(back.epoch == 3 && back.batch == 17 && back.iteration == 1234567890123 && !back.finished);
    CHECK(back.loss_sum == 0.1 && back.loss_max == 1e300);
    CHECK_OK(sr_checkpoint_position(path, &back));
    CHECK_INT(back.batch, 17);

    SrText changes = SR_TEXT_INIT;
    CHECK_OK(sr_checkpoint_changes(path, config, &changes));
    CHECK_INT(changes.len, 0);
    const SrYaml *other = tree(
        &arena, "SEED_VALUE: 4\nLOG_FREQUENCY: 5\nOPTIMIZER: {num_epochs: 2, nesterov: true}\n");
    CHECK_OK(sr_checkpoint_changes(path, other, &changes));
    CHECK_STR(changes.s, "SEED_VALUE: 3 -> 4, OPTIMIZER.nesterov: (none) -> true, "
                         "OPTIMIZER.weight_decay: 0.0001 -> (none)");
    sr_text_deinit(&changes);
    sr_params_free(a);
    sr_params_free(b);
    sr_arena_deinit(&arena);
    temp_dir_remove(dir);
}

// Plain writing: sr_file_write waits for the disk, a thousand times over.
static void overwrite(const char *path, const char *data, size_t n) {
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(data, 1, n, f) == n && fclose(f) == 0);
}

// Each cut and each flipped byte must be noticed, and must leave the model as it was.
static void test_damage(void **state) {
    (void)state;
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    SrParams *a = small_model(4), *b = small_model(4);
    SrPosition at = {.iteration = 5}, back;
    SrCheckpointParts from = {a, NULL, NULL}, to = {b, NULL, NULL};
    for (int i = 0; i < 20; i++)
        weights(a)[i] += 1;
    CHECK_OK(sr_checkpoint_save(path, &from, &at));
    float before[20];
    memcpy(before, weights(b), sizeof before);
    char *data;
    size_t n;
    CHECK_OK(sr_file_read(path, 1 << 20, &data, &n));
    int untouched = 0;
    for (size_t i = 0; i < n; i++) {
        data[i] = (char)(data[i] ^ 0x20);
        overwrite(path, data, n);
        SrStatus status = sr_checkpoint_load(path, &to, &back);
        data[i] = (char)(data[i] ^ 0x20);
        // Padding between tensors and blanks after the header carry nothing; letter case in "F32"
        // does.
        if (status == SR_OK) {
            untouched++;
            CHECK_INT(back.iteration, 5);
            CHECK(memcmp(weights(a), weights(b), sizeof before) == 0);
            memcpy(weights(b), before, sizeof before);
        }
        CHECK(memcmp(weights(b), before, sizeof before) == 0);
    }
    CHECK(untouched < 200);
    for (size_t cut = 0; cut < n; cut += cut < 64 ? 1 : 37) {
        overwrite(path, data, cut);
        CHECK_FAILS(sr_checkpoint_load(path, &to, &back), SR_ERR_IO, "");
        CHECK(memcmp(weights(b), before, sizeof before) == 0);
    }
    sr_free(data);
    sr_params_free(a);
    sr_params_free(b);
    temp_dir_remove(dir);
}

static void test_other_model(void **state) {
    (void)state;
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    SrParams *a = small_model(4), *b = small_model(6);
    SrPosition at = {.iteration = 5};
    CHECK_OK(sr_checkpoint_save(path, &(SrCheckpointParts){a, NULL, NULL}, &at));
    SrCheckpointParts to = {b, NULL, NULL};
    CHECK_FAILS(
        sr_checkpoint_load(path, &to, &at), SR_ERR_CONFIG,
        "2 tensors differ: trunk._feature_blocks.conv1.weight: checkpoint [4, 5], model [6, 5]; "
        "trunk._feature_blocks.bn1.running_mean: checkpoint [4], model [6]");
    // Bare weights are no checkpoint.
    const SrNamedTensor t = {"x", {SR_SHAPE(2), SR_F32, weights(a)}};
    CHECK_OK(sr_safetensors_save(path, &t, 1, NULL, NULL, 0));
    CHECK_FAILS(sr_checkpoint_load(path, &to, &at), SR_ERR_CONFIG, "PARAMS_FILE");
    CHECK(!sr_params_nonfinite(a));
    weights(a)[2] = INFINITY;
    CHECK_STR(sr_params_nonfinite(a), "trunk._feature_blocks.conv1.weight");
    sr_params_free(a);
    sr_params_free(b);
    temp_dir_remove(dir);
}

// ---- the folder ---------------------------------------------------------------------------------

static void save_at(const SrCheckpointConfig *c, SrParams *p, SrCheckpointKind kind, int64_t epoch,
                    int64_t iteration) {
    SrPosition at = {
        .epoch = epoch, .iteration = iteration, .finished = kind == SR_CHECKPOINT_FINAL};
    weights(p)[0] = (float)iteration;
    CHECK_OK(sr_folder_save(c, kind, &(SrCheckpointParts){p, NULL, NULL}, &at, NULL, 0));
}

static void damage(const char *path) {
    char *data;
    size_t n;
    CHECK_OK(sr_file_read(path, 1 << 20, &data, &n));
    data[n - 1] ^= 1;
    CHECK_OK(sr_file_write(path, data, n));
    sr_free(data);
}

static void test_folder(void **state) {
    (void)state;
    char dir[64], path[256], used[256], target[128] = "";
    temp_dir_make(dir);
    SrParams *p = small_model(4);
    SrCheckpointParts parts = {p, NULL, NULL};
    SrCheckpointConfig c = {.dir = dir, .auto_resume = true, .keep_last = 3};
    SrPosition at;
    SrResume how;
    CHECK_FAILS(sr_folder_newest(dir, path, sizeof path), SR_ERR_CONFIG, "no checkpoint");
    CHECK_OK(sr_folder_resume(&c, &parts, 100, &at, &how, used, sizeof used));
    CHECK_INT(how, SR_RESUME_FRESH);
    // Ten phases of one epoch each; names sort 10 before 2, iterations do not.
    for (int i = 1; i <= 10; i++)
        save_at(&c, p, SR_CHECKPOINT_PHASE, i, 10 * i);
    save_at(&c, p, SR_CHECKPOINT_ITERATION, 10, 105);
    SrFolderEntry *entries;
    int n;
    CHECK_OK(sr_folder_list(dir, &entries, &n));
    CHECK_INT(n, 3);
    CHECK_STR(entries[0].name, "model_iteration105.safetensors");
    CHECK_STR(entries[1].name, "model_phase9.safetensors");
    CHECK_STR(entries[2].name, "model_phase8.safetensors");
    sr_free(entries);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", dir);
    CHECK(readlink(path, target, sizeof target - 1) > 0);
    CHECK_STR(target, "model_iteration105.safetensors");

    weights(p)[0] = 0;
    CHECK_OK(sr_folder_resume(&c, &parts, 200, &at, &how, used, sizeof used));
    CHECK_INT(how, SR_RESUME_CONTINUE);
    CHECK_INT(at.iteration, 105);
    CHECK_NEAR(weights(p)[0], 105, 0);
    // The newest is damaged: the one before serves.
    snprintf(path, sizeof path, "%s/model_iteration105.safetensors", dir);
    damage(path);
    CHECK_OK(sr_folder_resume(&c, &parts, 200, &at, &how, used, sizeof used));
    CHECK_INT(at.iteration, 100);
    CHECK_NEAR(weights(p)[0], 100, 0);
    sr_params_free(p);
    temp_dir_remove(dir);
}

static void test_finished(void **state) {
    (void)state;
    char dir[64], used[256];
    temp_dir_make(dir);
    SrParams *p = small_model(4);
    SrCheckpointParts parts = {p, NULL, NULL};
    SrCheckpointConfig c = {.dir = dir, .auto_resume = true};
    SrPosition at;
    SrResume how;
    save_at(&c, p, SR_CHECKPOINT_PHASE, 1, 10);
    save_at(&c, p, SR_CHECKPOINT_FINAL, 2, 20);
    CHECK_OK(sr_folder_resume(&c, &parts, 20, &at, &how, used, sizeof used));
    CHECK_INT(how, SR_RESUME_FINISHED);
    // More epochs than it had: it goes on.
    CHECK_OK(sr_folder_resume(&c, &parts, 40, &at, &how, used, sizeof used));
    CHECK_INT(how, SR_RESUME_CONTINUE);
    CHECK_INT(at.iteration, 20);
    c.overwrite_existing = true;
    CHECK_OK(sr_folder_resume(&c, &parts, 20, &at, &how, used, sizeof used));
    CHECK_INT(how, SR_RESUME_CONTINUE);
    CHECK_INT(at.iteration, 10);
    c.auto_resume = false;
    CHECK_OK(sr_folder_resume(&c, &parts, 20, &at, &how, used, sizeof used));
    CHECK_INT(how, SR_RESUME_FRESH);
    sr_params_free(p);
    temp_dir_remove(dir);
}

SR_TESTS(checkpoint, unit(test_round_trip), unit(test_damage), unit(test_other_model),
         unit(test_folder), unit(test_finished))
