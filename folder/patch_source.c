// Opens a model for patches, decodes images in parallel, and embeds their maps.
#include "folder/patch_source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "measure/patches/patch_maps.h"
#include "trainer/eval/checkpoint_model.h"
#include "trainer/eval/extract/feature_images.h"
#include "trainer/features/feature_source.h"

enum { SIDE = 224, BATCH = 8, LAYERS = 4 };

struct SrPatchSource {
    SrPatchOptions options; // its texts are those below
    char model[4096], weights[4096], layers[512];
    SrCheckpointModel checkpoint; // zeroed without a checkpoint
    SrFeatureImages images;
    SrFeatureSource source;
    int rows, columns, d;
    float *input;             // (BATCH, h, w, 3)
    SrImagePool *pool[BATCH]; // scratch of one image each
};

static SrStatus open_model(SrPatchSource *s, SrFeatureOptions *o) {
    const SrPatchOptions *p = &s->options;
    int side = p->size ? p->size : SIDE;
    if (!p->weights && sr_file_exists(p->model)) {
        SR_TRY(sr_checkpoint_model_open(p->model, &s->checkpoint));
        SR_TRY(sr_feature_images_open(s->checkpoint.config, 0, 0, &s->images));
        o->model = s->checkpoint.model;
    } else {
        o->trunk = p->model;
        o->weights = p->weights;
        o->seed = 1;
        SR_TRY(sr_feature_images_open(NULL, side, side, &s->images));
    }
    o->layers = p->layers;
    o->meaning = SR_NAMES_STAGES;
    o->batch = BATCH;
    o->height = s->images.h;
    o->width = s->images.w;
    return sr_feature_source_open(o, &s->source);
}

// Checks that the layers are maps; the first one gives the positions.
static SrStatus find_shape(SrPatchSource *s) {
    int n = s->source.taps.n;
    if (n > LAYERS)
        SR_FAIL(SR_ERR_CONFIG, "--layers names %d layers, %d are the most", n, LAYERS);
    for (int i = 0; i < n; i++) {
        SrShape shape = sr_feature_source_shape(&s->source, i);
        if (shape.rank != 4)
            SR_FAIL(SR_ERR_CONFIG,
                    "layer %d of --layers is no map of (rows, columns, channels): "
                    "choose middle layers, such as res3,res4",
                    i + 1);
        s->rows = i ? s->rows : shape.d[1];
        s->columns = i ? s->columns : shape.d[2];
        s->d += shape.d[3];
    }
    return SR_OK;
}

static SrStatus open_all(SrPatchSource *s) {
    SrFeatureOptions o = {.token_maps = true};
    SR_TRY(open_model(s, &o));
    SR_TRY(find_shape(s));
    s->input = sr_alloc((size_t)BATCH * (size_t)(s->images.h * s->images.w * 3) * sizeof(float));
    if (!s->input)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a batch of images");
    for (int i = 0; i < BATCH; i++)
        SR_TRY(sr_image_pool_new(&s->pool[i]));
    return SR_OK;
}

// Keeps the texts: the source of features borrows them for its whole life.
static SrStatus copy_options(SrPatchSource *s, const SrPatchOptions *o) {
    const char *layers = o->layers ? o->layers : "res3,res4", *weights = o->weights;
    int model_len = snprintf(s->model, sizeof s->model, "%s", o->model);
    int weights_len = snprintf(s->weights, sizeof s->weights, "%s", weights ? weights : "");
    int layers_len = snprintf(s->layers, sizeof s->layers, "%s", layers);
    if (model_len >= (int)sizeof s->model || weights_len >= (int)sizeof s->weights ||
        layers_len >= (int)sizeof s->layers)
        SR_FAIL(SR_ERR_CONFIG, "--model, --weights or --layers is too long");
    s->options = *o;
    s->options.model = s->model;
    s->options.weights = weights ? s->weights : NULL;
    s->options.layers = s->layers;
    return SR_OK;
}

SrStatus sr_patch_source_open(const SrPatchOptions *options, SrPatchSource **out) {
    *out = NULL;
    SrPatchSource *s = sr_calloc(1, sizeof *s);
    if (!s)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a model");
    SrStatus status = copy_options(s, options);
    if (status == SR_OK)
        status = open_all(s);
    if (status == SR_OK)
        *out = s;
    else
        sr_patch_source_close(s);
    return status;
}

