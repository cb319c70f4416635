// The data contracts: data set -> decoded image -> transforms -> views -> collated batch.
//
// Images are uint8 RGB, (H, W, 3), until ToTensor; after it a view is float (H, W, 3), NHWC like
// everything else.  Each random choice comes from Philox keyed by (seed, epoch, sample, view,
// stage): what an image becomes does not depend on threads, batches or on what was drawn before.
#ifndef SR_DATA_DATA_H
#define SR_DATA_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/option.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/tensor.h"
#include "base/text.h"

// ---- images ----
// One of rgb, f and encoded is set.
typedef struct {
    int H, W;
    uint8_t *rgb;        // (H, W, 3), memory of the SrImagePool it came from
    float *f;            // (H, W, 3) after ToTensor
    const void *encoded; // a JPEG, PNG or WebP of H x W that nobody has needed the pixels of yet
    size_t encoded_bytes;
} SrImage;

// Scratch memory of one loader thread: grows while the first images pass, then is reused.
typedef struct SrImagePool SrImagePool;
SrStatus sr_image_pool_new(SrImagePool **out);
void sr_image_pool_free(SrImagePool *pool);
void sr_image_pool_reset(SrImagePool *pool); // everything handed out is free again
// 64-byte aligned, NULL when memory is out; valid until the next reset.
void *sr_image_pool_take(SrImagePool *pool, size_t bytes);
// Scratch: what was taken after the mark may be given back at once, newest first.
size_t sr_image_pool_mark(const SrImagePool *pool);
void sr_image_pool_rewind(SrImagePool *pool, size_t mark);
// PIL's decompression-bomb bound, of files and of what transforms make of them: 2 * 1024^3 / 4 / 3.
#define SR_IMAGE_MAX_PIXELS 178956970
// An image of h x w with its rgb in the pool; the pixels are not set.  SR_ERR_IO, a bad image, above that bound.
SrStatus sr_image_new(SrImagePool *pool, int h, int w, SrImage *out);

// ---- data sets ----
// One file each, descriptor `const SrDataset sr_dataset_<stem>` in data/sets/<stem>.c.
typedef struct {
    const void *encoded; // bytes of a JPEG, PNG or WebP, or NULL
    size_t encoded_bytes;
    SrImage image;    // when not encoded: pixels from the pool
    const char *path; // for messages; "" if it has none
} SrSample;

// DATA.TRAIN or DATA.TEST as far as a data set needs it.
typedef struct {
    const char *split;      // "TRAIN" or "TEST"
    const char *data_path;  // DATA_PATHS[i]
    const char *label_path; // LABEL_PATHS[i], "" if none
    const char *remove_prefix, *new_prefix;
    int64_t data_limit; // for synthetic's length
    int gray_size;      // DEFAULT_GRAY_IMG_SIZE
    bool random_images; // RANDOM_SYNTHETIC_IMAGES
    int random_labels;  // RANDOM_SYNTHETIC_LABELS
    uint64_t seed;
} SrDatasetConfig;

// For the contract tests: a small set of the source, written into a folder of its own and opened as DATA.TRAIN.
typedef struct {
    const char *path;   // below that folder; NULL ends the list
    const char *bytes;  // what the file begins with; NULL: it is a picture of h x w
    int n_bytes, zeros; // how many bytes those are, and how many zeros follow them
    int h, w;
} SrExampleFile;
#define SR_EXAMPLE_TEXT(text) .bytes = text, .n_bytes = (int)sizeof(text) - 1

typedef struct {
    SrExampleFile files[6];
    SrDatasetConfig
        config; // data_path and label_path lie below the folder, "." is the folder itself
    int64_t images;
    int classes;
} SrDatasetExample;

