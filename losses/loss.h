// The loss contract: a method is one file, the loss and everything it needs (queue, teacher,
// prototypes, memory bank, hooks, saved state).  A descriptor `const SrLoss sr_loss_<stem>` in
// losses/<stem>.c.
//
// `build` adds nodes that end in one scalar.  It may call the model again (a momentum encoder with
// parameters of its own, another input, another resolution), add state entries (saved with every
// checkpoint because they are in the parameter table) and host-filled inputs (drawn negatives,
// cluster targets).  The hooks run on the host between plan runs; they may call kernels but
// allocate nothing.
#ifndef SR_LOSSES_LOSS_H
#define SR_LOSSES_LOSS_H

#include <stdint.h>

#include "base/option.h"
#include "graph/builder.h"
#include "graph/plan.h"

#define SR_MAX_VIEWS 64
#define SR_LOSS_MAX_KEPT 16

// One input of the step: crop v of every image, (N, H, W, 3).
typedef struct {
    SrNodeId input;
    int size_h, size_w;
} SrView;

// What the trainer offers a loss while it builds.
typedef struct SrLossContext SrLossContext;
struct SrLossContext {
    SrBuilder *builder;
    int batch;   // images a step in this process
    int n_views; // crops an image
    SrView views[SR_MAX_VIEWS];
    int n_outputs; // what the model gave for all views, rows crop-major: [embeddings, scores0, ...]
    const SrNodeId *outputs;
    // Input (N) of I64: index of each image in the data set; SR_NO_NODE if there is none.
    SrNodeId sample_index;
    // Input (N) of I64: the class of each image, or (N, classes) of 1, 0, -1 where images have several labels;
    // SR_NO_NODE unless the loss needs_labels.
    SrNodeId labels;
    int64_t n_samples; // images in the training set (0 when unknown: dry run)
    uint64_t seed;
    // Runs the model once more on some views, with parameters named <prefix>trunk...,
    // <prefix>heads... ("" shares the student's), trainable or not; outputs has room for
    // SR_HEAD_MAX_OUT.
    SrStatus (*run_model)(SrLossContext *ctx, const char *prefix, bool trainable, const int *views,
                          int n_views, SrNodeId *outputs, int *n_outputs);
    void *model; // for run_model
    // Nodes the hooks read with sr_plan_output, besides `outputs`: the plan keeps them until the
    // next run.
    SrNodeId kept[SR_LOSS_MAX_KEPT];
    int n_kept;
};

// What the hooks see.  `instance` is what build returned in *state.
typedef struct {
    SrParams *params;
    SrPlan *plan;      // NULL in before_epoch of the first epoch only if not yet compiled
    int64_t iteration; // training steps done before this one
    int64_t max_iterations;
    int epoch;
} SrLossStep;

// What a loss can say of itself before the first step, so that the trainer can warn of runs that
// learn nothing.
typedef struct {
    double chance; // the loss of a model that spreads everything evenly (SwAV: ln of the
                   // prototypes); 0: none
    int classes;   // prototypes, or whatever samples are spread over
    int64_t rows;  // samples spread over them at a time: batch and queue
} SrLossFacts;

typedef struct SrLoss {
    const char *name; // LOSS.name
    const char *help;
    const char *subtree; // "LOSS.swav_loss"
    const SrOption *options;
    size_t params_bytes;
    bool needs_labels; // the outputs are class scores: the run has meters and test phases
    // *loss: scalar node; *state: the method's own bookkeeping, from the graph's arena (no free
    // needed).
    SrStatus (*build)(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state);
    // Any of these may be NULL.
    void (*after_init)(void *state,
                       const SrLossStep *step); // fresh parameters drawn: copy student to teacher
    void (*before_epoch)(void *state, const SrLossStep *step);
    void (*before_step)(void *state, const SrLossStep *step); // inputs filled, forward not yet run
    void (*after_backward)(void *state,
                           const SrLossStep *step); // gradients complete, update not yet done
    void (*after_update)(void *state,
                         const SrLossStep *step); // parameters moved: renormalise, EMA, queue
    // Extra key=value pairs for the progress line and the metrics (teacher temperature, ...): NULL
    // or text.
    void (*report)(void *state, const SrLossStep *step, SrText *json_fields);
    void (*facts)(const void *state, SrLossFacts *out); // fills a zeroed struct
} SrLoss;

const SrLoss *sr_loss_at(int i);
SrStatus sr_loss_find(const char *name, const SrLoss **out);

#endif
