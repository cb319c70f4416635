// The loss contract.  A method is one file, <stem>.c in losses/ or a shelf of it, with a descriptor
// `const SrLoss sr_loss_<stem>`.  The file holds the loss and everything it needs: queue, teacher,
// prototypes, memory bank, hooks, saved state, inference rules.
//
// Rows: a loss sees the images of the whole step, over all replicas, and never communicates.  Rows
// of an output are view-major, row = view * batch + image.  Image i belongs to replica
// i / (batch / replicas).  A loss that sets rows_are_independent is built for the images of one
// replica.
//
// `build` adds nodes to ctx->builder that end in one scalar.  The sr_loss_* calls below add what
// works on images: a further forward of the model, or a head of the loss's own.  The loss builds
// everything else directly.  State entries (sr_build_state) are part of the parameter table, so
// every checkpoint saves them.  The hooks run on the host between plan runs.  Only before_epoch and
// health may allocate.
#ifndef SR_LOSSES_LOSS_H
#define SR_LOSSES_LOSS_H

#include <stdint.h>

#include "base/plugin/option.h"
#include "graph/ir/builder.h"
#include "graph/plan/plan.h"
#include "losses/shared/infer.h"
#include "losses/shared/outputs.h"

#define SR_LOSS_MAX_KEPT 16

// ---- while building

typedef struct SrLossContext SrLossContext;

// Choice of the running statistics that a second set of parameters has.
typedef enum {
    SR_STATISTICS_OWN,     // its own, moved by its own forwards (MoCo, DINO, BYOL)
    SR_STATISTICS_STUDENT, // the student's, as they are after its forward of the same step (SwAV)
} SrStatistics;

// One more forward of the model.
typedef struct {
    // Prefix of the parameters: "<prefix>trunk...", "<prefix>heads...".  NULL: the student's own.
    const char *prefix;
    bool trainable;   // whether these parameters learn
    const int *views; // (n_views) view indices; NULL: all views
    int n_views;
    const int *heads; // (n_heads) indices into MODEL.HEAD.PARAMS; NULL: all heads
    int n_heads;
    bool no_heads; // the output is the trunk's feature; with trunk_outputs, only what that adds
    // Hides the patches that the batch's masks mark from the trunk, as in the student's own
    // forward. The masks are the extra "mask" of every view that has one.  Where
    // MODEL.MULTI_INPUT_HEAD_MAPPING is used, only inputs that list additional_keys are masked.
    bool masked;
    // Input (n_views * batch, K) of I64 that the loss fills: only these patches of each image go
    // through the trunk's blocks.  NULL: all patches.  Allowed only if the loss sets
    // rows_are_independent.
    const SrNodeId *visible;
    // Adds the trunk's own outputs, which go through no head: "pooled" (rows, D), and if the trunk
    // has them "tokens" (rows, L, D) and "map" (rows, h, w, D).  Views of another size get separate
    // outputs of the same names.
    bool trunk_outputs;
    // Factor by which the model sees the views larger, resized bilinearly (interpolate).  0 and 1:
    // as they are.
    int enlarge;
    // Number of last blocks whose tokens before the norm, (rows, L, D), trunk_outputs adds:
    // "block0" is the last block.  0: none.
    int n_blocks;
    // Number of last blocks whose tokens after the trunk's last norm, (rows, L, D), trunk_outputs
    // adds: "normed0" is the last block.  A trunk without blocks of tokens adds none.  0: none.
    int n_normed;
    // Replaces the outputs by what the loss needs of them, by nodes that the call adds to `b`, the
    // builder of this forward.  Fewer numbers then go to the loss and into the file of
    // DISTILLATION.CACHED_VIEWS.  loss: its name, for messages.  NULL: outputs stay.
    SrStatus (*reduce)(SrBuilder *b, const char *loss, SrOutputs *outputs);
    // Runs the model of DISTILLATION.TEACHER_MODEL instead: another architecture with weights of
    // its own, in evaluation mode, never trained, never masked.  A new run loads its parameters,
    // under `prefix`, from its WEIGHTS_INIT.  Every checkpoint contains them.
    bool teacher;
    SrStatistics statistics; // read by sr_momentum_encoder_build
    // Batch norms use running statistics from iteration `running_from` on.  Before it, and always
    // without use_running, they use the statistics of the batch.
    bool use_running;
    int64_t running_from;
    // With several replicas, each replica encodes images of all of them, by a permutation that is
    // drawn every step.  Batch norms then give no hint which rows belong together (MoCo, section
    // 3.3).  Rows come back in their own order.  Only for a forward that does not learn; ignored
    // where batch norms are synchronised.
    bool shuffle;
} SrModelRun;