typedef struct SrDataset {
    const char *name; // an entry of DATA_SOURCES: "disk_folder"
    const char *help;
    bool reads_label_path; // LABEL_PATHS names its labels; false: images bring their own
    const char *keys; // of DATA.TRAIN that this source alone reads, blanks between them; NULL: none
    size_t set_bytes; // of an opened set
    // Fills a zeroed set.  What it took before a failure, close gives back: it gets every set that open was given.
    SrStatus (*open)(const SrDatasetConfig *config, void *set);
    void (*close)(void *set); // what the set holds, not the set itself; NULL: it holds nothing
    int64_t (*length)(const void *set);
    // Thread-safe.  Reads item i into memory of the pool.  SR_ERR_IO: the image is bad, and another may take its place.
    // SR_ERR_RUN: the system failed (disk, descriptors), which ends the run.  SR_ERR_MEMORY.
    SrStatus (*read)(const void *set, int64_t i, SrImagePool *pool, SrSample *out);
    // The file item i lies in, in memory of the pool, without opening it; NULL: items have no files.
    // In an archive ARCHIVE.tar/MEMBER.
    SrStatus (*path)(const void *set, int64_t i, SrImagePool *pool, const char **out);
    int64_t (*label)(const void *set, int64_t i); // -1 if it has none
    // Several labels an image (VOC): 1, 0, -1 (not known) of each of the `classes` for item i.  NULL, or
    // NULL for item 0: one class an image.
    const int8_t *(*targets)(const void *set, int64_t i);
    int (*classes)(const void *set);                   // 0 if it has no labels
    const char *(*class_name)(const void *set, int c); // NULL allowed
    // Where runs of items begin that lie one behind the other on disk, (*n + 1) with the end: an
    // epoch's order goes run by run (sampler.h).  NULL: reading anywhere costs the same.
    const int64_t *(*runs)(const void *set, int64_t *n);
    // Files that were passed over, by type ("3 .gif, 1 other"), "" if none.  NULL: there are none.
    const char *(*skipped)(const void *set);
    // Does this path look like one of ours, and hold images of that split ("TRAIN", "TEST")?  TEST
    // only where the source itself tells its test images apart.  For an empty DATA_SOURCES; looks at
    // names only, opens nothing large.  NULL: never inferred.
    bool (*accepts)(const char *path, const char *split);
    const SrDatasetExample *examples; // at least one
    int n_examples;
} SrDataset;

SrStatus sr_dataset_open(const SrDataset *source, const SrDatasetConfig *config, void **set);
void sr_dataset_close(const SrDataset *source, void *set); // NULL is fine
const SrDataset *sr_dataset_at(int i);
SrStatus sr_dataset_find(const char *name, const SrDataset **out);
// The source whose `accepts` says yes, in the registry's order but disk_folder last, because it
// takes any folder. None: SR_ERR_CONFIG that says what was looked for.
SrStatus sr_dataset_infer(const char *path, const char *split, const SrDataset **out);

// Decodes JPEG, PNG (stb_image) or WebP (where libwebp was there) to RGB as PIL's convert("RGB") does.  Dimensions are read and
// bounded (1 .. 65500 a side, 178 Mpixel: PIL's own bound) before anything is decoded.  SR_ERR_IO
// with the reason. One difference from PIL: 16-bit grey keeps its high byte, where PIL clips
// everything above 255.
const char *sr_image_decoder_name(void); // reads JPEG here: "libjpeg-turbo" or "stb_image"
const char *sr_image_webp_name(void);    // reads WebP here: "libwebp" or "nothing"
SrStatus sr_image_decode(const void *bytes, size_t n, SrImagePool *pool, SrImage *out);
// The same in two steps: the size first (`encoded` is borrowed), the pixels when it is known what for.
SrStatus sr_image_open(const void *bytes, size_t n, SrImage *out);
// No-op on an image that has its pixels.  reduce 1, 2, 4, 8: H and W become that part, rounded up, where
// the decoder can do it (JPEG with libjpeg-turbo), or stay.
SrStatus sr_image_finish(SrImage *image, int reduce, SrImagePool *pool);

// ---- further tensors of a batch ----
// What a batch holds besides pixels, labels and indices: masks of hidden patches, soft targets.
// Transforms and collators announce them with the plan and fill them; a loss reaches one by its name
// (sr_loss_extra).
#define SR_MAX_EXTRAS 64
#define SR_EXTRA_LABEL "label" // in the place of the labels: (classes) of F32, a distribution
typedef struct {
    const char *name; // "mask"
    int view;         // which view of the transforms, or input of the plan, it belongs to
    SrShape shape;    // of one image; a batch has (N, ...)
    SrDtype dtype;
    int from; // in a plan: the transforms' extra it is, -1: the collator fills it
} SrBatchExtra;

typedef struct {
    int n;
    SrBatchExtra v[SR_MAX_EXTRAS];
} SrExtras;
SrStatus sr_extras_add(SrExtras *extras, const SrBatchExtra *extra);    // SR_ERR_CONFIG when full
int sr_extras_find(const SrExtras *extras, const char *name, int view); // -1 if absent
size_t sr_batch_extra_bytes(const SrBatchExtra *extra);                 // of one image

// ---- transforms ----
// One file each, descriptor `const SrTransform sr_transform_<stem>` in data/augment/<stem>.c.
typedef struct {
    int n; // images so far: 1, then one a view after a multi-crop
    SrImage view[SR_MAX_VIEWS];
    float *out[SR_MAX_VIEWS]; // where ToTensor shall put each view, (h, w, 3); NULL: into the pool
    int h[SR_MAX_VIEWS], w[SR_MAX_VIEWS]; // the size that out[v] has room for
} SrViews;

