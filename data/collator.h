// A collator arranges the views of a batch into the tensors that a model reads: VISSL's `data`,
// `label` and further keys.  Each is a file data/collators/<stem>.c with the descriptor `const
// SrCollator sr_collator_<stem>`.
//
// A collator first plans the inputs of the model, the place of each view in them, and the extras.
// The loader then writes pixels directly to their place.  If images act on each other (mixup), the
// collator fills afterwards: it changes whole batches in place.  Labels, indices and validity exist
// once per image.  VISSL repeats them for every view; a loss here reads those of row r from image
// r mod N.
#ifndef SR_DATA_COLLATOR_H
#define SR_DATA_COLLATOR_H

#include "base/plugin/option.h"
#include "base/status.h"
#include "data/extras.h"

typedef struct {
    const char *name; // VISSL's key: "data", "images", "patches"; inputs of a list share it
    int h, w;         // size in pixels of its views
    int rows;         // views per image: image i has rows i * rows + k of (N * rows, h, w, C)
} SrBatchInput;

typedef struct {
    // Given: the views and extras that the transforms make of an image.
    int n_views, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    int channels; // C of all views; 0: 3
    SrExtras made;
    // Planned by the collator.
    int n_inputs;
    SrBatchInput input[SR_MAX_VIEWS];
    struct {
        int input, k;      // the view is row image * rows + k of that input
    } place[SR_MAX_VIEWS]; // place of each view
    SrExtras extras;       // extras of the batch, by input
    int merged;            // images of the data set per image of the batch; 0 means 1
    int n_targets;         // columns of the labels, of 1 and 0; 0: labels as in the data set
} SrBatchPlan;

// One batch as the loader gives it.  view[i] is input i of the collator's plan, floats of
// (N * rows, h, w, C).  Without a collator view[i] is view i of all images.
typedef struct {
    int n_views, batch; // number of inputs; number of images N
    int channels;       // C of all inputs; 0: 3
    float *view[SR_MAX_VIEWS];
    int h[SR_MAX_VIEWS], w[SR_MAX_VIEWS], rows[SR_MAX_VIEWS];
    int n_targets;  // columns of the labels; 0: one class per image
    int64_t *label; // (N) classes, or (N, n_targets) of 1, 0, -1
    int64_t *index; // (N) position in the subset (DATA_LIMIT)
    int8_t *valid;  // (N) 1, or -1 for a replaced bad image
    // (N, ...) each, in the order of the plan's extras.  If one is SR_EXTRA_LABEL, `label` holds
    // the class with the largest share in the first of them.
    void *extra[SR_MAX_EXTRAS];
} SrBatch;

// Identity of a batch.  Draws come from sr_rng(seed, SR_RNG_COLLATE, epoch, number, view, image).
typedef struct {
    uint64_t seed;
    int64_t epoch, number;
} SrCollateContext;

// Example for the contract tests.
typedef struct {
    const char *options; // options in flow YAML
    int sizes[8];        // sides in pixels of the views; 0 ends the list
    bool masks;          // every view has an extra "mask" of 4 patches from the transforms
} SrCollatorExample;

typedef struct SrCollator {
    const char *name; // COLLATE_FUNCTION
    const char *help;
    const SrOption *options; // COLLATE_FUNCTION_PARAMS
    size_t params_bytes;
    // Fills the second half of the plan.  SR_ERR_CONFIG: the collator cannot use such views.
    SrStatus (*plan)(const void *params, SrBatchPlan *plan);
    bool blends;       // rows show several images, while labels stay those of one of them
    bool plans_extras; // `plan` chooses among the transforms' extras; false: all are taken
    // Runs when all images of a batch are there.  Changes them in place, fills the extras it
    // announced, and lowers batch->batch if the plan merges images.  Runs on any thread and
    // allocates nothing.  NULL: nothing to do.
    void (*fill)(const void *params, const SrBatchPlan *plan, const SrCollateContext *ctx,
                 SrBatch *batch);
    const SrCollatorExample *examples; // (n_examples), at least one
    int n_examples;
} SrCollator;
const SrCollator *sr_collator_at(int i);
SrStatus sr_collator_find(const char *name, const SrCollator **out);

// ---- places in a batch
// Offset in floats of view v of an image within its input.
int64_t sr_batch_offset(const SrBatchPlan *plan, int v, int image);
// Number of images of a batch that is made of `images` images of the data set.
int sr_batch_plan_images(const SrBatchPlan *plan, int images);

// ---- for the collators
// Adds an input of the views first .. first + n - 1; the rows of an image are
// neighbours.  SR_ERR_CONFIG: the views differ in size.
SrStatus sr_batch_plan_input(SrBatchPlan *plan, const char *name, int first, int n);
// Adds one input per view, all of that name.
SrStatus sr_batch_plan_list(SrBatchPlan *plan, const char *name);
// Adds extra number `made` of the transforms to the plan, for the input of its view.
// SR_ERR_CONFIG: that input holds several views.
SrStatus sr_batch_plan_take(SrBatchPlan *plan, int made);
// Sets out (n_targets) to 1 at each of the n classes and to 0 elsewhere.  Classes outside
// 0 .. n_targets - 1 set nothing.
void sr_one_hot(const int64_t *classes, int n, int n_targets, int64_t *out);

#endif
