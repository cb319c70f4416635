// One side of the data, opened: source, transforms, loader.  TRAIN as the training loop needs it;
// and the two sides of a kNN evaluation: the bank of training images and the test images, both
// through the transforms of evaluation.
#ifndef SR_TRAINER_RUN_DATA_SPLIT_H
#define SR_TRAINER_RUN_DATA_SPLIT_H

#include "data/data.h"
#include "trainer/config/config.h"

#define SR_SPLIT_BATCHES_AHEAD 4 // that a loader holds, the one in use included

// Where test images come from.
typedef enum {
    SR_TEST_CONFIGURED, // DATA.TEST names them
    SR_TEST_OF_SOURCE,  // the training source sets them apart
    SR_TEST_HELD_OUT    // a tenth of the training images
} SrTestOrigin;

typedef struct {
    const SrDataset *source;
    void *set;
    SrPipeline *pipeline;
    SrLoader *loader;
    SrArena arena;
    const char *path;    // where the images lie, "" if nowhere
    SrTestOrigin origin; // of a test side
    // Of a training side the inputs its collator plans, else one a view.
    const SrCollation *collation; // of the training side; NULL: an input a view
    int n_views;
    int h[SR_MAX_VIEWS], w[SR_MAX_VIEWS]; // of each
    int rows[SR_MAX_VIEWS];               // an image, 0: 1 (SrBatchInput)
    int classes;      // of the labels, the source's or those its transforms make; 0: no labels
    int n_targets;    // several labels an image: classes; else 0
    bool shared;      // ranks share out what a pass over all images computes; all of them make it
    const char *note; // how the images were chosen, when that is worth saying; "" otherwise
} SrSplit;

// Number and sizes of the training views alone, without touching any data (check, bench).
SrStatus sr_split_train_shape(const SrConfig *config, int *n_views, int h[SR_MAX_VIEWS],
                              int w[SR_MAX_VIEWS]);
// The same as the collator lays them out, into a zeroed split: collation, n_views, h, w, rows.
SrStatus sr_split_plan_train(const SrConfig *config, SrSplit *out);
// Images a training epoch draws from; opens the set to count them.
SrStatus sr_split_train_length(const SrConfig *config, int64_t *n);
// The same of the transforms of evaluation; SR_SPLIT_EVAL_CROP where the configuration has none.
#define SR_SPLIT_EVAL_CROP 224
SrStatus sr_split_eval_shape(const SrConfig *config, int *n_views, int h[SR_MAX_VIEWS],
                             int w[SR_MAX_VIEWS]);

// Opens the training split.  Order and augmentation follow from config->seed; batches have BATCHSIZE_PER_REPLICA images.
SrStatus sr_split_open_train(const SrConfig *config, SrSplit *out);

// This rank's share of an evaluation: every P-th batch, where P is the number of ranks.
SrShare sr_split_turns(void);
// The batches of this rank's replicas.
SrShare sr_split_share(const SrConfig *config);

// SR_SIDE_PHASE: the test images as a test phase takes them, where DATA.TEST.DROP_LAST counts.
typedef enum { SR_SIDE_BANK, SR_SIDE_TEST, SR_SIDE_PHASE } SrEvalSide;
// In order, nothing dropped, one view of crop x crop: DATA.TEST.TRANSFORMS, or resize, centre crop,
// to tensor, and the training side's Normalize.  Test images are DATA.TEST's; without
// DATA.TEST.DATA_PATHS those the training source itself sets apart (IDX, CIFAR, a folder train/
// beside test/ or val/); without such a tenth of the training images, which the bank then leaves
// out (they were trained on, but never with their labels). sample: shuffled and in whole batches
// only, for statistics over a few of them.  train: labels are its class numbers, matched by name
// (class_match.h); NULL: the set's own.
SrStatus sr_split_open_eval(const SrConfig *config, SrEvalSide side, bool sample, int batch,
                            int crop, const SrSplit *train, SrSplit *out);
// Every image at `path`, all below a folder (train/ and test/ are no parts of it) or those of a list that ends in .txt,
// for what names files: the label of an image is its number in the set, and any of them may be unreadable.
SrStatus sr_split_open_all(const SrConfig *config, const char *path, int batch, int crop,
                           SrSplit *out);
// Source and images of the test side alone, without transforms and loader.
SrStatus sr_split_open_test_set(const SrConfig *config, SrSplit *out);

// The transforms of evaluation as sr_split_open_eval takes them, and what to call them in messages.
SrStatus sr_split_eval_transforms(const SrConfig *config, int crop, SrArena *arena,
                                  const SrYaml **out, const char **where);

enum { SR_SPLIT_PATH_BYTES = 4096 };
// The folder of one split where train/ lies beside test/ or val/: below `path`, or, for the test, beside a path that is
// itself such a train/.  False: `path` has no such parts.
bool sr_split_part(const char *path, bool test, char out[SR_SPLIT_PATH_BYTES]);

// Source and images alone, the path's train/ or test/ part where it has them; which: "TRAIN" or "TEST".  Messages speak
// of DATA.TRAIN or DATA.TEST.  Close with sr_split_close, also on failure.
SrStatus sr_split_open_set(const SrSplitConfig *c, const char *which, uint64_t seed, SrSplit *out);

// Whether there are test images that training never sees (sr_split_open_eval would hold some out).
bool sr_split_has_test(const SrConfig *config);
// A second loader over an open training split: every image once, in the set's order.
SrStatus sr_split_in_order(const SrConfig *config, const SrSplit *train, SrLoader **out);

void sr_split_close(SrSplit *split); // joins the loader's threads; a zeroed split is fine

#endif
