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
    int queue_length, queue_start_iter, local_queue_length;
    int sinkhorn;
} SrSwavOptions;

typedef struct {
    const SrSwavOptions *options;
    SrSinkhornParams sinkhorn; // everything but the queue
    // Scores the codes come from, one node a set, and whether its rows are of the assign crops
    // only.
    SrNodeId code_scores[SR_SWAV_MAX_SETS];
    bool assign_rows_only;
    SrNodeId scores[SR_SWAV_MAX_SETS]; // predictions, rows of all crops, crop-major
} SrSwavTerms;

// The state both losses keep on the host side.
typedef struct {
    int n_sets, n_assign, batch, replicas, num_crops; // batch: of all replicas
    const int *crops_for_assign;
    const int *num_prototypes; // (n_sets)
    bool normalize;
    int num_iteration; // table index: I64 (1)
    SrSwavQueue queue;
    SrPrototypes prototypes[SR_SWAV_MAX_SETS];
} SrSwavState;

// The key rows of both losses' option tables, whose params begin with a SrSwavOptions.
#define SR_SWAV_FIELD(f) offsetof(SrSwavOptions, f)
// clang-format off
#define SR_SWAV_OPTION_ROWS                                                                        \
    {"embedding_dim", SR_OPT_INT, SR_SWAV_FIELD(embedding_dim), "128", 1, 1 << 24, NULL,           \
     "Size of an embedding (inferred from the head)."},                                            \
    {"temperature", SR_OPT_FLOAT, SR_SWAV_FIELD(temperature), "0.1", 1e-6, 1e6, NULL,              \
     "Divides the scores in the prediction."},                                                     \
    {"normalize_last_layer", SR_OPT_BOOL, SR_SWAV_FIELD(normalize_last_layer), "True", 0, 0, NULL, \
     "Prototypes get length 1 after each update."},                                                \
    {"num_iters", SR_OPT_INT, SR_SWAV_FIELD(num_iters), "3", 0, 10000, NULL,                       \
     "Iterations of Sinkhorn-Knopp."},                                                             \
    {"epsilon", SR_OPT_FLOAT, SR_SWAV_FIELD(epsilon), "0.05", 1e-9, 1e9, NULL,                     \
     "Entropy of the codes: smaller is sharper."},                                                 \
    {"num_crops", SR_OPT_INT, SR_SWAV_FIELD(num_crops), "2", 2, SR_MAX_VIEWS, NULL,                \
     "Crops of an image (inferred from the transforms)."},                                         \
    {"crops_for_assign", SR_OPT_INTS, SR_SWAV_FIELD(crops_for_assign), "[0, 1]", 0,                \
     SR_MAX_VIEWS - 1, NULL, "Crops whose codes are predicted."},                                  \
    {"num_prototypes", SR_OPT_INTS, SR_SWAV_FIELD(num_prototypes), "[3000]", 1, 1 << 24, NULL,     \
     "Prototypes of each set (inferred from the head)."},                                          \
    {"queue.queue_length", SR_OPT_INT, SR_SWAV_FIELD(queue_length), "0", 0, 1 << 30, NULL,         \
     "Rows of the queue over all replicas; 0: none."},                                             \
    {"queue.start_iter", SR_OPT_INT, SR_SWAV_FIELD(queue_start_iter), "0", 0, 1 << 30, NULL,       \
     "First step that uses the queue."},                                                           \
    {"queue.local_queue_length", SR_OPT_INT, SR_SWAV_FIELD(local_queue_length), "0", 0, 1 << 30,   \
     NULL, "Rows of the queue of one replica (inferred)."},                                        \
    {"sinkhorn", SR_OPT_ENUM, SR_SWAV_FIELD(sinkhorn), "vissl", 0, 0, "vissl|log",                 \
     "log: exact in the log domain, finite for every epsilon and score."}
// clang-format on

// Prototypes and embedding from the head, crops from the transforms, the queue rounded down to
// whole batches.
SrStatus sr_swav_infer(SrInfer *in);
// A SwAV head over three crops, with and without a queue.
extern const SrLossExample sr_swav_examples[2];

// Checks options against the model's outputs; a mismatch is SR_ERR_CONFIG that names the key.
SrStatus sr_swav_check(SrLossContext *ctx, const SrSwavOptions *options);
// "embedding", and "scores0" .. of every set, of one forward.
SrStatus sr_swav_outputs(SrLossContext *ctx, const SrOutputs *outputs, int n_sets,
                         SrNodeId *embedding, SrNodeId scores[SR_SWAV_MAX_SETS]);
// State entries, and the prototypes under `prefix` where they are needed.
SrStatus sr_swav_state_build(SrLossContext *ctx, const SrSwavOptions *options, const char *prefix,
                             SrSwavState *state);
// The nodes from scores to the scalar loss.  Codes are nodes "codes<set>_<i>", i in order of
// crops_for_assign.
SrNodeId sr_swav_terms_build(SrLossContext *ctx, const SrSwavTerms *terms,
                             const SrSwavState *state);

// Every replica pushes `rows` of its rows of x (views * batch, D) to each assign crop's queue: those from
// first[i] on, counted as the replica sees them, view-major over its own images.
void sr_swav_push(const SrSwavState *state, SrParams *params, const float *x, const int *first,
                  int rows);

int64_t *sr_swav_num_iteration(const SrSwavState *state, SrParams *params);
void sr_swav_facts(const SrSwavState *state, SrLossFacts *out);

#endif