// A head of the loss's own, such as a predictor: any head of heads/ over an output.  Its parameters
// are named "loss.heads.<name>...." and have the learning rate and weight decay of heads.
typedef struct {
    const char *name;    // a second head of the same name shares the parameters
    const char *kind;    // name of a head in heads/: "mlp"
    const char *options; // its arguments as flow YAML: "{dims: [256, 4096, 256], use_bn: true}"
} SrLossHead;

// The trainer's part of the sr_loss_* calls.  Losses call sr_loss_* instead, except for
// copy_statistics.
typedef struct {
    SrStatus (*run)(SrLossContext *ctx, const SrModelRun *run, SrOutputs *out);
    SrStatus (*head)(SrLossContext *ctx, const SrLossHead *head, SrNodeId x, SrOutputs *out);
    // Adds a node that copies the state entry `from` to the entry `to` (table indices) after the
    // student's forward.  The loss must have a student output (not SR_NO_STUDENT).
    SrStatus (*copy_statistics)(SrLossContext *ctx, int to, int from);
    SrNodeId (*extra)(SrLossContext *ctx, const char *name, int view); // SR_NO_NODE: there is none
    SrNodeId (*view)(SrLossContext *ctx, int view);                    // SR_NO_NODE: there is none
} SrLossServices;

// Everything that `build` reads.  The trainer fills it; the sr_loss_* calls change kept and n_kept.
struct SrLossContext {
    SrBuilder *builder; // takes the loss's own nodes; its prefixes are "loss."
    const char *name;   // name of the loss, for messages
    // Images of the step over all replicas; of one replica if the loss sets rows_are_independent.
    int batch;
    bool rest;    // the step is that of an epoch's smaller last batch
    int replicas; // replicas whose images `batch` counts
    // Number of VISSL processes that the replicas stand for: replicas / rounds of gradient
    // accumulation, at least 1.
    int processes;
    int n_views; // views of an image
    struct {
        int h, w;
    } views[SR_MAX_VIEWS]; // (n_views) size of each view in pixels
    // Outputs of the model for all views, or for the first SrLoss.student_views of them.
    SrOutputs outputs;
    // Input (batch) of I64: index of each image in the data set.
    SrNodeId sample_index;
    // Input of I64: (batch), the class of each image; or (batch, classes) of 1, 0, -1 if images
    // have several labels.  If the collator mixes images: (views * batch, classes) of F32, one
    // distribution per row.  SR_NO_NODE unless the loss sets needs_labels.
    SrNodeId labels;
    int64_t n_samples; // images in the training set; 0: unknown, never with needs_samples
    uint64_t seed;
    const SrLossServices *services;
    void *model;                     // read by the services alone
    SrNodeId kept[SR_LOSS_MAX_KEPT]; // (n_kept) nodes of sr_loss_keep
    int n_kept;
};

// Runs the model once more.  *out has the same rows as ctx->outputs, view-major over run->views.
SrStatus sr_loss_run(SrLossContext *ctx, const SrModelRun *run, SrOutputs *out);
// Adds a head over x, which is a node of ctx->outputs or an output of sr_loss_run or sr_loss_head.
SrStatus sr_loss_head(SrLossContext *ctx, const SrLossHead *head, SrNodeId x, SrOutputs *out);
// SR_ERR_CONFIG unless an image has exactly two views.
SrStatus sr_loss_two_views(SrLossContext *ctx);
SrStatus sr_loss_many_views(SrLossContext *ctx); // unless it has at least two
// unless a step has at least two images, which the loss compares with each other
SrStatus sr_loss_many_images(SrLossContext *ctx);
// unless there are two, and as many as LOSS.<name>.global_views, whose value is `global`
SrStatus sr_loss_global_views(SrLossContext *ctx, int global);
// SR_ERR_CONFIG, which names LOSS.<name>.<key>, unless `views` are indices of views, each at most
// once.
SrStatus sr_loss_check_views(SrLossContext *ctx, const char *key, SrInts views);
// Finds the model's output of that name for all views; errors as in sr_outputs_get.
SrStatus sr_loss_output(SrLossContext *ctx, const char *name, SrNodeId *node);
// Finds a further tensor (batch, ...) that the batch has for a view.  "mask" is (batch, patches): 1
// where a patch is hidden.  SR_ERR_CONFIG if neither the transforms nor the collator make it.
SrStatus sr_loss_extra(SrLossContext *ctx, const char *name, int view, SrNodeId *node);
// Returns the images of a view, (batch, H, W, C) as the transforms left them, for losses that
// predict pixels.  SR_NO_NODE: a frozen trunk hides the images; the builder's status says so.
SrNodeId sr_loss_view(SrLossContext *ctx, int view);
// Makes the value of a node available to sr_loss_value in the hooks.  The model's outputs are
// available without it, unless the loss sets rows_are_independent.
SrStatus sr_loss_keep(SrLossContext *ctx, SrNodeId node);
// Returns zeroed memory for the loss's state and arrays.  The graph owns it.  NULL: out of memory,
// which the builder's status says too.
void *sr_loss_alloc(SrLossContext *ctx, size_t bytes);

