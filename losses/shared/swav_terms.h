// Parts that swav_loss and swav_momentum_loss share.  Sinkhorn-Knopp computes codes of the assign
// crops (crops_for_assign), and all other crops predict them.  The loss is the mean over assign
// crops and prototype sets (Caron et al., NeurIPS 2020, arXiv:2006.09882, eqs. 1-5).
#ifndef SR_LOSSES_SHARED_SWAV_TERMS_H
#define SR_LOSSES_SHARED_SWAV_TERMS_H

#include "kernels/assign/sinkhorn.h"
#include "kernels/losses/swav_cross_entropy.h"
#include "losses/loss.h"
#include "losses/shared/swav_queue.h"

// Options go straight into the params of both ops.
typedef struct {
    SrSinkhornParams sinkhorn;        // queue_length comes from the state, no_shift from the loss
    SrSwavCrossEntropyParams predict; // num_crops, crops_for_assign, temperature
    int embedding_dim;
    SrInts num_prototypes;
    bool normalize_last_layer;
    int queue_length, queue_start_iter, local_queue_length;
} SrSwavOptions;

typedef struct {
    const SrSwavOptions *options;
    bool no_shift;                          // of sinkhorn
    SrNodeId code_scores[SR_SWAV_MAX_SETS]; // (n_sets) scores that codes are computed of
    bool assign_rows_only;             // rows of code_scores: true: assign crops; false: all crops
    SrNodeId scores[SR_SWAV_MAX_SETS]; // (n_sets) predictions (num_crops * batch, P), crop-major
} SrSwavTerms;

// Host-side state of both losses.
typedef struct {
    int n_sets, n_assign, batch, replicas, num_crops; // batch: images of all replicas
    const int *crops_for_assign;                      // (n_assign)
    const int *num_prototypes;                        // (n_sets)
    bool normalize;                                   // prototypes get length 1 after each update
    int num_iteration;                                // table index: I64 (1), steps done
    SrSwavQueue queue;
    SrPrototypes prototypes[SR_SWAV_MAX_SETS]; // (n_sets) set only with normalize or a queue
} SrSwavState;

// Rows of both losses' option tables; their params must begin with an SrSwavOptions.
#define SR_SWAV_FIELD(f) offsetof(SrSwavOptions, f)
// clang-format off
#define SR_SWAV_OPTION_ROWS                                                                        \
    {"embedding_dim", SR_OPT_INT, SR_SWAV_FIELD(embedding_dim), "128", 1, 1 << 24,           \
     .help = "Size of an embedding (inferred from the head)."},                                            \
    {"temperature", SR_OPT_FLOAT, SR_SWAV_FIELD(predict.temperature), "0.1", 1e-6, 1e6,              \
     .help = "Temperature that divides the scores in the prediction."},                                                     \
    {"normalize_last_layer", SR_OPT_BOOL, SR_SWAV_FIELD(normalize_last_layer), "True", \
     .help = "Divide prototypes by their length after each update."},                                                \
    {"num_iters", SR_OPT_INT, SR_SWAV_FIELD(sinkhorn.num_iters), "3", 0, 10000,                       \
     .help = "Iterations of Sinkhorn-Knopp."},                                                             \
    {"epsilon", SR_OPT_FLOAT, SR_SWAV_FIELD(sinkhorn.epsilon), "0.05", 1e-9, 1e9,                     \
     .help = "Entropy regularisation of the codes: the smaller, the sharper."},                                                 \
    {"num_crops", SR_OPT_INT, SR_SWAV_FIELD(predict.num_crops), "2", 2, SR_MAX_VIEWS,                \
     .help = "Crops per image (inferred from the transforms)."},                                         \
    {"crops_for_assign", SR_OPT_INTS, SR_SWAV_FIELD(predict.crops_for_assign), "[0, 1]", 0, \
     SR_MAX_VIEWS - 1, .help = "Crops whose codes are predicted."},                                  \
    {"num_prototypes", SR_OPT_INTS, SR_SWAV_FIELD(num_prototypes), "[3000]", 1, 1 << 24,     \
     .help = "Number of prototypes in each set (inferred from the head)."},                                          \
    {"queue.queue_length", SR_OPT_INT, SR_SWAV_FIELD(queue_length), "0", 0, 1 << 30,         \
     .help = "Rows in the queues of all replicas together; 0: no queue."},                                             \
    {"queue.start_iter", SR_OPT_INT, SR_SWAV_FIELD(queue_start_iter), "0", 0, 1 << 30,       \
     .help = "First step that uses the queue."},                                                           \
    {"queue.local_queue_length", SR_OPT_INT, SR_SWAV_FIELD(local_queue_length), "0", 0, 1 << 30, .help = "Rows in the queue of one replica (inferred)."},                                        \
    {"sinkhorn", SR_OPT_ENUM, SR_SWAV_FIELD(sinkhorn.form), "vissl", .choices = "vissl|log",                 \
     .help = "vissl: VISSL's order and precision; log: exact in the log domain, finite for every epsilon and score."}
// clang-format on

// Infers prototypes and embedding size from the head and num_crops from the transforms.  Rounds the
// queue down to whole batches.
SrStatus sr_swav_infer(SrInfer *in);
// Examples for the contract tests: a SwAV head over three crops, without and with a queue.
extern const SrLossExample sr_swav_examples[2];

// Checks the options against the model's outputs.  SR_ERR_CONFIG, which names the key: a mismatch.
SrStatus sr_swav_check(SrLossContext *ctx, const SrSwavOptions *options);
// Finds the outputs "embedding" and "scores0", "scores1", ... of one forward.
SrStatus sr_swav_outputs(SrLossContext *ctx, const SrOutputs *outputs, int n_sets,
                         SrNodeId *embedding, SrNodeId scores[SR_SWAV_MAX_SETS]);
// Fills *state and adds the state entries.  Finds the prototypes under `prefix` if they are
// normalised or there is a queue.
SrStatus sr_swav_state_build(SrLossContext *ctx, const SrSwavOptions *options, const char *prefix,
                             SrSwavState *state);
// Builds the nodes from scores to the loss, a scalar.  The codes of assign crop i in set h are node
// "codes<h>_<i>".
SrNodeId sr_swav_terms_build(SrLossContext *ctx, const SrSwavTerms *terms,
                             const SrSwavState *state);

// Pushes `rows` rows of each replica to the queue of each assign crop.  x: (views * batch, D).
// first: (n_assign) first row that is pushed to the queue of crop i.  A replica counts its own rows
// alone, view-major.
void sr_swav_push(const SrSwavState *state, SrParams *params, const float *x, const int *first,
                  int rows);

// Returns the counter of steps done, in the parameter table.
int64_t *sr_swav_num_iteration(const SrSwavState *state, SrParams *params);
// Fills the facts of both losses (SrLoss.facts).
void sr_swav_facts(const SrSwavState *state, SrLossFacts *out);

#endif
