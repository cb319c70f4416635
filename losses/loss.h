// The loss contract: a method is one file, the loss and everything it needs (queue, teacher,
// prototypes, memory bank, hooks, saved state, inference rules).  A descriptor
// `const SrLoss sr_loss_<stem>` in losses/<stem>.c.
//
// Rows of the world: a loss sees the images of the whole step, over all replicas, and never
// communicates.  Rows of an output are view-major, row = view * batch + image, and image i belongs
// to replica i / (batch / replicas).  A loss that says rows_are_independent is built for the images of
// one replica.
//
// `build` adds nodes to ctx->builder that end in one scalar.  What works on images goes through the
// sr_loss_* calls below (the model again, a head of the loss's own); everything else is built
// directly.  State entries (sr_build_state) are saved with every checkpoint, because they are in
// the parameter table.  The hooks run on the host between plan runs; except for before_epoch they
// allocate nothing.
#ifndef SR_LOSSES_LOSS_H
#define SR_LOSSES_LOSS_H

#include <stdint.h>

#include "base/option.h"
#include "graph/builder.h"
#include "graph/plan.h"
#include "losses/infer.h"
#include "losses/outputs.h"

#define SR_LOSS_MAX_KEPT 16

// ---- while building

typedef struct SrLossContext SrLossContext;

// Whose running statistics a second set of parameters has.
typedef enum {
    SR_STATISTICS_OWN,     // its own, moved by its own forwards (MoCo, DINO, BYOL)
    SR_STATISTICS_STUDENT, // the student's, as they are after its forward of the same step (SwAV)
} SrStatistics;

// One more forward of the model.
typedef struct {
    const char *prefix; // parameters "<prefix>trunk...", "<prefix>heads..."; NULL: the student's
    bool trainable;     // those parameters learn
    const int *views;   // which views; NULL: all
    int n_views;
    const int *heads; // which entries of MODEL.HEAD.PARAMS, in a row; NULL: all
    int n_heads;
    bool no_heads; // the trunk's feature is the output
    // Patches that the batch's masks hide are hidden from the trunk, as the student's own forward has
    // it: those of all views with an extra "mask", or where MODEL.MULTI_INPUT_HEAD_MAPPING lists
    // additional_keys, of those inputs.
    bool masked;
    // Only these patches of each image go through the trunk's blocks: an input (n_views batch, K) of I64 that the
    // loss fills.  For losses whose rows are independent.  NULL: all.
    const SrNodeId *visible;
    // What the trunk itself gives, beside the outputs of the heads: "pooled" (rows, D), and where it has
    // them "tokens" (rows, L, D) and "map" (rows, h, w, D), through no head.  Of views of unlike sizes
    // they stand in outputs of their own.
    bool trunk_outputs;
    int n_blocks; // and the tokens of so many last blocks before the norm, (rows, L, D): "block0" is the last one
    // Another architecture with weights of its own: the model of DISTILLATION.TEACHER_MODEL, in
    // evaluation, which never learns.  Its parameters stand under `prefix`, are loaded from its
    // WEIGHTS_INIT when a run begins, and belong to every checkpoint.
    bool teacher;
    SrStatistics statistics; // read by sr_momentum_encoder_build
    // From this iteration on batch norms use running statistics; before it, and always without
    // use_running, those of the batch.
    bool use_running;
    int64_t running_from;
    // With several replicas each encodes images of all of them, by a permutation drawn every step, so
    // that batch norms tell nothing of which rows belong together (MoCo, section 3.3).  Rows come back in
    // their order.  Not for a run that learns.
    bool shuffle;
} SrModelRun;

// A head of the loss's own (a predictor, a decoder): any head of heads/ over an output.  Its
// parameters are "loss.heads.<name>...." and have the heads' rate and decay.
typedef struct {
    const char *name;    // the same name again shares the parameters
    const char *kind;    // of heads/: "mlp"
    const char *options; // its arguments as flow YAML: "{dims: [256, 4096, 256], use_bn: true}"
} SrLossHead;

