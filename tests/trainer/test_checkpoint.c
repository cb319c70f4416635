// Tests checkpoint files: a round trip with equal bits, every kind of damage, a checkpoint of
// another model.
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/comma_locale.h"
#include "tests/temp_dir.h"
#include "tests/trainer/small_checkpoint.h"
#include "trainer/run/checkpoint.h"

static void round_trip(void) {
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    SrArena arena = SR_ARENA_INIT;
    SrParams *a = small_model(4), *b = small_model(4);
    const SrYaml *config = small_tree(
        &arena,
        "SEED_VALUE: 3\nLOG_FREQUENCY: 10\nOPTIMIZER: {num_epochs: 2, weight_decay: 1.0e-4}\n");
    SrPosition at = {.run = {"0123456789abcdef", 1700000000000},
                     .kernels = "avx512_bf16",
                     .stopped = true,
                     .epoch = 3,
                     .batch = 17,
                     .iteration = 1234567890123,
                     .loss_sum = 0.1,
                     .loss_min = -2.5,
                     .loss_max = 1e300,
                     .best = 41.5},
               back;
    small_weights(a)[3] = 1.0e-40f; // a denormal number must come back with the same bits
    *small_counter(a) = INT64_MAX - 1;
    memset(small_weights(b), 0, 20 * sizeof(float));
    CHECK_OK(sr_checkpoint_save(path, &(SrCheckpointParts){a, NULL, config}, &at));
    CHECK_OK(sr_checkpoint_load(path, &(SrCheckpointParts){b, NULL, config}, &back));
    CHECK(memcmp(small_weights(a), small_weights(b), 20 * sizeof(float)) == 0);
    CHECK_INT(*small_counter(b), INT64_MAX - 1);
    CHECK(back.epoch == 3 && back.batch == 17 && back.iteration == 1234567890123 && !back.finished);
    CHECK_STR(back.run.id, at.run.id);
    CHECK_STR(back.kernels, at.kernels);
    CHECK(back.run.started == 1700000000000 && back.stopped);
    CHECK(back.loss_sum == 0.1 && back.loss_min == -2.5 && back.loss_max == 1e300);
    CHECK(back.best == 41.5); // a worse model must not replace model_best after a resume
    CHECK_OK(sr_checkpoint_position(path, &back));
    CHECK_INT(back.batch, 17);

    SrText changes = SR_TEXT_INIT;
    CHECK_OK(sr_checkpoint_changes(path, config, &changes));
    CHECK_INT(changes.len, 0);
    const SrYaml *other = small_tree(
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

TEST(test_round_trip) { round_trip(); }

// With a decimal comma in the locale, metadata and configuration are still written and read with
// points.
TEST(test_decimal_comma) {
    comma_locale_set();
    round_trip();
}

// Overwrites a file directly: sr_file_write would wait for the disk a thousand times.
static void overwrite(const char *path, const char *data, size_t n) {
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(data, 1, n, f) == n && fclose(f) == 0);
}

// Each cut and each flipped byte is noticed, and leaves the model unchanged.
TEST(test_damage) {
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    SrParams *a = small_model(4), *b = small_model(4);
    SrPosition at = {.iteration = 5}, back;
    SrCheckpointParts from = {a, NULL, NULL}, to = {b, NULL, NULL};
    for (int i = 0; i < 20; i++)
        small_weights(a)[i] += 1;
    CHECK_OK(sr_checkpoint_save(path, &from, &at));
    float before[20];
    memcpy(before, small_weights(b), sizeof before);
    char *data;
    size_t n;
    CHECK_OK(sr_file_read(path, 1 << 20, &data, &n));
    int untouched = 0;
    for (size_t i = 0; i < n; i++) {
        data[i] = (char)(data[i] ^ 0x20);
        overwrite(path, data, n);
        SrStatus status = sr_checkpoint_load(path, &to, &back);
        data[i] = (char)(data[i] ^ 0x20);
        // Padding between tensors and blanks after the header carry no data; the case of "F32"
        // does.
        if (status == SR_OK) {
            untouched++;
            CHECK_INT(back.iteration, 5);
            CHECK(memcmp(small_weights(a), small_weights(b), sizeof before) == 0);
            memcpy(small_weights(b), before, sizeof before);
        }
        CHECK(memcmp(small_weights(b), before, sizeof before) == 0);
    }
    CHECK(untouched < 200);
    for (size_t cut = 0; cut < n; cut += cut < 64 ? 1 : 37) {
        overwrite(path, data, cut);
        CHECK_FAILS(sr_checkpoint_load(path, &to, &back), SR_ERR_IO, "");
        CHECK(memcmp(small_weights(b), before, sizeof before) == 0);
    }
    sr_free(data);
    sr_params_free(a);
    sr_params_free(b);
    temp_dir_remove(dir);
}

TEST(test_other_model) {
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
    // A file of weights alone is no checkpoint.
    const SrNamedTensor t = {"x", {SR_SHAPE(2), SR_F32, small_weights(a)}};
    CHECK_OK(sr_safetensors_save(path, &t, 1, NULL, NULL, 0));
    CHECK_FAILS(sr_checkpoint_load(path, &to, &at), SR_ERR_CONFIG, "PARAMS_FILE");
    CHECK(!sr_params_nonfinite(a));
    small_weights(a)[2] = INFINITY;
    CHECK_STR(sr_params_nonfinite(a), "trunk._feature_blocks.conv1.weight");
    sr_params_free(a);
    sr_params_free(b);
    temp_dir_remove(dir);
}

SR_TESTS(checkpoint, unit(test_round_trip), unit(test_decimal_comma), unit(test_damage),
         unit(test_other_model))
