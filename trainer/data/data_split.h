// Opens a split of the data: source, transforms, loader.  There is the training split of the
// training loop, and the two splits of an evaluation: the bank of training images and the test
// images, both with the transforms of evaluation.
#ifndef SR_TRAINER_DATA_DATA_SPLIT_H
#define SR_TRAINER_DATA_DATA_SPLIT_H

#include "data/load/loader.h"
#include "trainer/config/config.h"

#define SR_SPLIT_BATCHES_AHEAD 4 // batches that a loader holds, with the one in use

// Origin of the test images.
typedef enum {
    SR_TEST_CONFIGURED, // DATA.TEST names them
    SR_TEST_OF_SOURCE,  // the training source has its own test images
    SR_TEST_HELD_OUT    // a tenth of the training images is held out
} SrTestOrigin;

typedef struct {
    const SrDataset *source;
    void *set;
    SrPipeline *pipeline;
    SrLoader *loader;
    SrArena arena;
    const char *path;    // path of the images.  "": none
    SrTestOrigin origin; // for a test split
    // Collator of a training split, which plans the inputs below.  NULL: one input per view
    const SrCollation *collation;
    int n_views;
    int h[SR_MAX_VIEWS], w[SR_MAX_VIEWS]; // pixels of each input
    int rows[SR_MAX_VIEWS];               // rows per image in each input.  0: one
    int classes;      // classes of the source's labels or of its transforms'.  0: no labels
    int n_targets;    // classes, with several labels per image.  0: one label
    int crops;        // random crops per image, one per pass over the images.  0: whole images
    bool shared;      // all ranks make a pass over the images, and share out its work
    const char *note; // sentence on how the images were chosen.  "": nothing to say
} SrSplit;

// Form of the images: what DATA.CHANNELS, KEEP_BITS and COLOR_TRANSFORMS ask for.  config NULL: RGB
// of 8 bits.
SrPixelForm sr_split_form(const SrConfig *config);
// Gets number and sizes of the training views from the transforms, without opening any data.
SrStatus sr_split_train_shape(const SrConfig *config, int *n_views, int h[SR_MAX_VIEWS],
                              int w[SR_MAX_VIEWS]);
// Fills collation, n_views, h, w and rows of a zeroed split with the inputs that the collator
// makes.
SrStatus sr_split_plan_train(const SrConfig *config, SrSplit *out);
// Counts the images of a training epoch; opens the data set to do so.
SrStatus sr_split_train_length(const SrConfig *config, int64_t *n);
// Gets number and sizes of the views of evaluation; SR_SPLIT_EVAL_CROP without
// DATA.TEST.TRANSFORMS.
#define SR_SPLIT_EVAL_CROP 224
SrStatus sr_split_eval_shape(const SrConfig *config, int *n_views, int h[SR_MAX_VIEWS],
                             int w[SR_MAX_VIEWS]);

// Opens the training split.  Order and augmentation follow from config->seed; batches have
// BATCHSIZE_PER_REPLICA images.
SrStatus sr_split_open_train(const SrConfig *config, SrSplit *out);

// This rank's share of an evaluation: every P-th batch, where P is the number of ranks.
SrShare sr_split_turns(void);
// This rank's share of the training batches: those of its replicas.
SrShare sr_split_share(const SrConfig *config);

// SR_SIDE_PHASE: the test images for a test phase, which obeys DATA.TEST.DROP_LAST.
typedef enum { SR_SIDE_BANK, SR_SIDE_TEST, SR_SIDE_PHASE } SrEvalSide;
// Opens a split for evaluation: in order, nothing dropped, one view per image.  Transforms are
// DATA.TEST.TRANSFORMS, or else resize, centre crop of crop x crop, to tensor, and the Normalize of
// training.  With config->knn.crops the resize and the centre crop make place for a random crop
// (trainer/data/eval_crops.h), and epoch k of the loader has crop k of each image.
//
// Test images are those of DATA.TEST.DATA_PATHS.  Without them, they are the test images that the
// training source has (IDX, CIFAR, a folder train/ next to test/ or val/).  Without those, a
// tenth of the training images is held out of the bank: the model has seen them, but not their
// labels.
//   sample  shuffle, and give whole batches only, for statistics over a few of them
//   train   labels are the class numbers of this split, matched by name; NULL: the set's own
SrStatus sr_split_open_eval(const SrConfig *config, SrEvalSide side, bool sample, int batch,
                            int crop, const SrSplit *train, SrSplit *out);
// Opens every image at `path`: all below a folder (train/ and test/ included), or those of a list
// that ends in .txt.  An image's label is its number in the set; any image may be unreadable.
SrStatus sr_split_open_all(const SrConfig *config, const char *path, int batch, int crop,
                           SrSplit *out);
// Opens source and images of the test split, without transforms and loader.
SrStatus sr_split_open_test_set(const SrConfig *config, SrSplit *out);

// Matches the classes of the test images with those of training (sr_class_match).  *map lives in
// test->arena.  train NULL, or without a source: no map is needed.
SrStatus sr_split_match_classes(const SrSplit *train, SrSplit *test, const int64_t **map);

// Gets the transforms that sr_split_open_eval uses, and their name for messages.
SrStatus sr_split_eval_transforms(const SrConfig *config, int crop, SrArena *arena,
                                  const SrYaml **out, const char **where);

enum { SR_SPLIT_PATH_BYTES = 4096 };
// Gets the folder of one split where train/ is next to test/ or val/.  The folders are below
// `path`; for the test, `path` may also be such a train/ itself.  False: there are no such
// folders.
bool sr_split_part(const char *path, bool test, char out[SR_SPLIT_PATH_BYTES]);

// Opens source and images, from the path's train/ or test/ folder if it has them.  which: "TRAIN"
// or "TEST", also for messages.  Close with sr_split_close, also on failure.
//   form  form of the images that the set is to give
SrStatus sr_split_open_set(const SrSplitConfig *c, SrPixelForm form, const char *which,
                           uint64_t seed, SrSplit *out);

// True if there are test images that training never sees.  False: sr_split_open_eval holds some
// out.
bool sr_split_has_test(const SrConfig *config);
// Opens a second loader over an open training split: every image once, in the set's order.
SrStatus sr_split_in_order(const SrConfig *config, const SrSplit *train, SrLoader **out);

void sr_split_close(SrSplit *split); // joins the loader's threads; legal for a zeroed split

#endif
