// Opens a model for patches, decodes images in parallel, and embeds their maps.
#include "folder/patches/patch_source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/text/text.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/pipeline.h"
#include "measure/patches/patch_maps.h"
#include "trainer/eval/checkpoint_model.h"
#include "trainer/eval/extract/feature_images.h"
#include "trainer/features/feature_source.h"
#include "trainer/features/feature_values.h"
#include "trainer/run/run_folder.h"

#define FILE_BYTES ((size_t)1 << 30) // of an image file
enum { BATCH = 8, LAYERS = 4, STRIDE = 16 };

struct SrPatchSource {
    SrPatchOptions options; // its texts are those below
    char model[4096], weights[4096], layers[512];
    SrCheckpointModel checkpoint; // zeroed without a checkpoint
    SrConfig *config;             // of a trunk that is a YAML file; NULL without one
    SrFeatureImages images;
    SrFeatureSource source;
    int rows, columns, d;
    float *input;             // (BATCH, h, w, 3)
    SrImagePool *pool[BATCH]; // scratch of one image each
};

// Opens the images of an evaluation, or those that are not cut.  side 0: the configuration's.
static SrStatus open_images(SrPatchSource *s, const SrConfig *config, int side) {
    SrFeatureImages evaluation;
    const SrPreset *preset = NULL;
    if (!config)
        SR_TRY(sr_preset_find(s->options.model, &preset));
    if (!s->options.whole)
        return sr_feature_images_open(config, preset, config ? 0 : side, config ? 0 : side,
                                      &s->images);
    if (side == 0) {
        SR_TRY(sr_feature_images_open(config, preset, 0, 0, &evaluation));
        side = SR_MAX(evaluation.h, evaluation.w);
        sr_feature_images_close(&evaluation);
    }
    return sr_feature_images_open_whole(config, preset, side, side, &s->images);
}

static SrStatus open_checkpoint(SrPatchSource *s, SrFeatureOptions *o) {
    const SrPatchOptions *p = &s->options;
    SrConfig *config = NULL;
    char path[4096];
    SR_TRY(sr_folder_weights(p->model, path, sizeof path));
    SR_TRY(sr_checkpoint_config(path, &config));
    SrStatus status = open_images(s, config, p->whole ? p->size : 0);
    sr_config_free(config);
    if (status == SR_OK)
        status =
            sr_checkpoint_model_open_at(path, p->whole ? s->images.h : 0, p->drawn, &s->checkpoint);
    o->model = s->checkpoint.model;
    return status;
}

static SrStatus open_trunk(SrPatchSource *s, SrFeatureOptions *o) {
    const SrPatchOptions *p = &s->options;
    o->trunk = p->model;
    o->weights = p->drawn ? NULL : p->weights;
    o->seed = 1;
    if (!sr_trunk_is_config(p->model))
        return open_images(s, NULL, p->size);
    SR_TRY(sr_config_load(p->model, NULL, 0, &s->config));
    return open_images(s, s->config, p->size);
}

// Tells whether a map has a patch for every 16 x 16 pixels or fewer.
static bool is_fine(const SrPatchSource *s, SrShape shape) {
    return shape.rank == 4 && shape.d[1] * STRIDE >= s->images.h;
}

// Returns the last fine map that all later nodes depend on: the end of a block, not the inside of a
// branch.
static const char *find_block_end(const SrPatchSource *s) {
    const SrGraph *graph = s->source.whole;
    SrNodeId earliest = sr_graph_count(graph); // that a later node reads
    for (SrNodeId i = sr_graph_count(graph) - 1; i > s->source.input; i--) {
        const SrNode *node = sr_graph_at(graph, i);
        if (earliest >= i && is_fine(s, node->shape))
            return node->name;
        for (int k = 0; k < node->n_in; k++)
            earliest = SR_MIN(earliest, node->in[k]);
    }
    return NULL;
}

// Chooses the last layer whose patches are small enough for outlines: of transformers the patches
// after the last norm, else a stage, else a node of a trunk that announces no stages.
static const char *find_layer(const SrPatchSource *s) {
    const SrGraph *graph = s->source.whole;
    SrStages stages;
    if (sr_graph_find(graph, "lastMAP") != SR_NO_NODE)
        return "lastMAP";
    sr_stages_find(graph, &stages);
    for (int i = 0; i < sr_graph_alias_count(graph); i++) {
        SrNodeId node;
        const char *alias = sr_graph_alias_at(graph, i, &node);
        for (int k = stages.n - 1; k >= 0; k--)
            if (strcmp(stages.v[k].name, alias) == 0 && is_fine(s, stages.v[k].shape) &&
                (k + 1 == stages.n || !is_fine(s, stages.v[k + 1].shape)))
                return alias;
    }
    return find_block_end(s);
}

static SrStatus choose_layers(SrPatchSource *s) {
    const char *name = find_layer(s);
    if (!name)
        SR_FAIL(SR_ERR_CONFIG,
                "%s has no layer with a patch for every 16 x 16 pixels: name one by --layers, from "
                "those that `sslrun graph` lists",
                s->model);
    snprintf(s->layers, sizeof s->layers, "%s", name);
    return sr_feature_source_choose(&s->source, s->layers);
}

