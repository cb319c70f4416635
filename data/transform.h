// The contract of transforms: each changes all views of one image.  A transform is a file
// data/augment/<stem>.c with the descriptor `const SrTransform sr_transform_<stem>`.
//
// Each random choice comes from Philox keyed by (seed, epoch, sample, view, stage).  The views of
// an image therefore do not depend on threads, batches or earlier draws.
#ifndef SR_DATA_TRANSFORM_H
#define SR_DATA_TRANSFORM_H

#include "base/arena.h"
#include "base/plugin/option.h"
#include "base/rng.h"
#include "base/text/text.h"
#include "data/extras.h"
#include "data/image_pool.h"

typedef struct SrPipeline SrPipeline; // data/pipeline.h

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
    // Path, in the transform's keys, of the range [low, high] of the first view's share of the
    // area, for a transform that cuts a random box and resizes it: "scale".  Keys `ratio` and
    // `interpolation`, where it has them, mean the same as in RandomResizedCrop.  NULL: no such box
    const char *box_scale;
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

// ---- for the transforms
// Random stream of view v at the given stage.
static inline SrRng sr__stage_rng(const SrTransformContext *ctx, int v, uint32_t stage) {
    return sr_rng(ctx->seed, SR_RNG_TRANSFORM, (uint64_t)ctx->epoch, (uint64_t)ctx->sample,
                  (uint32_t)v, stage);
}
// Random stream of view v at the transform's own stage.
static inline SrRng sr__transform_rng(const SrTransformContext *ctx, int v) {
    return sr__stage_rng(ctx, v, ctx->stage);
}
// Adds words to the report of view v's draws, such as "hue +0.05".  Does nothing if ctx->told is
// NULL; draws must not depend on that.
void sr__tell(const SrTransformContext *ctx, int v, const char *fmt, ...) SR_PRINTF(3, 4);
// Returns the target of a transform's extra of that name and view.  NULL: not wanted.
void *sr_transform_extra(const SrTransformContext *ctx, const char *name, int view);
// SR_ERR_CONFIG: the size of view v differs from that of its place, out[v].
SrStatus sr__view_fits(const SrViews *views, int v);

#endif
