// Opens a model for single images, and computes rows of length 1 from them.
#include "folder/embedder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text/json.h"
#include "base/text/yaml_print.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/pipeline.h"
#include "folder/picture_match.h"
#include "trainer/eval/checkpoint_model.h"
#include "trainer/eval/extract/feature_images.h"
#include "trainer/features/feature_source.h"

enum { PIXEL_SIDE = 32, PIXELS_OF_BATCH = 40 * 224 * 224, MOST_BATCH = 256 };

struct SrEmbedder {
    SrEmbedOptions options;
    char model[4096], folder[4096];
    SrCheckpointModel checkpoint; // zeroed without a checkpoint
    SrConfig *config;             // of a configuration; NULL: none
    SrFeatureImages images;
    bool pixels; // rows are the images themselves; `source` is zeroed
    bool grey;   // of "thumbnail"; `images` is zeroed but for h and w
    SrFeatureSource source;
    int rows, columns, depth; // what the layer's map is pooled to; (rows, columns, depth)
    int batch, d;
    float *input;       // (batch, h, w, 3)
    SrImagePool **pool; // (threads) scratch of decoding
    int threads;
    uint64_t key;
    SrText description;
};

// ---- opening ------------------------------------------------------------------------------------

static bool is_name(const SrEmbedder *e, const char *name) { return strcmp(e->model, name) == 0; }

static size_t floats_of(const SrEmbedder *e) {
    return (size_t)(e->images.h * e->images.w) * (e->grey ? 1 : 3);
}

static int batch_of(const SrEmbedder *e) {
    int fit = PIXELS_OF_BATCH / (e->images.h * e->images.w);
    return e->options.batch ? e->options.batch : SR_MAX(SR_MIN(fit, MOST_BATCH), 8);
}

static SrStatus open_checkpoint(SrEmbedder *e, SrFeatureOptions *o) {
    SR_TRY(sr_checkpoint_model_open(e->model, &e->checkpoint));
    snprintf(e->folder, sizeof e->folder, "%s", e->checkpoint.path);
    char *slash = strrchr(e->folder, '/');
    snprintf(slash ? slash : e->folder, slash ? 1 : 2, slash ? "" : ".");
    SR_TRY(sr_feature_images_open(e->checkpoint.config, NULL, 0, 0, &e->images));
    SR_TRY(sr_feature_images_need_rgb(&e->images, "a folder's index"));
    o->model = e->checkpoint.model;
    if (!o->layers)
        o->layers = e->checkpoint.config->knn.layer;
    return SR_OK;
}

static SrStatus open_trunk(SrEmbedder *e, SrFeatureOptions *o) {
    int side = e->options.size;
    const SrPreset *preset;
    o->trunk = is_name(e, "random") ? "resnet18" : e->model;
    o->weights = e->options.weights;
    o->seed = 1;
    if (sr_trunk_is_config(o->trunk)) {
        SR_TRY(sr_config_load(o->trunk, NULL, 0, &e->config));
        SR_TRY(sr_feature_images_open(e->config, NULL, 0, 0, &e->images));
        return sr_feature_images_need_rgb(&e->images, "a folder's index");
    }
    SR_TRY(sr_preset_find(o->trunk, &preset));
    return sr_feature_images_open(NULL, preset, side, side, &e->images);
}

// A file of weights alone, or a folder, is a run's; other words are names.
static bool is_checkpoint(const SrEmbedder *e) {
    return !e->options.weights && sr_file_exists(e->model) && !sr_text_ends(e->model, ".yaml");
}

// Pools a map to SR_STAGE_FLOATS numbers at most, as the report on layers does.
static void find_pooling(SrEmbedder *e) {
    SrShape s = sr_feature_source_shape(&e->source, 0);
    sr_stage_size(s, &e->rows, &e->columns, &e->depth);
    e->d = e->rows * e->columns * e->depth;
}

static SrStatus open_source(SrEmbedder *e, SrFeatureOptions *o) {
    o->batch = batch_of(e);
    o->height = e->images.h;
    o->width = e->images.w;
    o->meaning = SR_NAMES_STAGES;
    if (!o->layers)
        o->layers = "flatten";
    SR_TRY(sr_feature_source_open(o, &e->source));
    find_pooling(e);
    return SR_OK;
}

static uint32_t sum_of_weights(const SrEmbedder *e) {
    if (e->checkpoint.model)
        return sr_checkpoint_model_checksum(&e->checkpoint);
    uLong sum = 0;
    SrParams *params = e->source.extraction.params;
    for (int i = 0; !e->pixels && i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        sum = crc32_z(sum, p->value, (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype));
    }
    return (uint32_t)sum;
}