void sr_patch_source_close(SrPatchSource *s) {
    if (!s)
        return;
    for (int i = 0; i < BATCH; i++)
        sr_image_pool_free(s->pool[i]);
    sr_free(s->input);
    sr_feature_source_close(&s->source);
    sr_feature_images_close(&s->images);
    sr_checkpoint_model_close(&s->checkpoint);
    sr_free(s);
}

int sr_patch_source_rows(const SrPatchSource *s) { return s->rows; }
int sr_patch_source_columns(const SrPatchSource *s) { return s->columns; }
int sr_patch_source_dim(const SrPatchSource *s) { return s->d; }
int sr_patch_source_height(const SrPatchSource *s) { return s->images.h; }
int sr_patch_source_width(const SrPatchSource *s) { return s->images.w; }
int sr_patch_source_batch(const SrPatchSource *s) {
    (void)s;
    return BATCH;
}

// ---- running ------------------------------------------------------------------------------------

typedef struct {
    SrPatchSource *s;
    const SrImageSet *images;
    int64_t first;
    SrStatus status[BATCH];
    float *patches;
} Batch;

static SrStatus prepare(SrPatchSource *s, const SrImageSet *images, int64_t i, SrImagePool *pool,
                        float *x) {
    SrSample sample = {.encoded = NULL};
    SrViews views = {.n = 1};
    int64_t label = -1;
    sr_image_pool_reset(pool);
    SR_TRY(images->source->read(images->set, i, pool, &sample));
    views.view[0] = sample.image;
    if (sample.encoded)
        SR_TRY(sr_image_open(sample.encoded, sample.encoded_bytes, &views.view[0]));
    const SrTransformContext ctx = {.fast = s->images.fast, .pool = pool, .label = &label};
    SR_TRY(sr_pipeline_apply(s->images.pipeline, &ctx, &views));
    memcpy(x, views.view[0].f, (size_t)(s->images.h * s->images.w * 3) * sizeof *x);
    return SR_OK;
}

static void prepare_one(void *arg, int64_t k, int thread) {
    (void)thread;
    Batch *b = arg;
    size_t floats = (size_t)(b->s->images.h * b->s->images.w * 3);
    float *x = b->s->input + (size_t)k * floats;
    b->status[k] = prepare(b->s, b->images, b->first + k, b->s->pool[k], x);
    if (b->status[k] != SR_OK)
        memset(x, 0, floats * sizeof *x);
}

static void embed_one(void *arg, int64_t k, int thread) {
    (void)thread;
    Batch *b = arg;
    SrPatchSource *s = b->s;
    SrPatchLayer layer[LAYERS];
    float *out = b->patches + k * s->rows * s->columns * s->d;
    for (int i = 0; i < s->source.taps.n; i++) {
        SrTensor value = sr_feature_source_value(&s->source, i);
        int h = value.shape.d[1], w = value.shape.d[2], c = value.shape.d[3];
        layer[i] = (SrPatchLayer){(const float *)value.data + k * h * w * c, h, w, c};
    }
    if (b->status[k] == SR_OK)
        b->status[k] = sr_patch_embed(layer, s->source.taps.n, s->options.pool, out);
    else
        memset(out, 0, (size_t)s->rows * (size_t)(s->columns * s->d) * sizeof *out);
}

SrStatus sr_patch_source_run(SrPatchSource *s, const SrImageSet *images, int64_t first, int n,
                             bool *good, float *patches) {
    Batch b = {.s = s, .images = images, .first = first, .patches = patches};
    sr_parallel_for(n, prepare_one, &b);
    sr_feature_source_run(&s->source, s->input, n);
    sr_parallel_for(n, embed_one, &b);
    for (int k = 0; k < n; k++) {
        good[k] = b.status[k] == SR_OK;
        if (!good[k] && b.status[k] != SR_ERR_IO)
            SR_FAIL(b.status[k], "an image could not be prepared");
    }
    return SR_OK;
}

// Normalisation is undone by the range of the image: a heat map needs its outlines alone.
SrStatus sr_patch_source_pixels(SrPatchSource *s, const SrImageSet *images, int64_t i,
                                uint8_t *rgb) {
    int n = s->images.h * s->images.w * 3;
    float low = INFINITY, high = -INFINITY;
    SR_TRY(prepare(s, images, i, s->pool[0], s->input));
    for (int k = 0; k < n; k++) {
        low = fminf(low, s->input[k]);
        high = fmaxf(high, s->input[k]);
    }
    for (int k = 0; k < n; k++)
        rgb[k] = (uint8_t)lrintf(255 * (s->input[k] - low) / fmaxf(high - low, 1e-6f));
    return SR_OK;
}