typedef struct {
    uint64_t seed;
    int64_t epoch, sample;
    uint32_t stage; // index in TRANSFORMS
    bool fast;      // false: PIL's arithmetic to one grey level
    bool last;      // no transform follows: floats may go to their place in the batch at once
    SrImagePool *pool;
    int64_t *label; // transforms that make their own labels write here (SrTransform.classes)
    SrText *told; // (64) gets what is drawn for each view, in words, by sr__tell; NULL: nobody asks
    // What the transforms announced, and where each goes for this image; NULL: nowhere.
    const SrExtras *extras;
    void *const *extra;
} SrTransformContext;

typedef struct SrTransform {
    const char *name; // "ImgPilToMultiCrop", "RandomHorizontalFlip", ...
    const char *help;
    const SrOption *options;
    size_t params_bytes;
    // For the contract tests: its keys as they stand behind its name ("size: 32"), and the transforms before it in
    // flow YAML.  NULL: no keys; one image as two views, or as a tensor where it takes_floats.
    const char *example, *stands_on;
    bool fixed; // draws nothing and looks at nothing but the image: the same in every epoch
    bool takes_floats, gives_floats; // ToTensor gives them, Normalize takes and gives them
    bool
        normalizes; // subtracts a mean and divides: its params begin with SrNormalize (augment/normalize.h)
    bool takes_encoded; // finishes images itself; for all others the pipeline does before
    SrStatus (*check)(const void *params); // beyond ranges; NULL: nothing to check
    // Builds what the parsed options imply (an inner pipeline) in `arena`; `stage` is its own
    // index; NULL: nothing.
    SrStatus (*prepare)(void *params, const char *where, uint32_t stage, SrArena *arena);
    // Can it do what the transform after it does on the way?  Then that one is not run; its draws are
    // still keyed by its own stage.  NULL: no.
    bool (*absorb)(void *params, const struct SrTransform *next, const void *next_params,
                   uint32_t next_stage);
    // Views and sizes it leaves, from the views and sizes it gets (0 x 0: as large as the file).
    // NULL: the same.
    SrStatus (*shape)(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]);
    // Announces the extras that `apply` fills, from the views it gets.  NULL: it makes none.
    SrStatus (*extras)(const void *params, int n, const int h[SR_MAX_VIEWS],
                       const int w[SR_MAX_VIEWS], SrExtras *out);
    // How many classes the labels have that `apply` makes in place of the source's; NULL: it makes none.
    int (*classes)(const void *params);
    // Labels become so many columns, 1 at the image's class and else 0, which the loader writes; NULL: they stay.
    int (*targets)(const void *params);
    // Draws for view v with sr_rng(ctx->seed, SR_RNG_TRANSFORM, epoch, sample, v, stage).
    // SR_ERR_MEMORY, or SR_ERR_IO from finishing a damaged image.
    SrStatus (*apply)(const void *params, const SrTransformContext *ctx, SrViews *views);
} SrTransform;

const SrTransform *sr_transform_at(int i);
SrStatus sr_transform_find(const char *name, const SrTransform **out);

// A list of transforms as TRANSFORMS has it: [{name: ..., keys...}, ...].
typedef struct SrPipeline SrPipeline;
SrStatus sr_pipeline_new(const SrYaml *transforms, const char *where, SrPipeline **out);
void sr_pipeline_free(SrPipeline *pipeline);
// One log line for each option of the list's transforms that is set and changes nothing; SR_ERR_CONFIG where the option
// is refused.  A list that cannot be read is sr_pipeline_new's to complain about.
SrStatus sr_pipeline_report_ignored(const SrYaml *transforms, const char *where, SrArena *arena);
// Every wrong key of the list's transforms into `problems`.  What is no list or has no known name is left to others.
SrStatus sr_pipeline_check(const SrYaml *transforms, const char *where, SrArena *arena,
                           SrProblems *problems);
// Number and size of the views that come out; SR_ERR_CONFIG when a size stays open or there is no
// ToTensor.  Where only square files give one size, they are taken to be square.
SrStatus sr_pipeline_shape(const SrPipeline *pipeline, int *n, int h[SR_MAX_VIEWS],
                           int w[SR_MAX_VIEWS]);