// How the trainer answers the sr_loss_* calls.
typedef struct {
    SrStatus (*run)(SrLossContext *ctx, const SrModelRun *run, SrOutputs *out);
    SrStatus (*head)(SrLossContext *ctx, const SrLossHead *head, SrNodeId x, SrOutputs *out);
    // Table indices of two trunks' entries; the running statistics of `from` are copied over those of `to`.
    SrStatus (*copy_statistics)(SrLossContext *ctx, int to, int from);
    SrNodeId (*extra)(SrLossContext *ctx, const char *name, int view); // SR_NO_NODE: there is none
    SrNodeId (*view)(SrLossContext *ctx, int view);
} SrLossServices;

struct SrLossContext {
    SrBuilder *builder; // where the loss adds its own nodes; prefixes are "loss."
    const char *name;   // of the loss, for messages
    int batch;          // images of the step, over all replicas
    int replicas;
    int processes; // of VISSL that these stand for: replicas but for rounds of gradient accumulation
    int n_views;   // crops an image
    struct {
        int h, w;
    } views[SR_MAX_VIEWS]; // of each view, pixels
    // What the model gives for all views, or for the first SrLoss.student_views.
    SrOutputs outputs;
    // Input (batch) of I64: index of each image in the data set.
    SrNodeId sample_index;
    // Input (batch) of I64: the class of each image, or (batch, classes) of 1, 0, -1 where images
    // have several labels; (views * batch, classes) of F32 where the collator mixes images, a
    // distribution a row.  SR_NO_NODE unless the loss needs_labels.
    SrNodeId labels;
    int64_t n_samples; // images in the training set; 0: unknown, unless the loss needs_samples
    uint64_t seed;
    const SrLossServices *services;
    void *model; // for the services
    SrNodeId kept[SR_LOSS_MAX_KEPT];
    int n_kept;
};

// The model once more.  *out is in rows of the world like ctx->outputs, view-major over run->views.
SrStatus sr_loss_run(SrLossContext *ctx, const SrModelRun *run, SrOutputs *out);
// x: one of ctx->outputs, or of what these calls gave.
SrStatus sr_loss_head(SrLossContext *ctx, const SrLossHead *head, SrNodeId x, SrOutputs *out);
// Errors of losses that look at pairs of views: SR_ERR_CONFIG unless there are two, or unless each of LOSS.<name>.<key>
// is a view, none twice.
SrStatus sr_loss_two_views(SrLossContext *ctx);
SrStatus sr_loss_check_views(SrLossContext *ctx, const char *key, SrInts views);
// The model's output of that name for all views (sr_outputs_get).
SrStatus sr_loss_output(SrLossContext *ctx, const char *name, SrNodeId *node);
// A further tensor of the batch that belongs to a view, (batch, ...): "mask" (batch, patches), 1 where a
// patch is hidden.  SR_ERR_CONFIG where neither transforms nor collator make one.
SrStatus sr_loss_extra(SrLossContext *ctx, const char *name, int view, SrNodeId *node);
// The images of a view themselves: (batch, H, W, 3) as transforms left them, for losses that predict pixels.
SrNodeId sr_loss_view(SrLossContext *ctx, int view);
// The hooks will read the node with sr_loss_value.  The model's outputs are kept in any case.
SrStatus sr_loss_keep(SrLossContext *ctx, SrNodeId node);
// `bytes` zeroed, for as long as the graph lives: the loss's state, its arrays.  NULL: no memory,
// and the builder's status says so.
void *sr_loss_alloc(SrLossContext *ctx, size_t bytes);

// ---- what the hooks see

// A node's value outside of a plan.
typedef struct {
    SrNodeId node;
    SrTensor value;
} SrLossValue;

typedef struct {
    SrParams *params;
    SrPlan *plan;              // of the loss's nodes
    const SrLossValue *values; // (n_values) what sr_loss_value gives before it looks into the plan
    int n_values;
    int64_t iteration; // training steps done before this one
    int64_t max_iterations;
    int epoch;
} SrLossStep;

