// Contracts of the data path: data set -> decoded image -> transforms -> views -> collated batch.
//
// Images are uint8 RGB, (H, W, 3), until ToTensor; after it a view is float (H, W, 3), NHWC like
// all tensors here.  A run of C channels, or of samples that keep all bits, has float (H, W, C)
// images from the reader on (SrPixelForm).  Each random choice comes from Philox keyed by (seed,
// epoch, sample, view, stage).  The views of an image therefore do not depend on threads, batches
// or earlier draws.
#ifndef SR_DATA_DATA_H
#define SR_DATA_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/plugin/option.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/tensor.h"
#include "base/text/text.h"

// ---- images ----
#define SR_MAX_CHANNELS 1024
// Form of the images of a run.  Samples that become floats are divided by the largest level of
// their type (255 or 65535), so that 1 is white; floats in files keep their values.
typedef struct {
    int channels;    // floats of so many channels per pixel; 0: RGB of 8 bits
    bool skip_color; // leave out the transforms that need colours; false: they are an error
} SrPixelForm;

// A picture in one of three forms: exactly one of rgb, f and encoded is set.
typedef struct {
    int H, W;
    // Channels of f; for an encoded image, those of the floats that decoding gives.  0: f has 3,
    // and decoding gives rgb.
    int channels;
    uint8_t *rgb;        // (H, W, 3); owned by the SrImagePool it was taken from
    float *f;            // (H, W, C), after ToTensor or by SrPixelForm; owned by pool or batch
    const void *encoded; // bytes of an image file of H x W, not decoded yet; borrowed
    size_t encoded_bytes;
} SrImage;

// Scratch memory of one loader thread.  It grows with the first images and is reused afterwards.
typedef struct SrImagePool SrImagePool;
SrStatus sr_image_pool_new(SrImagePool **out);
void sr_image_pool_free(SrImagePool *pool);
void sr_image_pool_reset(SrImagePool *pool); // takes back all memory that was handed out
// Returns memory aligned to 64 bytes, valid until the next reset.  NULL: out of memory.
void *sr_image_pool_take(SrImagePool *pool, size_t bytes);
// A mark names a position of the pool; rewinding to it gives back all that was taken after it.
// Several marks are rewound in the reverse of the order in which they were made.
size_t sr_image_pool_mark(const SrImagePool *pool);
void sr_image_pool_rewind(SrImagePool *pool, size_t mark);
// Most pixels of an image, in a file or after a transform.  PIL calls twice its warning limit of
// 1024^3 / 4 / 3 pixels a decompression bomb, and this is the same bound.
#define SR_IMAGE_MAX_PIXELS 178956970
// Makes an image of h x w with rgb in the pool and pixels not set.  SR_ERR_IO (a bad image): the
// size is above SR_IMAGE_MAX_PIXELS.
SrStatus sr_image_new(SrImagePool *pool, int h, int w, SrImage *out);
// Number of channels: 3 where 0 stands for RGB.
static inline int sr_channels(int channels) { return channels > 0 ? channels : 3; }
// Number of samples of an image's pixels, H * W * C.
static inline size_t sr_image_samples(const SrImage *image) {
    return (size_t)image->H * (size_t)image->W * (size_t)sr_channels(image->channels);
}

// ---- data sets ----
// Each data set is a file data/sets/<stem>.c with the descriptor `const SrDataset
// sr_dataset_<stem>`.
typedef struct {
    const void *encoded; // bytes of an image file, owned by the pool; NULL: see image
    size_t encoded_bytes;
    SrImage image;    // pixels, owned by the pool; unset if `encoded` is set
    const char *path; // file name for messages; "": the source has no files
} SrSample;

// The keys of DATA.TRAIN or DATA.TEST that a data set reads.  Strings are borrowed.
typedef struct {
    const char *split;      // "TRAIN" or "TEST"
    const char *data_path;  // DATA_PATHS[i]
    const char *label_path; // LABEL_PATHS[i], "" if none
    const char *remove_prefix, *new_prefix;
    int64_t data_limit; // DATA_LIMIT; only `synthetic` reads it, as its length
    int gray_size;      // DEFAULT_GRAY_IMG_SIZE
    bool random_images; // RANDOM_SYNTHETIC_IMAGES
    int random_labels;  // RANDOM_SYNTHETIC_LABELS
    int channels;       // SrPixelForm.channels; a set that gives rgb may leave the floats to others
    uint64_t seed;
} SrDatasetConfig;

