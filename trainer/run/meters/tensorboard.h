// Writes a run's numbers for TensorBoard (HOOKS.TENSORBOARD_SETUP), under VISSL's tags, to
// <CHECKPOINT.DIR>/tb_logs.
#ifndef SR_TRAINER_RUN_METERS_TENSORBOARD_H
#define SR_TRAINER_RUN_METERS_TENSORBOARD_H

#include "formats/event_file.h"
#include "graph/ir/params.h"
#include "trainer/config/config.h"

#define SR_TENSORBOARD_DIR "tb_logs"

typedef struct {
    const SrTensorboardConfig *config;
    SrEventFile events; // closed: USE_TENSORBOARD is off
    double flushed;     // seconds on the clock at the last flush
} SrTensorboard;

typedef struct {
    int64_t iteration;
    double loss, lr, step_s, wait_share, images_per_s, grad_norm;
} SrTensorboardStep;

SrStatus sr_tensorboard_open(SrTensorboard *t, const SrConfig *config);
void sr_tensorboard_close(SrTensorboard *t);
void sr_tensorboard_step(SrTensorboard *t, const SrTensorboardStep *s);
// Writes a number of an epoch's end: "Testing/probe_knn_top1".
void sr_tensorboard_figure(SrTensorboard *t, int64_t iteration, const char *tag, double value);
// Call it after each update.  Writes the parameters every LOG_PARAMS_EVERY_N_ITERS updates.
void sr_tensorboard_params(SrTensorboard *t, int64_t iteration, SrParams *params);

#endif