// ---- what the hooks see

// Value of a node that stands outside of the plan.
typedef struct {
    SrNodeId node;
    SrTensor value;
} SrLossValue;

typedef struct {
    SrParams *params;
    SrPlan *plan;              // plan of the loss's nodes
    const SrLossValue *values; // (n_values) values that take precedence over the plan's
    int n_values;
    int64_t iteration;      // training steps before this one
    int64_t max_iterations; // training steps of the whole run
    int epoch;
} SrLossStep;

// Returns the value of a model output or of a kept node, after the forward.  If the loss sets
// rows_are_independent: kept nodes only, with the values of all replicas one after the other,
// (replicas * d0, ...).
SrTensor sr_loss_value(const SrLossStep *step, SrNodeId node);
// Returns the mean over all numbers of the value.  A scalar of a loss with rows_are_independent
// gives the mean over the step's replicas.
double sr_loss_mean(const SrLossStep *step, SrNodeId node);
// Returns the memory of an input that the loss made with sr_build_input.  The hook before_step or
// before_rows fills it.
SrTensor sr_loss_input(const SrLossStep *step, SrNodeId input);

// One batch of training images, in the order of the data set, after their forward in training mode.
typedef struct {
    SrLossStep step;      // for sr_loss_value
    const int64_t *index; // (n) index of each image in the data set
    int n;                // images that count: rows v * batch + i with i < n
    int batch;            // rows per view
} SrEpochRows;

typedef struct SrEpoch SrEpoch;
struct SrEpoch {
    SrLossStep step;
    int64_t n_samples; // images in the training set
    // Runs the model over all training images in training mode, with the training transforms, and
    // calls `rows` for each batch.  Only `rows` itself changes parameters and state entries.
    // Inputs that the hooks fill are zero during the pass.
    SrStatus (*pass)(const SrEpoch *epoch, SrStatus (*rows)(void *arg, const SrEpochRows *),
                     void *arg);
    void *run; // read by `pass` alone
};

// Facts that a loss knows before the first step.  The trainer uses them to warn of runs that learn
// nothing.
typedef struct {
    // Loss of a model that spreads everything evenly (SwAV: ln of the prototypes).  0: no such
    // value.
    double chance;
    int classes;  // prototypes, or other classes that samples are spread over; 0: none
    int64_t rows; // samples that are spread at a time: batch and queue; 0: unknown
} SrLossFacts;

// State of a method's targets after an epoch's last step.  It shows a collapse that the loss value
// may hide.
typedef struct {
    int prototypes; // prototypes that the teacher spreads a row over; 0: none
    // Mean entropy of the teacher's rows, and entropy of its mean row, as shares of ln prototypes.
    // Both are 1 if all rows are even, and 0 if all rows choose the same prototype.  DINO collapses
    // in these two ways (arXiv:2104.14294, section 5.3).
    double row_entropy, mean_entropy;
    // Settings to try, relative to the loss's map: `sharper` against even rows
    // ("teacher_temp=0.04"), `more_even` against rows that choose one prototype.
    const char *sharper, *more_even;
    int clusters, clusters_used; // of the last clustering; 0: there is none
} SrLossHealth;

// ---- the descriptor

// A small run for the contract tests: heads over a trunk with 32 features.
typedef struct {
    const char *options; // the loss's map: "{queue: {queue_length: 16}}"; NULL: defaults
    const char *heads;   // MODEL.HEAD.PARAMS: "[[mlp, {dims: [32, 8]}]]"
    int sizes[8];        // side of each view in pixels; a 0 ends the list
    bool may_rise;       // toy steps need not lower the loss: a queue that fills, a moving target
    const char *trunk;   // the inside of MODEL.TRUNK; NULL: a small ResNet
    int patch;           // side of the patches that MaskedImageModeling hides, in pixels; 0: none
    const char *more;    // further keys of MODEL: "MULTI_INPUT_HEAD_MAPPING: [...]"; NULL: none
} SrLossExample;