// The transforms that an image goes through, as one line.
static SrStatus add_transforms(const SrEmbedder *e, SrText *out) {
    const SrConfig *config = e->checkpoint.config ? e->checkpoint.config : e->config;
    SrArena arena = SR_ARENA_INIT;
    const SrYaml *transforms;
    const char *where;
    SrStatus status = SR_OK;
    if (config) {
        status = sr_split_eval_transforms(config, e->images.h, &arena, &transforms, &where);
        if (status == SR_OK)
            sr_yaml_print_flow(transforms, out);
    }
    sr_text_printf(out, " %dx%d", e->images.h, e->images.w);
    sr_arena_deinit(&arena);
    return status;
}

// The path of the model may change; its numbers and what is done with them may not.
static SrStatus describe(SrEmbedder *e, const char *layer) {
    char sum[16], pooling[48];
    SrText transforms = SR_TEXT_INIT, identity = SR_TEXT_INIT;
    snprintf(sum, sizeof sum, "%08x", sum_of_weights(e));
    snprintf(pooling, sizeof pooling, "%dx%dx%d", e->rows, e->columns, e->depth);
    SrStatus status = add_transforms(e, &transforms);
    sr_text_printf(&identity, "1 %s %s %s %s",
                   e->grey     ? "thumbnail"
                   : e->pixels ? "pixels"
                               : sum,
                   layer, pooling, transforms.s ? transforms.s : "");
    e->key = sr_hash_text(identity.s ? identity.s : "");
    SrText *out = &e->description;
    sr_json_begin(out);
    sr_json_string(out, "model", e->model);
    sr_json_string(out, "weights", e->options.weights ? e->options.weights : "");
    sr_json_string(out, "layer", e->pixels ? "" : layer);
    sr_json_int(out, "size", e->options.size);
    sr_json_string(out, "checksum", sum);
    sr_json_string(out, "pooling", pooling);
    sr_json_string(out, "transforms", transforms.s ? transforms.s : "");
    sr_json_end(out);
    if (out->len > 0)
        out->s[--out->len] = '\0'; // the line break
    bool failed = out->failed || identity.failed || transforms.failed;
    sr_text_deinit(&transforms);
    sr_text_deinit(&identity);
    return failed ? sr_out_of_memory("an index") : status;
}

static SrStatus open_model(SrEmbedder *e, const char **layer) {
    SrFeatureOptions o = {.layers = e->options.layer};
    if (is_name(e, "pixels")) {
        e->pixels = true;
        *layer = "pixels";
        SR_TRY(sr_feature_images_open(NULL, NULL, PIXEL_SIDE, PIXEL_SIDE, &e->images));
        e->batch = batch_of(e);
        e->rows = e->columns = PIXEL_SIDE;
        e->depth = 3;
        e->d = PIXEL_SIDE * PIXEL_SIDE * 3;
        return SR_OK;
    }
    if (is_name(e, "thumbnail")) {
        e->pixels = e->grey = true;
        *layer = "thumbnail";
        e->rows = e->columns = e->images.h = e->images.w = SR_PICTURE_SIDE;
        e->batch = batch_of(e);
        e->depth = 1;
        e->d = SR_PICTURE_SIDE * SR_PICTURE_SIDE;
        return SR_OK;
    }
    SR_TRY(is_checkpoint(e) ? open_checkpoint(e, &o) : open_trunk(e, &o));
    SR_TRY(open_source(e, &o));
    e->batch = o.batch;
    *layer = o.layers;
    return SR_OK;
}

static SrStatus make_room(SrEmbedder *e) {
    e->threads = sr_parallel_threads();
    e->pool = sr_calloc((size_t)e->threads, sizeof(SrImagePool *));
    e->input = sr_map((size_t)e->batch * floats_of(e) * sizeof(float));
    SR_TRY_MEMORY(e->pool && e->input, "a batch of images");
    for (int i = 0; i < e->threads; i++)
        SR_TRY(sr_image_pool_new(&e->pool[i]));
    return SR_OK;
}

static SrStatus open_embedder(SrEmbedder *e) {
    char layer[256];
    const char *found = NULL;
    if (snprintf(e->model, sizeof e->model, "%s", e->options.model) >= (int)sizeof e->model)
        SR_FAIL(SR_ERR_CONFIG, "--model: the path is too long");
    SR_TRY(open_model(e, &found));
    snprintf(layer, sizeof layer, "%s", found);
    SR_TRY(make_room(e));
    return describe(e, layer);
}