// The value of an output of the model or of a kept node, after the forward.  Of a loss whose rows
// are independent only kept nodes, with the values of all replicas one behind the other:
// (replicas * d0, ...).
SrTensor sr_loss_value(const SrLossStep *step, SrNodeId node);
// Mean of its numbers: of a scalar of a loss whose rows are independent, the step's.
double sr_loss_mean(const SrLossStep *step, SrNodeId node);
// Memory of an input the loss made with sr_build_input, to be filled in before_step.
SrTensor sr_loss_input(const SrLossStep *step, SrNodeId input);

// Some of the training images, in their order, after a forward of them in training mode.
typedef struct {
    SrLossStep step;      // for sr_loss_value
    const int64_t *index; // (n) of each image
    int n;                // images that count: rows v * batch + i with i < n
    int batch;
} SrEpochRows;

typedef struct SrEpoch SrEpoch;
struct SrEpoch {
    SrLossStep step;
    int64_t n_samples; // images in the training set
    // Runs the model over all training images, with the transforms and in the mode of training, and
    // gives each batch to `rows`.  No parameter or state entry moves, but for what `rows` itself
    // writes.  Host-filled inputs of the loss are zero meanwhile.
    SrStatus (*pass)(const SrEpoch *epoch, SrStatus (*rows)(void *arg, const SrEpochRows *),
                     void *arg);
    void *run; // for pass
};

// What a loss can say of itself before the first step, so that the trainer can warn of runs that
// learn nothing.
typedef struct {
    double chance; // the loss of a model that spreads everything evenly (SwAV: ln of the
                   // prototypes); 0: none
    int classes;   // prototypes, or whatever samples are spread over
    int64_t rows;  // samples spread over them at a time: batch and queue
} SrLossFacts;

// What a method tells of its targets after an epoch's last step, so that a collapse is found that its loss may hide.
typedef struct {
    int prototypes; // that the teacher spreads a row over; 0: it does not
    // Mean entropy of its rows, and entropy of its mean row, as shares of ln prototypes: 1 and 1 where all rows are even,
    // 0 and 0 where all choose the same prototype.  How DINO collapses (arXiv:2104.14294, section 5.3).
    double row_entropy, mean_entropy;
    const char *sharper,
        *more_even; // keys of the loss that act against the one and the other: "teacher_temp=0.04"
    int clusters, clusters_used; // of the last clustering; 0: there is none
} SrLossHealth;

// Fills prototypes and entropies from rows of distributions (n, K).
void sr_loss_entropies(const float *rows, int64_t n, int K, SrLossHealth *out);
// The same of the rows' softmax((x - center) / temperature); center (K) or NULL.
void sr_loss_score_entropies(const float *x, int64_t n, int K, const float *center,
                             double temperature, SrLossHealth *out);

// ---- the descriptor

// A small run for the contract tests: heads over a trunk of 32 features, views of these sizes.
typedef struct {
    const char *options; // the loss's map: "{queue: {queue_length: 16}}"; NULL: defaults
    const char *heads;   // MODEL.HEAD.PARAMS: "[[mlp, {dims: [32, 8]}]]"
    int sizes[8];        // of each view, pixels; 0 ends
    bool may_rise;       // toy steps need not lower it (a queue that fills, a moving target)
    const char *trunk;   // the inside of MODEL.TRUNK; NULL: a small ResNet
    int patch;           // > 0: MaskedImageModeling with such patches masks the first views
    const char *more;    // further keys of MODEL: "MULTI_INPUT_HEAD_MAPPING: [...]"
} SrLossExample;

// For examples with tokens: a transformer of 16 numbers over patches of 4 pixels, and VISSL's inputs of iBOT.
#define SR_LOSS_EXAMPLE_VIT                                                                       \
    "NAME: vision_transformer, VISION_TRANSFORMERS: {IMAGE_SIZE: 16, PATCH_SIZE: 4, NUM_LAYERS: " \
    "2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32, QKV_BIAS: True, MASKED_IMAGE_MODELING: "       \
    "{NAME: ibot}}"