// One file of a small example set.  The contract tests write the files into an empty folder and
// open them as DATA.TRAIN.
typedef struct {
    const char *path;   // path below that folder; NULL ends the list
    const char *bytes;  // first bytes of the file; NULL: the file is a picture of h x w
    int n_bytes, zeros; // length of `bytes`, and number of zero bytes after them
    int h, w;           // size in pixels of the picture
} SrExampleFile;
#define SR_EXAMPLE_TEXT(text) .bytes = text, .n_bytes = (int)sizeof(text) - 1

typedef struct {
    SrExampleFile files[6];
    // Paths in `config` are relative to the folder; "." is the folder itself.
    SrDatasetConfig config;
    int64_t images;
    int classes;
} SrDatasetExample;

typedef struct SrDataset {
    const char *name; // entry of DATA_SOURCES, such as "disk_folder"
    const char *help; // description for lists of data sets
    // True: the source reads its labels from LABEL_PATHS.  False: the images bring their labels.
    bool reads_label_path;
    // True: the source makes its images itself and reads no file.
    bool makes_images;
    // Keys of DATA.TRAIN that only this source reads, separated by blanks.  NULL: none.
    const char *keys;
    size_t set_bytes; // size in bytes of an opened set, which the caller allocates
    // Fills a zeroed set.  `close` is called also after a failure and frees what `open` took.
    SrStatus (*open)(const SrDatasetConfig *config, void *set);
    // Frees what the set holds, not the set itself.  NULL: the set holds nothing.
    void (*close)(void *set);
    int64_t (*length)(const void *set); // number of items
    // Reads item i into memory of the pool.  Thread-safe.
    // SR_ERR_IO: the image is bad, and a replacement may take its place.  SR_ERR_RUN: the system
    // failed (disk, descriptors), which ends the run.  SR_ERR_MEMORY: out of memory.
    SrStatus (*read)(const void *set, int64_t i, SrImagePool *pool, SrSample *out);
    // Gives the path of item i's file without opening it, in memory of the pool.  An item of an
    // archive has the path ARCHIVE.tar/MEMBER.  NULL: items have no files.
    SrStatus (*path)(const void *set, int64_t i, SrImagePool *pool, const char **out);
    int64_t (*label)(const void *set, int64_t i); // class of item i; -1: none
    // For several labels per image (VOC): returns (classes) values 1, 0 or -1 (not known) of item
    // i. The set owns them.  A NULL function, or NULL for item 0: every image has one class.
    const int8_t *(*targets)(const void *set, int64_t i);
    int (*classes)(const void *set);                   // number of classes; 0: no labels
    const char *(*class_name)(const void *set, int c); // name of class c; may be NULL
    // Returns the first item of each run, (*n + 1) with the end; the set owns the array.  Items of
    // a run are neighbours on disk, and an epoch reads run by run (sampler.h).  NULL: all items
    // cost the same in any order.
    const int64_t *(*runs)(const void *set, int64_t *n);
    // Tells the samples of the images at a path without opening the set: channels per pixel, and
    // bits of a sample (32: floats).  NULL: the files' headers tell (image_probe.h).
    SrStatus (*samples)(const char *path, int *channels, int *bits);
    // Describes the files that were passed over, by type ("3 .gif, 1 other").  "": none were.
    // NULL: the source passes nothing over.
    const char *(*skipped)(const void *set);
    // Tells whether the path looks like this source's and holds images of the split ("TRAIN",
    // "TEST").  TEST is accepted only if the source itself tells its test images apart.  Used when
    // DATA_SOURCES is empty; looks at names only.  NULL: the source is never inferred.
    bool (*accepts)(const char *path, const char *split);
    const SrDatasetExample *examples; // (n_examples), at least one
    int n_examples;
} SrDataset;