SrStatus sr_embedder_open(const SrEmbedOptions *options, SrEmbedder **out) {
    *out = NULL;
    SrEmbedder *e = sr_calloc(1, sizeof *e);
    SR_TRY_MEMORY(e, "a model");
    e->options = *options;
    SrStatus status = open_embedder(e);
    if (status == SR_OK)
        *out = e;
    else
        sr_embedder_close(e);
    return status;
}

void sr_embedder_close(SrEmbedder *e) {
    if (!e)
        return;
    for (int i = 0; e->pool && i < e->threads; i++)
        sr_image_pool_free(e->pool[i]);
    sr_free(e->pool);
    if (e->input)
        sr_unmap(e->input, (size_t)e->batch * floats_of(e) * sizeof(float));
    sr_feature_source_close(&e->source);
    sr_feature_images_close(&e->images);
    sr_config_free(e->config);
    sr_checkpoint_model_close(&e->checkpoint);
    sr_text_deinit(&e->description);
    sr_free(e);
}

int sr_embedder_dim(const SrEmbedder *e) { return e->d; }
int sr_embedder_batch(const SrEmbedder *e) { return e->batch; }
uint64_t sr_embedder_key(const SrEmbedder *e) { return e->key; }
const char *sr_embedder_description(const SrEmbedder *e) { return e->description.s; }
const char *sr_embedder_folder(const SrEmbedder *e) { return e->folder; }

// ---- running ------------------------------------------------------------------------------------

typedef struct {
    SrEmbedder *e;
    SrEmbedImage *image;
    SrStatus *status; // (n)
} Batch;

static SrStatus mirror(const SrImage *from, SrImagePool *pool, SrImage *to) {
    SR_TRY(sr_image_new(pool, from->H, from->W, to));
    for (int h = 0; h < from->H; h++)
        for (int w = 0; w < from->W; w++)
            memcpy(to->rgb + ((int64_t)h * from->W + w) * 3,
                   from->rgb + ((int64_t)h * from->W + from->W - 1 - w) * 3, 3);
    return SR_OK;
}

static SrStatus crop(const SrImage *from, SrImagePool *pool, SrImage *to) {
    int H = SR_MAX((int)lrint(from->H * SR_LOOK_CROP), 1);
    int W = SR_MAX((int)lrint(from->W * SR_LOOK_CROP), 1);
    int top = (from->H - H) / 2, left = (from->W - W) / 2;
    SR_TRY(sr_image_new(pool, H, W, to));
    for (int h = 0; h < H; h++)
        memcpy(to->rgb + (int64_t)h * W * 3, from->rgb + ((int64_t)(top + h) * from->W + left) * 3,
               (size_t)W * 3);
    return SR_OK;
}

static SrStatus look_at(const SrEmbedImage *image, SrImagePool *pool, SrImage *out) {
    *out = image->sample.image;
    if (image->sample.encoded)
        SR_TRY(sr_image_open(image->sample.encoded, image->sample.encoded_bytes, out));
    if (image->look == SR_LOOK_PLAIN)
        return SR_OK;
    SrImage whole = *out;
    SR_TRY(sr_image_finish(&whole, 1, pool));
    return image->look == SR_LOOK_MIRRORED ? mirror(&whole, pool, out) : crop(&whole, pool, out);
}

// Grey value of a pixel, 0 to 1.
static float grey_of(const uint8_t *p) {
    return (float)(299 * p[0] + 587 * p[1] + 114 * p[2]) / 255e3f;
}

// Adds one row of the image to cells of a row, each by the share of the pixel that it covers.
static void add_row(const SrImage *image, int h, float weight, float *cells) {
    enum { SIDE = SR_PICTURE_SIDE };
    float scale = (float)image->W / SIDE;
    for (int c = 0; c < SIDE; c++) {
        float from = (float)c * scale, to = (float)(c + 1) * scale, sum = 0;
        for (int w = (int)from; w < image->W && (float)w < to; w++)
            sum += grey_of(image->rgb + ((int64_t)h * image->W + w) * 3) *
                   (SR_MIN((float)(w + 1), to) - SR_MAX((float)w, from));
        cells[c] += sum / scale * weight;
    }
}

