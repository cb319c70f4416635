// Saves and loads small checkpoints for tests (small_checkpoint.h).
#include "tests/trainer/small_checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/text/yaml_load.h"
#include "tests/check.h"

SrParams *small_model(int width) {
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

float *small_weights(SrParams *params) { return sr_params_at(params, 0)->value; }

int64_t *small_counter(SrParams *params) { return sr_params_at(params, 2)->value; }

SrYaml *small_tree(SrArena *arena, const char *text) {
    SrYaml *out = NULL;
    CHECK_OK(sr_yaml_parse(arena, text, strlen(text), "test", &out));
    return out;
}

// Returns a position with ten updates per epoch and batches of 8 images, of the run with this
// name and start time.
SrPosition small_position(const char *run, int64_t started, int64_t epoch, int64_t iteration) {
    SrPosition at = {.run = {.started = started},
                     .epoch = epoch,
                     .batch = iteration - 10 * epoch,
                     .iteration = iteration,
                     .batch_size = 8,
                     .images = 80};
    snprintf(at.run.id, sizeof at.run.id, "%s", run);
    return at;
}