SrStatus sr_dataset_open(const SrDataset *source, const SrDatasetConfig *config, void **set);
void sr_dataset_close(const SrDataset *source, void *set); // set NULL: does nothing
const SrDataset *sr_dataset_at(int i);
SrStatus sr_dataset_find(const char *name, const SrDataset **out);
// Finds the first source whose `accepts` returns true, in the order of the registry.  disk_folder
// is asked last because it takes any folder.  SR_ERR_CONFIG: no source accepts the path.
SrStatus sr_dataset_infer(const char *path, const char *split, const SrDataset **out);

const char *sr_image_decoder_name(void); // decoder of JPEG: "libjpeg-turbo" or "stb_image"
const char *sr_image_webp_name(void);    // decoder of WebP: "libwebp" or "nothing"
const char *sr_image_tiff_name(void);    // decoder of TIFF: "libtiff" or "nothing"
const char *sr_image_heif_name(void);    // decoder of HEIC and AVIF: "libheif" or "nothing"
// Decodes an image file to RGB as PIL's exif_transpose and convert("RGB") do.  The size is read
// first and bounded: 1 to 65500 pixels per side and SR_IMAGE_MAX_PIXELS in all.  Of 16 bits the
// upper 8 are kept; PIL clips all levels of 16-bit grey above 255.  SR_ERR_IO: a bad image.
SrStatus sr_image_decode(const void *bytes, size_t n, SrImagePool *pool, SrImage *out);
// The first half of sr_image_decode: reads the size and leaves the image encoded.  `bytes` stay the
// caller's and must live as long as the image is encoded.
SrStatus sr_image_open(const void *bytes, size_t n, SrImage *out);
// The second half: decodes an encoded image, to floats if image->channels is set: TIFF and PNG
// keep all bits of their samples.  Does nothing if the image has its pixels.  reduce 1,
// 2, 4 or 8: H and W are divided by it and rounded up if the decoder can do that (JPEG with
// libjpeg-turbo); other decoders keep the size.
SrStatus sr_image_finish(SrImage *image, int reduce, SrImagePool *pool);

// ---- further tensors of a batch ----
// Extras are tensors of a batch other than pixels, labels and indices: masks of hidden patches,
// soft targets.  Transforms and collators announce them with the plan and fill them.  A loss
// finds one by its name (sr_loss_extra).
#define SR_MAX_EXTRAS 64
#define SR_EXTRA_LABEL "label" // extra that replaces the label: (classes) F32, a distribution
typedef struct {
    const char *name; // such as "mask"
    int view;         // number of its view (transforms) or of its input (plan)
    SrShape shape;    // shape for one image; a batch has (N, ...)
    SrDtype dtype;
    int from; // in a plan: index of the transforms' extra; -1: the collator fills it
} SrBatchExtra;

typedef struct {
    int n;
    SrBatchExtra v[SR_MAX_EXTRAS];
} SrExtras;
SrStatus sr_extras_add(SrExtras *extras, const SrBatchExtra *extra);    // SR_ERR_CONFIG when full
int sr_extras_find(const SrExtras *extras, const char *name, int view); // index; -1: absent
size_t sr_batch_extra_bytes(const SrBatchExtra *extra);                 // bytes per image

// ---- transforms ----
typedef struct SrPipeline SrPipeline;
// Each transform is a file data/augment/<stem>.c with the descriptor `const SrTransform
// sr_transform_<stem>`.
typedef struct {
    int n; // number of views: 1 at first, more after a multi-crop
    SrImage view[SR_MAX_VIEWS];
    float *out[SR_MAX_VIEWS];             // target of ToTensor, (h, w, C); NULL: the pool
    int h[SR_MAX_VIEWS], w[SR_MAX_VIEWS]; // size in pixels that out[v] has room for
} SrViews;

typedef struct {
    uint64_t seed;
    int64_t epoch, sample;
    uint32_t stage; // index in TRANSFORMS
    bool fast;      // allows approximations; false: PIL's arithmetic to one grey level
    bool last;      // no transform follows: floats may be written into the batch directly
    SrImagePool *pool;
    int64_t *label; // target of transforms that make their own labels (SrTransform.classes)
    // (SR_MAX_VIEWS) Receives the draws for each view in words, by sr__tell.  NULL: not wanted.
    SrText *told;
    // Extras that the transforms announced.  NULL: none.
    const SrExtras *extras;
    void *const *extra; // (extras->n) target of each extra for this image; NULL: not wanted
} SrTransformContext;

