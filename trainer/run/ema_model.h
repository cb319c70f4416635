// Keeps an averaged model (VISSL's HOOKS.EMA_MODEL; Polyak averaging): a copy e of trunk and
// heads that follows the model m:
//
//   e <- DECAY e + (1 - DECAY) m   every UPDATE_ITER updates; during the warm-up, e <- m
//
// The copy is in state entries "ema_model.<name>" of the parameter table, so that checkpoints
// hold it. Evaluation reads it with MODEL.WEIGHTS_INIT.REMOVE_PREFIX=ema_model.
#ifndef SR_TRAINER_RUN_EMA_MODEL_H
#define SR_TRAINER_RUN_EMA_MODEL_H

#include "graph/ir/params.h"
#include "trainer/config/config.h"

typedef struct {
    int n;
    int *from, *to; // (n) table indices.  n is 0: there is no averaged model
    SrEmaConfig config;
} SrEmaModel;

// Adds the entries if the configuration asks for them.  The table must not be allocated yet.
// Lists live in the arena.
SrStatus sr_ema_model_add(SrEmaModel *ema, SrParams *params, const SrEmaConfig *config,
                          SrArena *arena);
// Copies the model; call it once parameters have the values that the run begins with.
void sr_ema_model_start(const SrEmaModel *ema, SrParams *params);
// Follows the model after update number `iteration` (from 0) of max_iterations.  Allocates nothing.
void sr_ema_model_update(const SrEmaModel *ema, SrParams *params, int64_t iteration,
                         int64_t max_iterations);

#endif
