// Configurations by which the program trains an example of any loss, for tests of whole runs.
#ifndef SR_TESTS_CLI_LOSS_RUN_H
#define SR_TESTS_CLI_LOSS_RUN_H

#include "losses/loss.h"

typedef struct {
    int steps, replicas, images; // steps of the run, replicas per step, images per replica
} LossRun;

// Writes a configuration to `path`: noise images with labels, a ResNet-18 of a sixteenth of the
// width unless the example names a trunk, one epoch with a checkpoint after each step.
void loss_run_config(const char *path, const SrLoss *loss, const SrLossExample *e, LossRun run);

// Checks the numbers that a finished run leaves in its CHECKPOINT.DIR: every loss in stdout.json
// and every float of the newest checkpoint is finite. Returns the number of losses.
int loss_run_check_numbers(const char *run);

#endif