// Images that a transform works on.
typedef enum {
    SR_PIXELS_RGB,   // RGB of 8 bits only
    SR_PIXELS_COLOR, // RGB of 8 bits only, whose colours it changes: others may do without it
    SR_PIXELS_ANY    // any number of channels, bytes and floats
} SrTransformPixels;

typedef struct SrTransform {
    const char *name; // "ImgPilToMultiCrop", "RandomHorizontalFlip", ...
    const char *help;
    const SrOption *options;
    size_t params_bytes; // size in bytes of the parsed options
    // For the contract tests, in flow YAML.  example: the transform's keys ("size: 32"); NULL:
    // none. stands_on: the transforms before it; NULL: the tests give one image as two views, or
    // a tensor if takes_floats is set.
    const char *example, *stands_on;
    bool fixed; // depends on the image alone and draws nothing: the same in every epoch
    bool takes_floats, gives_floats; // ToTensor gives floats, Normalize takes and gives them
    // Subtracts a mean and divides; its params begin with SrNormalize (data/augment/normalize.h).
    bool normalizes;
    bool takes_encoded; // decodes images itself; false: the pipeline decodes them first
    SrTransformPixels pixels;
    // Checks options that name channels for images of `channels` channels.  NULL: there are none.
    SrStatus (*check_channels)(const void *params, int channels);
    // Returns the pipeline inside the transform.  NULL: it has none.
    SrPipeline *(*inner)(const void *params);
    // Checks what option ranges cannot express.  NULL: nothing to check.
    SrStatus (*check)(const void *params);
    // Builds what the parsed options imply (an inner pipeline) in `arena`; `stage` is the
    // transform's own index.  NULL: nothing to build.
    SrStatus (*prepare)(void *params, const char *where, uint32_t stage, SrArena *arena);
    // Returns true if this transform will do the work of the next one too.  The next one is then
    // not run; its draws are still keyed by its own stage.  NULL: never.
    bool (*absorb)(void *params, const struct SrTransform *next, const void *next_params,
                   uint32_t next_stage);
    // Turns number and sizes of the incoming views into those of the outgoing views.  0 x 0 is an
    // open size, that of the file.  NULL: nothing changes.
    SrStatus (*shape)(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]);
    // Announces the extras that `apply` fills for n views of these sizes.  NULL: it makes none.
    SrStatus (*extras)(const void *params, int n, const int h[SR_MAX_VIEWS],
                       const int w[SR_MAX_VIEWS], SrExtras *out);
    // Number of classes of the labels that `apply` makes instead of the source's.  NULL: it makes
    // no labels.
    int (*classes)(const void *params);
    // Number of columns that labels become: 1 at the image's class, else 0; the loader writes them.
    // NULL: labels stay as they are.
    int (*targets)(const void *params);
    // Transforms all views.  Draws of view v come from sr_rng(ctx->seed, SR_RNG_TRANSFORM, epoch,
    // sample, v, stage).  SR_ERR_IO: the image that it decodes is damaged.  SR_ERR_MEMORY.
    SrStatus (*apply)(const void *params, const SrTransformContext *ctx, SrViews *views);
} SrTransform;

const SrTransform *sr_transform_at(int i);
SrStatus sr_transform_find(const char *name, const SrTransform **out);

// The transforms of one split, read from TRANSFORMS: [{name: ..., keys...}, ...].
SrStatus sr_pipeline_new(const SrYaml *transforms, const char *where, SrPipeline **out);
// Makes a pipeline for images of this form; sr_pipeline_new makes one for RGB of 8 bits.
// SR_ERR_CONFIG: a transform works on RGB of 8 bits only.
SrStatus sr_pipeline_new_for(const SrYaml *transforms, const char *where, SrPixelForm form,
                             SrPipeline **out);
