// A model of three entries, with configurations and positions, for the tests of checkpoints, run
// folders and positions.
#ifndef SR_TESTS_TRAINER_SMALL_CHECKPOINT_H
#define SR_TESTS_TRAINER_SMALL_CHECKPOINT_H

#include "base/text/yaml.h"
#include "graph/ir/params.h"
#include "trainer/run/position.h"

SrParams *
// Returns a weight (width, 5), a running_mean (width) and a counter, drawn and allocated.
small_model(int width);
float *small_weights(SrParams *params);
int64_t *small_counter(SrParams *params);
SrYaml *small_tree(SrArena *arena, const char *text);
SrPosition small_position(const char *run, int64_t started, int64_t epoch, int64_t iteration);

#endif