static SrStatus open_model(SrPatchSource *s, SrFeatureOptions *o) {
    const SrPatchOptions *p = &s->options;
    bool checkpoint = !p->weights && sr_file_exists(p->model) && !sr_text_ends(p->model, ".yaml");
    SR_TRY(checkpoint ? open_checkpoint(s, o) : open_trunk(s, o));
    SR_TRY(sr_feature_images_need_rgb(&s->images, "a map of patches"));
    o->layers = *s->layers ? s->layers : NULL;
    o->meaning = SR_NAMES_STAGES;
    o->batch = BATCH;
    o->height = s->images.h;
    o->width = s->images.w;
    SR_TRY(sr_feature_source_build(o, &s->source));
    if (!o->layers)
        SR_TRY(choose_layers(s));
    return sr_feature_source_compile(&s->source);
}

// Checks that the layers are maps; the first one gives the positions.
static SrStatus find_shape(SrPatchSource *s) {
    int n = s->source.taps.n;
    if (n > LAYERS)
        SR_FAIL(SR_ERR_CONFIG, "--layers names %d layers, %d are the most", n, LAYERS);
    for (int i = 0; i < n; i++) {
        SrShape shape = sr_feature_shape(&s->source, i, true);
        if (shape.rank != 4)
            SR_FAIL(SR_ERR_CONFIG,
                    "layer %d of --layers is no map of (rows, columns, channels): "
                    "choose middle layers, such as res3,res4, or tokens of a transformer",
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
    SR_TRY_MEMORY(s->input, "a batch of images");
    for (int i = 0; i < BATCH; i++)
        SR_TRY(sr_image_pool_new(&s->pool[i]));
    return SR_OK;
}

// Keeps the texts: the source of features borrows them for its whole life.
static SrStatus copy_options(SrPatchSource *s, const SrPatchOptions *o) {
    const char *otherwise = o->whole ? "" : "res3,res4", *weights = o->weights;
    const char *layers = o->layers ? o->layers : otherwise;
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
    SR_TRY_MEMORY(s, "a model");
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
    sr_config_free(s->config);
    sr_free(s);
}

const char *sr_patch_source_layers(const SrPatchSource *s) { return s->layers; }
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

// Applies the transforms to an image, encoded or not.  x: (h, w, 3).
static SrStatus transform(SrPatchSource *s, SrImage image, SrImagePool *pool, float *x) {
    SrViews views = {.n = 1, .view = {image}};
    int64_t label = -1;
    const SrTransformContext ctx = {.fast = s->images.fast, .pool = pool, .label = &label};
    SR_TRY(sr_pipeline_apply(s->images.pipeline, &ctx, &views));
    memcpy(x, views.view[0].f, (size_t)(s->images.h * s->images.w * 3) * sizeof *x);
    return SR_OK;
}

static SrStatus prepare(SrPatchSource *s, const SrImageSet *images, int64_t i, SrImagePool *pool,
                        float *x) {
    SrImage image;
    sr_image_pool_reset(pool);
    SR_TRY(sr_image_set_read(images, i, pool, &image));
    return transform(s, image, pool, x);
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

// Returns the map of a layer of image k.  Tokens in front of the patches are passed over.
static SrPatchLayer layer_of(const SrPatchSource *s, int layer, int64_t k) {
    SrTensor value = sr_feature_source_value(&s->source, layer);
    SrShape map = sr_feature_shape(&s->source, layer, true);
    int64_t floats = sr_shape_count(value.shape) / value.shape.d[0];
    int64_t prefix = SR_MAX(sr_feature_source_prefix(&s->source, layer), 0);
    const float *x = (const float *)value.data + k * floats + prefix * map.d[3];
    return (SrPatchLayer){x, map.d[1], map.d[2], map.d[3]};
}

static void embed_one(void *arg, int64_t k, int thread) {
    (void)thread;
    Batch *b = arg;
    SrPatchSource *s = b->s;
    SrPatchLayer layer[LAYERS];
    float *out = b->patches + k * s->rows * s->columns * s->d;
    for (int i = 0; i < s->source.taps.n; i++)
        layer[i] = layer_of(s, i, k);
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

SrStatus sr_patch_source_file(SrPatchSource *s, const char *path, float *patches) {
    Batch b = {.s = s, .patches = patches};
    char *bytes;
    size_t n;
    SrImage image;
    SR_TRY(sr_file_read(path, FILE_BYTES, &bytes, &n));
    sr_image_pool_reset(s->pool[0]);
    SrStatus status = sr_image_open(bytes, n, &image);
    if (status == SR_OK)
        status = transform(s, image, s->pool[0], s->input);
    sr_free(bytes);
    if (status == SR_ERR_IO)
        return sr_fail_prefix(status, "%s", path);
    SR_TRY(status);
    sr_feature_source_run(&s->source, s->input, 1);
    embed_one(&b, 0, 0);
    return b.status[0];
}

SrStatus sr_patch_source_each(SrPatchSource *s, const SrImageSet *images, const char *what,
                              SrEachPatches each, void *arg) {
    size_t floats = (size_t)s->rows * (size_t)s->columns * (size_t)s->d;
    float *patches = sr_alloc(BATCH * floats * sizeof *patches);
    bool good[BATCH];
    SrStatus status = patches ? SR_OK : sr_out_of_memory("the patches of %d images", BATCH);
    SrBar bar;
    sr_bar_begin(&bar, what, images->n);
    for (int64_t first = 0; status == SR_OK && first < images->n; first += BATCH) {
        int n = (int)SR_MIN(images->n - first, (int64_t)BATCH);
        sr_bar_at(&bar, first);
        status = sr_stop_check();
        if (status == SR_OK)
            status = sr_patch_source_run(s, images, first, n, good, patches);
        for (int k = 0; status == SR_OK && k < n; k++)
            status = each(arg, first + k, good[k], patches + (size_t)k * floats);
    }
    sr_bar_end(&bar);
    sr_free(patches);
    return status;
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