SrPixelForm sr_pipeline_form(const SrPipeline *pipeline);
// Mean of channel c that the pipeline's Normalize subtracts.  0.5: there is no Normalize.
double sr_pipeline_mean(const SrPipeline *pipeline, int c);
void sr_pipeline_free(SrPipeline *pipeline);
// Logs a line for each option of the transforms that is set and changes nothing.  SR_ERR_CONFIG:
// such an option is refused.  An unreadable list gives SR_OK here; sr_pipeline_new reports it.
SrStatus sr_pipeline_report_ignored(const SrYaml *transforms, const char *where, SrArena *arena);
// Adds every wrong key of the transforms to `problems`.  Entries that are no transform or have an
// unknown name are passed over; sr_pipeline_new reports them.
SrStatus sr_pipeline_check(const SrYaml *transforms, const char *where, SrPixelForm form,
                           SrArena *arena, SrProblems *problems);
// Gives number and sizes of the outgoing views.  If only square files give one size, the files are
// assumed to be square.  SR_ERR_CONFIG: a size stays open, or ToTensor is missing.
SrStatus sr_pipeline_shape(const SrPipeline *pipeline, int *n, int h[SR_MAX_VIEWS],
                           int w[SR_MAX_VIEWS]);
// Gives the extras that the transforms make for an image, by view.
SrStatus sr_pipeline_extras(const SrPipeline *pipeline, SrExtras *out);
// Returns the target of a transform's extra of that name and view.  NULL: not wanted.
void *sr_transform_extra(const SrTransformContext *ctx, const char *name, int view);
// Number of classes of the labels that the transforms make.  0: the source's labels stay.
int sr_pipeline_classes(const SrPipeline *pipeline);
// Number of columns that the transforms make of a label.  0: labels stay as they are.
int sr_pipeline_targets(const SrPipeline *pipeline);
// True if every transform is fixed: views depend on the image alone, and a caller may keep them.
bool sr_pipeline_is_fixed(const SrPipeline *pipeline);
SrStatus sr_pipeline_apply(const SrPipeline *pipeline, const SrTransformContext *ctx,
                           SrViews *views);

// ---- collators ----
// A collator arranges the views of a batch into the tensors that a model reads: VISSL's `data`,
// `label` and further keys.  Each is a file data/collators/<stem>.c with the descriptor `const
// SrCollator sr_collator_<stem>`.
//
// A collator first plans the inputs of the model, the place of each view in them, and the extras.
// The loader then writes pixels directly to their place.  If images act on each other (mixup), the
// collator fills afterwards: it changes whole batches in place.  Labels, indices and validity exist
// once per image.  VISSL repeats them for every view; a loss here reads those of row r from image
// r mod N.
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

typedef struct SrBatch SrBatch;

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

// A collator with its options and its plan for the views of a pipeline.
typedef struct {
    const SrCollator *collator;
    void *params;
    SrBatchPlan plan;
} SrCollation;
// Views and extras that the transforms make of an image.
typedef struct {
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS]; // number of views, and their sizes in pixels
    int channels;                            // channels of the views; 0: 3
    SrExtras extras;
} SrCollateViews;
// Finds the collator, parses its options and makes its plan; all memory is the arena's.  options:
// a map; NULL: all defaults.  where: the split for messages ("DATA.TRAIN").
SrStatus sr_collation_new(const char *name, const SrYaml *options, const char *where,
                          const SrCollateViews *views, SrArena *arena, SrCollation *out);
// Offset in floats of view v of an image within its input.
int64_t sr_batch_offset(const SrBatchPlan *plan, int v, int image);
// Number of images of a batch that is made of `images` images of the data set.
int sr_batch_plan_images(const SrBatchPlan *plan, int images);

// For collators: adds an input of the views first .. first + n - 1; the rows of an image are
// neighbours.  SR_ERR_CONFIG: the views differ in size.
SrStatus sr_batch_plan_input(SrBatchPlan *plan, const char *name, int first, int n);
// Adds one input per view, all of that name.
SrStatus sr_batch_plan_list(SrBatchPlan *plan, const char *name);
// Adds extra number `made` of the transforms to the plan, for the input of its view.
// SR_ERR_CONFIG: that input holds several views.
SrStatus sr_batch_plan_take(SrBatchPlan *plan, int made);