#define SR_LOSS_EXAMPLE_GLOBAL_AND_LOCAL                                                  \
    "MULTI_INPUT_HEAD_MAPPING: [[global_views, {feat_names: [lastBLK], additional_keys: " \
    "[mask]}], "                                                                          \
    "[local_views, {feat_names: [lastCLS]}]]"

// For SrLoss.student_views: ctx->outputs is empty, and the loss runs the model in ways of its own.
#define SR_NO_STUDENT (-1)

typedef struct SrLoss {
    const char *name; // LOSS.name
    const char *help;
    const char *subtree; // "LOSS.swav_loss"
    const SrOption *options;
    size_t params_bytes;
    bool needs_labels; // the outputs are class scores: the run has meters and test phases
    int student_views; // the model runs on the first so many views (MoCo: 1); 0: on all; SR_NO_STUDENT
    bool trunk_outputs; // ctx->outputs also have what SrModelRun.trunk_outputs gives
    bool has_teacher;   // runs the model of DISTILLATION.TEACHER_MODEL (SrModelRun.teacher)
    bool needs_samples; // n_samples must be known, in `check` too: memory banks
    // The loss of a replica depends on its own rows alone, and the step's loss is the mean over
    // replicas (as VISSL's processes have it): built for one replica, ctx->batch its images, and no
    // second forward is needed.
    bool rows_are_independent;
    // And the rows of a replica are compared with each other (negatives, a mean over the batch), so that replicas cannot
    // be run as one larger batch for their batch norms' sake.
    bool rows_are_compared;
    // Why all batches must have one size ("the queue moves by a batch every step"): what does not fill one is left out.
    // NULL: no state counts on the size, and an epoch's last batch may be smaller (DATA.TRAIN.DROP_LAST=False).
    const char *whole_batches;
    // Option of the loss that `whole_batches` depends on ("queue.queue_length"): at 0 batches may have any size.
    // NULL: the reason always holds.
    const char *whole_batches_with;
    const SrLossExample *examples;
    int n_examples;
    // Writes what the rest of the configuration says into the loss's own map; may be NULL.
    SrStatus (*infer)(SrInfer *infer);
    // *loss: scalar node; *state: the method's own bookkeeping, from sr_loss_alloc.
    SrStatus (*build)(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state);
    // Any of these may be NULL.
    // Before the first step, once parameters have their values: drawn and WEIGHTS_INIT loaded, or
    // (resumed) those of a checkpoint, the loss's own entries with them.
    void (*start)(void *state, const SrLossStep *step, bool resumed);
    SrStatus (*before_epoch)(void *state, const SrEpoch *epoch); // may fail and allocate
    void (*before_step)(void *state, const SrLossStep *step); // inputs filled, forward not yet run
    // Before the forward of each replica, for inputs that differ from image to image in a loss whose rows are
    // independent: row i of them belongs to image first + i of the step.
    void (*before_rows)(void *state, const SrLossStep *step, int64_t first);
    // Gradients complete, update not yet done: where they may be looked at or changed.
    void (*after_backward)(void *state, const SrLossStep *step);
    // Parameters moved: renormalise, EMA, queue.
    void (*after_update)(void *state, const SrLossStep *step);
    // Extra key=value pairs for the metrics (teacher temperature, ...).
    void (*report)(void *state, const SrLossStep *step, SrText *json_fields);
    void (*facts)(const void *state, SrLossFacts *out); // fills a zeroed struct
    // The same, after an epoch's last step; may allocate.
    void (*health)(void *state, const SrLossStep *step, SrLossHealth *out);
} SrLoss;

const SrLoss *sr_loss_at(int i);
SrStatus sr_loss_find(const char *name, const SrLoss **out);

#endif
