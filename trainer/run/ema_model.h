// The averaged model (VISSL's HOOKS.EMA_MODEL; Polyak averaging): a copy of trunk and heads that follows the weights,
//
//   e <- DECAY e + (1 - DECAY) m   every UPDATE_ITER updates, behind a warm-up in which e is m.
//
// Its numbers are state entries "ema_model.<name>" of the parameter table, so that checkpoints hold them and a run that is
// resumed ends in the same bits.  Evaluation reads them with MODEL.WEIGHTS_INIT.REMOVE_PREFIX=ema_model.
#ifndef SR_TRAINER_RUN_EMA_MODEL_H
#define SR_TRAINER_RUN_EMA_MODEL_H

#include "graph/params.h"
#include "trainer/config/config.h"

typedef struct {
    int n;
    int *from, *to; // (n) table indices; n 0: there is none
    SrEmaConfig config;
} SrEmaModel;

// Adds the entries where the configuration asks for them; before the table is allocated.  Lists live in the arena.
SrStatus sr_ema_model_add(SrEmaModel *ema, SrParams *params, const SrEmaConfig *config,
                          SrArena *arena);
// Parameters have the values the run begins with.
void sr_ema_model_start(const SrEmaModel *ema, SrParams *params);
// After update number `iteration` (from 0) of max_iterations.  Allocates nothing.
void sr_ema_model_update(const SrEmaModel *ema, SrParams *params, int64_t iteration,
                         int64_t max_iterations);

#endif