// ---- loader ----
// One batch as the loader gives it.  view[i] is input i of the collator's plan, floats of
// (N * rows, h, w, C).  Without a collator view[i] is view i of all images.
struct SrBatch {
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
};

// Part of the batches, for the replicas of one rank: out of every `of` consecutive batches the
// `count` batches from number `first` on.  of 0: all batches.
typedef struct {
    int of, first, count;
} SrShare;

typedef struct {
    const SrDataset *dataset; // source of all images
    void *set;                // set of that source, open; the caller closes it after the loader
    int64_t limit;            // DATA_LIMIT: number of images; -1: all
    bool limit_balanced;      // take equally many images of every class
    uint64_t limit_seed;
    int64_t limit_skip;         // images to leave out before the first one that is taken
    const SrPipeline *pipeline; // borrowed
    // Plan for the pipeline's views, borrowed.  NULL: one input per view.
    const SrCollation *collation;
    int batch;     // images of the data set per batch
    SrShare share; // batches that this loader gives
    int replicas;  // batch k is for replica k mod replicas; 0 means 1
    bool drop_last, shuffle;
    const char *label_type; // "standard", "sample_index" or "zero"
    // Label for each class of the set, borrowed.  NULL: every class is its own label.
    const int64_t *class_map;
    int threads;   // NUM_DATALOADER_WORKERS; 0: the caller decodes
    int prefetch;  // number of batches to prepare ahead; at least 1
    int gray_size; // side in pixels of the grey image that replaces a bad one
    // A replaced image gets the label -1, or -1 in all targets, so that it counts in no measure.
    bool unlabel_bad;
    double max_bad_share; // largest share of bad images per epoch; above it the run fails
    bool fast;            // allows approximations (SrTransformContext.fast)
    uint64_t seed;
} SrLoaderConfig;

typedef struct SrLoader SrLoader;

// Sets out (n_targets) to 1 at each of the n classes and to 0 elsewhere.  Classes outside
// 0 .. n_targets - 1 set nothing.
void sr_one_hot(const int64_t *classes, int n, int n_targets, int64_t *out);

SrStatus sr_loader_new(const SrLoaderConfig *config, SrLoader **out);
void sr_loader_free(SrLoader *loader);             // joins all threads
int64_t sr_loader_length(const SrLoader *loader);  // images per epoch, over all shares
int64_t sr_loader_samples(const SrLoader *loader); // images in the subset, dropped ones too
int64_t sr_loader_batches(const SrLoader *loader); // batches per epoch in this share
int sr_loader_targets(const SrLoader *loader);     // n_targets of its batches
int sr_loader_batch(const SrLoader *loader);       // images in a full batch
// Changes the share from the next sr_loader_start on.  Ends the present epoch: its batches are
// lost.
void sr_loader_set_share(SrLoader *loader, SrShare share);
// Writes the images of an epoch into order (sr_loader_samples), in the order of its batches and
// numbered as SrBatch.index.  The order depends on (seed, epoch); for a source with runs also on
// config.replicas and config.batch.
SrStatus sr_loader_order(const SrLoader *loader, int64_t epoch, uint32_t *order);
// Returns the item of the data set that an SrBatch.index stands for.
int64_t sr_loader_in_set(const SrLoader *loader, int64_t index);
// Starts an epoch at batch `first` (resume).  SR_ERR_CONFIG: there is no such batch.
SrStatus sr_loader_start(SrLoader *loader, int64_t epoch, int64_t first);
// Gives the next batch in order, NULL at the end of the epoch.  Its memory is valid until the next
// call.  Allocates nothing after the pools have grown in the first epoch.  wait_s: seconds that the
// caller waited.
SrStatus sr_loader_next(SrLoader *loader, const SrBatch **batch, double *wait_s);

// Counts of the images seen so far and of the bad ones among them.
typedef struct {
    int64_t seen, bad;             // counts over all epochs
    int64_t epoch_seen, epoch_bad; // counts of the last epoch
    int n_listed;
    const char *listed[20]; // (n_listed) first bad paths with reasons; owned by the loader
} SrBadReport;
void sr_loader_bad(const SrLoader *loader, SrBadReport *out);

#endif