// The extras that the transforms make of an image, by view.
SrStatus sr_pipeline_extras(const SrPipeline *pipeline, SrExtras *out);
// Where a transform puts its extra of that name and view; NULL: nobody wants it.
void *sr_transform_extra(const SrTransformContext *ctx, const char *name, int view);
// Classes of the labels that the transforms make in place of the source's, 0 if they make none.
int sr_pipeline_classes(const SrPipeline *pipeline);
// Columns that the transforms make of a class, 0 if they leave it.
int sr_pipeline_targets(const SrPipeline *pipeline);
// Every transform is fixed: what comes out depends on the image alone and may be kept.
bool sr_pipeline_is_fixed(const SrPipeline *pipeline);
SrStatus sr_pipeline_apply(const SrPipeline *pipeline, const SrTransformContext *ctx,
                           SrViews *views);

// ---- collators ----
// What becomes of the views of a batch's images: VISSL's `data`, `label` and further keys.  One file
// each, descriptor `const SrCollator sr_collator_<stem>` in data/collators/<stem>.c.
//
// A collator first plans: which tensors the model begins with and where in them each view goes, so
// that the loader writes pixels straight to their place, and which further tensors there are.  Then,
// where images act on each other, it fills: in place, batch by batch.  Labels, indices and validity are
// one an image; VISSL repeats them for every view, a loss here takes those of row r from image r mod N.
typedef struct {
    const char *name; // VISSL's key: "data", "images", "patches"; a list has one name for all
    int h, w;
    int rows; // an image: rows image * rows + k of one tensor (N * rows, h, w, 3)
} SrBatchInput;

typedef struct {
    // In: what the transforms make of an image.
    int n_views, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    SrExtras made;
    // Out.
    int n_inputs;
    SrBatchInput input[SR_MAX_VIEWS];
    struct {
        int input, k;      // the view is row image * rows + k of that input
    } place[SR_MAX_VIEWS]; // of each view
    SrExtras extras;       // of the batch, by input
    int merged;            // images of the data set that become one of the batch; 0: 1
    int n_targets; // labels are columns of so many classes, 1 or 0; 0: as the data set has them
} SrBatchPlan;

typedef struct SrBatch SrBatch;

// Which batch it is: draws are those of sr_rng(seed, SR_RNG_COLLATE, epoch, number, view, image).
typedef struct {
    uint64_t seed;
    int64_t epoch, number;
} SrCollateContext;

// For the contract tests: options in flow YAML, and views of these sizes.
typedef struct {
    const char *options;
    int sizes[8]; // 0 ends
    bool masks;   // of the transforms, an extra "mask" of 4 patches for every view
} SrCollatorExample;

typedef struct SrCollator {
    const char *name; // COLLATE_FUNCTION
    const char *help;
    const SrOption *options; // COLLATE_FUNCTION_PARAMS
    size_t params_bytes;
    // Fills the plan's second half.  SR_ERR_CONFIG when the views do not fit.
    SrStatus (*plan)(const void *params, SrBatchPlan *plan);
    bool plans_extras; // `plan` says which extras of the transforms are taken; false: all are
    // Once all images of a batch are there: changes them in place, fills the extras it announced, and
    // lowers batch->batch where the plan merges images.  Any thread; allocates nothing.  NULL: nothing
    // to do.
    void (*fill)(const void *params, const SrBatchPlan *plan, const SrCollateContext *ctx,
                 SrBatch *batch);
    const SrCollatorExample *examples; // at least one
    int n_examples;
} SrCollator;
const SrCollator *sr_collator_at(int i);
SrStatus sr_collator_find(const char *name, const SrCollator **out);

// A collator with its options, and what it made of the views of a pipeline.
typedef struct {
    const SrCollator *collator;
    void *params;
    SrBatchPlan plan;
} SrCollation;
// What the transforms give an image.
typedef struct {
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS]; // views
    SrExtras extras;
} SrCollateViews;
// options: a map, NULL: all defaults; `where` is the split for messages ("DATA.TRAIN").  Lives in `arena`.
SrStatus sr_collation_new(const char *name, const SrYaml *options, const char *where,
                          const SrCollateViews *views, SrArena *arena, SrCollation *out);
// Floats from the beginning of its input to view v of an image.
int64_t sr_batch_offset(const SrBatchPlan *plan, int v, int image);
// Images of the batch that come of so many of the data set.
int sr_batch_plan_images(const SrBatchPlan *plan, int images);

// For collators: the next input, of views first .. first + n - 1 with their rows side by side.
// SR_ERR_CONFIG when they are not of one size.
SrStatus sr_batch_plan_input(SrBatchPlan *plan, const char *name, int first, int n);
// An input a view, all under that name.
SrStatus sr_batch_plan_list(SrBatchPlan *plan, const char *name);
// Takes over an extra of the transforms, for the input of its view.  SR_ERR_CONFIG where that input
// holds several views.
SrStatus sr_batch_plan_take(SrBatchPlan *plan, int made);