// Parts of examples with tokens: a transformer of width 16 over patches of 4 pixels, and the inputs
// of VISSL's iBOT.
#define SR_LOSS_EXAMPLE_VIT                                                                       \
    "NAME: vision_transformer, VISION_TRANSFORMERS: {IMAGE_SIZE: 16, PATCH_SIZE: 4, NUM_LAYERS: " \
    "2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32, QKV_BIAS: True, MASKED_IMAGE_MODELING: "       \
    "{NAME: ibot}}"
#define SR_LOSS_EXAMPLE_GLOBAL_AND_LOCAL                                                  \
    "MULTI_INPUT_HEAD_MAPPING: [[global_views, {feat_names: [lastBLK], additional_keys: " \
    "[mask]}], "                                                                          \
    "[local_views, {feat_names: [lastCLS]}]]"

// A value of SrLoss.student_views: ctx->outputs is empty, and the loss runs the model itself.
#define SR_NO_STUDENT (-1)

typedef struct SrLoss {
    const char *name; // LOSS.name
    const char *help;
    const char *subtree; // "LOSS.swav_loss"
    const SrOption *options;
    size_t params_bytes;
    bool needs_labels; // the outputs are class scores: the run has meters and test phases
    // Number of first views that the model runs on (MoCo: 1).  0: all views.  SR_NO_STUDENT: none.
    int student_views;
    bool trunk_outputs; // ctx->outputs also contain what SrModelRun.trunk_outputs adds
    bool has_teacher;   // runs the model of DISTILLATION.TEACHER_MODEL (SrModelRun.teacher)
    bool needs_samples; // n_samples must be known, also in the verb `check`: memory banks
    // The loss of a replica depends on the replica's own rows alone, and the step's loss is the
    // mean over replicas, as over VISSL's processes.  The loss is then built for one replica, and
    // the step needs no second forward.
    bool rows_are_independent;
    // Read with rows_are_independent: rows of a replica are compared with each other (negatives, a
    // mean over the batch).  Replicas then cannot run as one larger batch to share batch norms.
    bool rows_are_compared;
    // Reason why all batches must have one size ("the queue moves by a batch every step"); images
    // that do not fill a batch are left out.  NULL: no state depends on the size, and an epoch's
    // last batch may be smaller (DATA.TRAIN.DROP_LAST=False).
    const char *whole_batches;
    // Option of the loss that `whole_batches` depends on ("queue.queue_length"): if it is 0,
    // batches may have any size.  NULL: the reason always holds.
    const char *whole_batches_with;
    const SrLossExample *examples;
    int n_examples;
    // Copies values from the rest of the configuration into the loss's own map.  NULL: no rule.
    SrStatus (*infer)(SrInfer *infer);
    // Builds the loss.  *loss: scalar node.  *state: memory from sr_loss_alloc that every hook
    // gets, or NULL.
    SrStatus (*build)(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state);

    // Hooks.  Each may be NULL.

    // Runs once before the first step, when parameters have their values.  New run: drawn values,
    // with WEIGHTS_INIT loaded.  Resumed run: those of the checkpoint, including the loss's
    // entries.
    void (*start)(void *state, const SrLossStep *step, bool resumed);
    // Runs before an epoch's first step, and not when a run resumes inside an epoch.  May fail and
    // allocate.
    SrStatus (*before_epoch)(void *state, const SrEpoch *epoch);
    // Runs when the batch is in its inputs and before the forward.
    void (*before_step)(void *state, const SrLossStep *step);
    // Runs before the forward of each replica, for inputs that differ from image to image in a loss
    // with rows_are_independent.  Row i of such an input belongs to image first + i of the step.
    void (*before_rows)(void *state, const SrLossStep *step, int64_t first);
    // Runs when gradients are complete, before clipping and the update.  May read and change them.
    void (*after_backward)(void *state, const SrLossStep *step);
    // Runs after the update: normalises prototypes, moves the teacher, fills the queue.
    void (*after_update)(void *state, const SrLossStep *step);
    // Adds fields to a JSON record of the metrics, such as the teacher's temperature.
    void (*report)(void *state, const SrLossStep *step, SrText *json_fields);
    // Fills a zeroed struct.
    void (*facts)(const void *state, SrLossFacts *out);
    // Fills a zeroed struct after an epoch's last step.  May allocate.
    void (*health)(void *state, const SrLossStep *step, SrLossHealth *out);
} SrLoss;

const SrLoss *sr_loss_at(int i);
SrStatus sr_loss_find(const char *name, const SrLoss **out);

#endif