// Averages grey values over rectangles, to fractions of pixels, and takes the mean away.
static void squeeze(const SrImage *image, float *x) {
    enum { SIDE = SR_PICTURE_SIDE };
    float scale = (float)image->H / SIDE;
    double mean = 0;
    memset(x, 0, SIDE * SIDE * sizeof *x);
    for (int r = 0; r < SIDE; r++) {
        float from = (float)r * scale, to = (float)(r + 1) * scale;
        for (int h = (int)from; h < image->H && (float)h < to; h++)
            add_row(image, h, (SR_MIN((float)(h + 1), to) - SR_MAX((float)h, from)) / scale,
                    x + r * SIDE);
    }
    for (int i = 0; i < SIDE * SIDE; i++)
        mean += (double)x[i] / (SIDE * SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        x[i] = (float)((double)x[i] - mean);
}

// Decoders shrink large photos by the way.
static SrStatus prepare_grey(const SrEmbedImage *image, SrImagePool *pool, float *x) {
    SrImage view;
    SR_TRY(look_at(image, pool, &view));
    int reduce = 1, least = SR_MIN(view.H, view.W);
    while (reduce < 8 && least / (2 * reduce) >= 4 * SR_PICTURE_SIDE)
        reduce *= 2;
    SR_TRY(sr_image_finish(&view, reduce, pool));
    squeeze(&view, x);
    return SR_OK;
}

static SrStatus prepare(const SrEmbedder *e, const SrEmbedImage *image, SrImagePool *pool,
                        float *x) {
    int64_t label = -1;
    SrViews views = {.n = 1};
    SR_TRY(look_at(image, pool, &views.view[0]));
    const SrTransformContext ctx = {.fast = e->images.fast, .pool = pool, .label = &label};
    SR_TRY(sr_pipeline_apply(e->images.pipeline, &ctx, &views));
    memcpy(x, views.view[0].f, floats_of(e) * sizeof *x);
    return SR_OK;
}

// A damaged image leaves zeros.  Other failures end the run.
static void prepare_one(void *arg, int64_t i, int thread) {
    Batch *b = arg;
    SrEmbedImage *image = &b->image[i];
    size_t floats = floats_of(b->e);
    float *x = b->e->input + (size_t)i * floats;
    SrImagePool *pool = b->e->pool[thread];
    sr_image_pool_reset(pool);
    b->status[i] = !image->good ? SR_ERR_IO
                   : b->e->grey ? prepare_grey(image, pool, x)
                                : prepare(b->e, image, pool, x);
    if (b->status[i] != SR_ERR_IO)
        return;
    memset(x, 0, floats * sizeof *x);
    image->good = false;
    b->status[i] = SR_OK;
}

static void copy_row(const SrEmbedder *e, int i, float *row) {
    if (e->pixels) {
        memcpy(row, e->input + (int64_t)i * e->d, (size_t)e->d * sizeof *row);
        return;
    }
    SrTensor value = sr_feature_source_value(&e->source, 0);
    int H = value.shape.rank > 2 ? value.shape.d[1] : 1;
    int W = value.shape.rank == 4 ? value.shape.d[2] : 1;
    const float *x = (const float *)value.data + (int64_t)i * H * W * e->depth;
    sr_stage_pool(x, H, W, e->depth, e->rows, e->columns, row);
}

// Rows that are not finite have no direction; they become zeros, which are similar to nothing.
static float normalize(float *row, int d) {
    double sum = 0;
    for (int k = 0; k < d; k++)
        sum += (double)row[k] * (double)row[k];
    double length = sqrt(sum), factor = isfinite(sum) && length > 1e-12 ? 1 / length : 0;
    for (int k = 0; k < d; k++)
        row[k] = factor > 0 ? (float)((double)row[k] * factor) : 0;
    return factor > 0 ? (float)length : 0;
}

SrStatus sr_embedder_run(SrEmbedder *e, SrEmbedImage *images, int n, float *rows) {
    SrStatus status[MOST_BATCH];
    Batch b = {e, images, status};
    sr_parallel_for(n, prepare_one, &b);
    for (int i = 0; i < n; i++)
        if (status[i] != SR_OK)
            SR_FAIL(status[i], "%s: an image could not be prepared", images[i].sample.path);
    if (!e->pixels)
        sr_feature_source_run(&e->source, e->input, n);
    for (int i = 0; i < n; i++) {
        float *row = rows + (int64_t)i * e->d;
        memset(row, 0, (size_t)e->d * sizeof *row);
        images[i].length = 0;
        if (!images[i].good)
            continue;
        copy_row(e, i, row);
        images[i].length = normalize(row, e->d);
    }
    return SR_OK;
}