// ---- loader ----
// What a step gets.  view[i] is input i of the collator's plan: (N * rows, H_i, W_i, 3) floats; without a
// collator crop i of all images.
struct SrBatch {
    int n_views, batch;
    float *view[SR_MAX_VIEWS];
    int h[SR_MAX_VIEWS], w[SR_MAX_VIEWS], rows[SR_MAX_VIEWS];
    int n_targets;  // several labels an image: the number of classes; else 0
    int64_t *label; // (N), or (N, n_targets) of 1, 0, -1
    int64_t *index; // (N) position in the (sub)set
    int8_t *valid;  // (N) 1, or -1 for a replaced bad image
    // Extras of the plan, in its order: (N, ...).  Where one is SR_EXTRA_LABEL, `label` holds the
    // heaviest class of the first.
    void *extra[SR_MAX_EXTRAS];
};

// Of every `of` batches in a row those from `first` on, `count` of them: a rank's replicas.  of 0: all.
typedef struct {
    int of, first, count;
} SrShare;

typedef struct {
    // where images come from
    const SrDataset *dataset; // the one source of the images: lists of several are refused
    void *set;                // what dataset->open gave; the caller closes it after the loader
    int64_t limit;            // DATA_LIMIT, -1: all
    bool limit_balanced;
    uint64_t limit_seed;
    int64_t limit_skip;
    const SrPipeline *pipeline;
    const SrCollation *collation; // borrowed, of the pipeline's views; NULL: an input a view
    int batch;
    SrShare share; // the batches this loader gives, in the order of all
    int replicas;  // of which batch k is the (k mod replicas)-th's; 0: 1
    bool drop_last, shuffle;
    const char *label_type; // "standard", "sample_index", "zero"
    const int64_t
        *class_map; // what to give for each of the set's classes, borrowed; NULL: themselves
    int threads;    // NUM_DATALOADER_WORKERS; 0: decode in the caller
    int prefetch;   // batches ahead; at least 1
    int gray_size;
    bool
        unlabel_bad; // a replaced image has the label -1, or -1 in all its targets: it judges nothing
    double max_bad_share; // fail when more than this share of an epoch's images cannot be decoded
    bool fast;
    uint64_t seed;
} SrLoaderConfig;

typedef struct SrLoader SrLoader;

// out (n_targets): 1 at each of the classes, else 0; a class outside of them is nowhere.
void sr_one_hot(const int64_t *classes, int n, int n_targets, int64_t *out);

SrStatus sr_loader_new(const SrLoaderConfig *config, SrLoader **out);
void sr_loader_free(SrLoader *loader);             // joins all threads
int64_t sr_loader_length(const SrLoader *loader);  // images an epoch, of all shares
int64_t sr_loader_samples(const SrLoader *loader); // images SrBatch.index counts, dropped ones too
int64_t sr_loader_batches(const SrLoader *loader); // batches an epoch, of the share
int sr_loader_targets(const SrLoader *loader);     // n_targets of its batches
int sr_loader_batch(const SrLoader *loader);       // images of a whole batch
// Other batches from the next start on; it is begun anew by that.
void sr_loader_set_share(SrLoader *loader, SrShare share);
// order (sr_loader_samples): the images of an epoch in the order that its batches show them, as SrBatch.index has them.
// A function of (seed, epoch) alone.
SrStatus sr_loader_order(const SrLoader *loader, int64_t epoch, uint32_t *order);
// The item of the data set that an SrBatch.index stands for.
int64_t sr_loader_in_set(const SrLoader *loader, int64_t index);
// Starts an epoch at batch `first` (resume).  The order is a function of (seed, epoch) alone.
SrStatus sr_loader_start(SrLoader *loader, int64_t epoch, int64_t first);
// The next batch in order, *batch NULL at the end; memory is valid until the next call.  Allocates
// nothing once the first epoch's pools have grown.  wait_s: seconds the caller waited.
SrStatus sr_loader_next(SrLoader *loader, const SrBatch **batch, double *wait_s);

// Bad images so far.
typedef struct {
    int64_t seen, bad;             // in all epochs
    int64_t epoch_seen, epoch_bad; // in the last one
    int n_listed;                  // the first 20 paths with their reasons
    const char *listed[20];
} SrBadReport;
void sr_loader_bad(const SrLoader *loader, SrBadReport *out);

#endif
