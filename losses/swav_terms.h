// What swav_loss and swav_momentum_loss share: codes by Sinkhorn-Knopp for the assign crops,
// swapped prediction of them from all other crops, averaged over assign crops and prototype sets
// (Caron et al. 2020, eqs. 1-5).
#ifndef SR_LOSSES_SWAV_TERMS_H
#define SR_LOSSES_SWAV_TERMS_H

#include "kernels/sinkhorn.h"
#include "losses/loss.h"
#include "losses/swav_queue.h"

typedef struct {
    double temperature, epsilon;
    int num_iters, num_crops, embedding_dim;
    SrInts crops_for_assign, num_prototypes;
    bool double_precision, normalize_last_layer;
    int queue_start_iter, local_queue_length;
} SrSwavOptions;

typedef struct {
    const char *name; // of the loss, for messages
    const SrSwavOptions *options;
    SrSinkhornParams sinkhorn; // everything but the queue
    // Scores the codes come from, one node a set, and whether its rows are of the assign crops
    // only.
    const SrNodeId *code_scores;
    bool assign_rows_only;
    const SrNodeId *scores; // predictions, rows of all crops, crop-major
} SrSwavTerms;

// The state both losses keep on the host side.
typedef struct {
    int n_sets, n_assign, batch, num_crops;
    const int *crops_for_assign;
    const int *num_prototypes; // (n_sets)
    bool normalize;
    int num_iteration; // table index: I64 (1)
    SrSwavQueue queue;
    SrPrototypes prototypes[SR_SWAV_MAX_SETS];
} SrSwavState;

// Checks options against the model's outputs; a mismatch is SR_ERR_CONFIG that names the key.
SrStatus sr_swav_check(SrLossContext *ctx, const char *name, const SrSwavOptions *options);
// State entries, and the prototypes under `prefix` where they are needed.
SrStatus sr_swav_state_build(SrLossContext *ctx, const SrSwavOptions *options, const char *prefix,
                             SrSwavState *state);
// The nodes from scores to the scalar loss.  Codes are nodes "codes<set>_<i>", i in order of
// crops_for_assign.
SrNodeId sr_swav_terms_build(SrLossContext *ctx, const SrSwavTerms *terms,
                             const SrSwavState *state);

int64_t *sr_swav_num_iteration(const SrSwavState *state, SrParams *params);
void sr_swav_facts(const SrSwavState *state, SrLossFacts *out);

#endif
