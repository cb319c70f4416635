// Extracts features of a data set into shards (sslrun extract --data), through the transforms of
// evaluation.
//
// Memory is one shard and one batch.  A shard appears whole or not at all, and a run that was
// stopped resumes at the first one that is missing.  Ranks share out the batches; rank 0 writes.
#include "trainer/eval/extract/extract_data.h"

#include <stdio.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "data/image_pool.h"
#include "data/load/loader.h"
#include "data/pipeline.h"
#include "trainer/data/data_summary.h"
#include "trainer/data/eval_transforms.h"
#include "trainer/eval/extract/extract_identity.h"
#include "trainer/eval/extract/extract_shard.h"
#include "trainer/eval/extract/feature_names.h"
#include "trainer/features/feature_values.h"

enum { NAME_BYTES = 512, BATCH = 32, SHARD_BYTES = 256 << 20 };

typedef struct {
    SrArena arena;
    const SrExtractOptions *o;
    SrConfig *config; // NULL for a model; the pipeline may point into it
    SrFeatureSource source;
    SrSplit split; // source and images
    const SrYaml *transforms;
    SrPipeline *pipeline; // of those
    SrLoader *loader;
    SrImagePool *pool; // for looking up names
    int64_t n;         // images
    int batch, shard;  // shard: images, a multiple of batch
    // the shard being filled
    SrTensor *features;   // one a tap, (shard, ...) in the layout asked for
    int n_targets;        // several labels an image: how many; else 0
    int64_t *labels;      // (shard), or (shard, n_targets)
    uint8_t *valid;       // (shard)
    SrStringList files;   // (images so far)
    SrStringList classes; // of the data set, empty where they have no names
} Run;

// ---- opening

// Opens the pipeline, whose shape gives the size of the images.
static SrStatus open_pipeline(Run *r, const SrConfig *config, int *h, int *w) {
    const char *where = "transforms of evaluation";
    int views, heights[SR_MAX_VIEWS], widths[SR_MAX_VIEWS];
    if (config) {
        int size = r->o->size;
        if (size == 0) { // that of the first training crop
            SR_TRY(sr_split_train_shape(config, &views, heights, widths));
            size = heights[0];
        }
        SR_TRY(sr_split_eval_transforms(config, size, &r->arena, &r->transforms, &where));
    } else {
        SrYaml *tree;
        const SrPreset *preset = NULL;
        const char *model = r->o->features.trunk;
        if (model && !sr_trunk_is_config(model))
            SR_TRY(sr_preset_find(model, &preset));
        int size = r->o->size > 0 ? r->o->size : sr_preset_pixels(preset)->side;
        SR_TRY(sr_eval_transforms_parse(preset, size, size, &r->arena, &tree));
        r->transforms = tree;
    }
    SR_TRY(sr_pipeline_new_for(r->transforms, where, sr_split_form(config), &r->pipeline));
    SR_TRY(sr_pipeline_shape(r->pipeline, &views, heights, widths));
    if (views != 1)
        SR_FAIL(SR_ERR_CONFIG, "%s make %d views, but extraction needs one", where, views);
    *h = heights[0];
    *w = widths[0];
    return SR_OK;
}

// All classes have names, or none is kept; labels that transforms make are not those of the source.
static SrStatus keep_classes(Run *r) {
    const SrSplit *split = &r->split;
    bool named = split->source->class_name && sr_pipeline_classes(r->pipeline) == 0;
    for (int c = 0; named && c < split->classes; c++) {
        const char *name = split->source->class_name(split->set, c);
        if (!name) {
            sr__string_list_clear(&r->classes);
            return SR_OK;
        }
        SR_TRY(sr__string_list_add(&r->classes, name, strlen(name)));
    }
    return SR_OK;
}

static SrStatus open_data(Run *r) {
    SrSplitConfig c = {.data_paths = {1, &r->o->data},
                       .label_paths = {r->o->labels != NULL, &r->o->labels},
                       .remove_img_path_prefix = "",
                       .new_img_path_prefix = "",
                       .data_limit = -1,
                       .default_gray_img_size = 224};
    SR_TRY(sr_split_open_set(&c, sr_pipeline_form(r->pipeline), r->o->test ? "TEST" : "TRAIN", 0,
                             &r->split));
    SrLoaderConfig loader = {.dataset = r->split.source,
                             .set = r->split.set,
                             .limit = -1,
                             .pipeline = r->pipeline,
                             .batch = r->batch,
                             .label_type = "standard",
                             .threads = r->o->threads,
                             .prefetch = 3,
                             .gray_size = 224,
                             .max_bad_share = 0.5,
                             .fast = false};
    SR_TRY(sr_loader_new(&loader, &r->loader));
    r->n = sr_loader_length(r->loader);
    sr_data_summary_say_set(&r->split, "images");
    r->n_targets = sr_loader_targets(r->loader);
    SR_TRY(keep_classes(r));
    return sr_image_pool_new(&r->pool);
}

// ---- shards

static SrShape row_shape(const Run *r, int tap) {
    return sr_feature_shape(&r->source, tap, r->o->nhwc);
}

static SrStatus choose_shard(Run *r) {
    int64_t row_bytes = NAME_BYTES;
    for (int i = 0; i < r->source.taps.n; i++) {
        SrShape s = row_shape(r, i);
        if (s.rank < 1 || s.d[0] != r->batch)
            SR_FAIL(SR_ERR_CONFIG, "%s does not have one row per image", r->source.taps.v[i].name);
        if (strchr(r->source.taps.v[i].name, '/'))
            SR_FAIL(SR_ERR_CONFIG,
                    "'%s' cannot be part of a file name; rename it as in layer1:name",
                    r->source.taps.v[i].name);
        row_bytes += sr_shape_count(s) / r->batch * (int64_t)sizeof(float);
    }
    int64_t images = r->o->shard > 0 ? r->o->shard : SHARD_BYTES / row_bytes;
    images = SR_MIN(images, r->n);
    r->shard = (int)SR_MAX((images + r->batch - 1) / r->batch, 1) * r->batch;
    return SR_OK;
}

static SrStatus allocate_shard(Run *r) {
    size_t n = (size_t)r->shard;
    r->features = sr_arena_alloc(&r->arena, (size_t)r->source.taps.n * sizeof *r->features);
    r->labels = sr_arena_alloc(&r->arena, n * (size_t)SR_MAX(r->n_targets, 1) * sizeof *r->labels);
    r->valid = sr_arena_alloc(&r->arena, n);
    bool good = r->features && r->labels && r->valid;
    for (int i = 0; good && i < r->source.taps.n; i++) {
        r->features[i] = (SrTensor){row_shape(r, i), SR_F32, NULL};
        r->features[i].shape.d[0] = r->shard;
        r->features[i].data =
            sr_arena_alloc(&r->arena, (size_t)sr_shape_count(r->features[i].shape) * sizeof(float));
        good = r->features[i].data != NULL;
    }
    return good ? SR_OK : sr_out_of_memory("a shard of %d images; give --shard", r->shard);
}

// Keeps the name of an image's file; "": the data set has no files.
static SrStatus keep_name(Run *r, int64_t index) {
    const char *path = "";
    sr_image_pool_reset(r->pool);
    if (r->split.source->path)
        SR_TRY(r->split.source->path(r->split.set, index, r->pool, &path));
    if (strlen(path) >= NAME_BYTES)
        SR_FAIL(SR_ERR_CONFIG, "%s: a path of more than %d bytes does not fit the output", path,
                NAME_BYTES - 1);
    return sr__string_list_add(&r->files, path, strlen(path));
}

// Copies the rows of one batch to the shard, from row `at` on.
static void keep_batch(Run *r, const SrBatch *b, int64_t at) {
    for (int i = 0; i < r->source.taps.n; i++) {
        int64_t row = sr_shape_count(row_shape(r, i)) / r->batch;
        sr_feature_copy(&r->source, i, b->batch, r->o->nhwc,
                        (float *)r->features[i].data + at * row);
    }
    int64_t length = SR_MAX(r->n_targets, 1);
    memcpy(r->labels + at * length, b->label, (size_t)(b->batch * length) * sizeof *r->labels);
    for (int k = 0; k < b->batch; k++)
        r->valid[at + k] = b->valid[k] == 1;
}

static SrStatus next_batch(Run *r, int64_t at) {
    const SrBatch *b;
    double wait;
    SR_TRY(sr_loader_next(r->loader, &b, &wait));
    if (!b)
        SR_FAIL(SR_ERR_RUN, "%s gave fewer images than it announced", r->o->data);
    sr_feature_source_run(&r->source, b->view[0], b->batch);
    keep_batch(r, b, at);
    return SR_OK;
}

// Ranks take batches in turn, counted through all shards.
static int rank_of(const Run *r, int64_t image) { return (int)(image / r->batch % sr_comm_size()); }

static void share_batch(Run *r, int64_t at, int64_t images, int rank) {
    size_t n = (size_t)SR_MIN(images - at, r->batch), length = (size_t)SR_MAX(r->n_targets, 1);
    for (int i = 0; i < r->source.taps.n; i++) {
        size_t row = (size_t)(sr_shape_count(row_shape(r, i)) / r->batch);
        sr_comm_broadcast((float *)r->features[i].data + (size_t)at * row, n * row * sizeof(float),
                          rank);
    }
    sr_comm_broadcast(r->labels + (size_t)at * length, n * length * sizeof *r->labels, rank);
    sr_comm_broadcast(r->valid + at, n, rank);
}

// Computes this rank's batches of a shard that begins at image `first`.  Names need no pixels, so
// every rank lists all of them.
static SrStatus fill_own(Run *r, int64_t first, int64_t images) {
    sr__string_list_clear(&r->files);
    for (int64_t at = 0; at < images; at += r->batch)
        if (rank_of(r, first + at) == sr_comm_rank())
            SR_TRY(next_batch(r, at));
    for (int64_t k = 0; k < images; k++)
        SR_TRY(keep_name(r, first + k));
    return SR_OK;
}

static SrStatus fill_shard(Run *r, int64_t first, int64_t images) {
    SR_TRY(sr_comm_agree(fill_own(r, first, images)));
    for (int64_t at = 0; at < images && sr_comm_size() > 1; at += r->batch)
        share_batch(r, at, images, rank_of(r, first + at));
    return SR_OK;
}

static SrStatus save_rows(Run *r, int64_t number, int64_t images) {
    int n = r->source.taps.n;
    SrNamedTensor *layers = sr_alloc((size_t)SR_MAX(n, 1) * sizeof *layers);
    SR_TRY_MEMORY(layers, "a shard");
    for (int i = 0; i < n; i++) {
        layers[i] = (SrNamedTensor){r->source.taps.v[i].name, r->features[i]};
        layers[i].tensor.shape.d[0] = (int)images;
    }
    SrExtractShard shard = {.layers = layers,
                            .n_layers = n,
                            .images = images,
                            .n_targets = r->n_targets,
                            .labels = r->labels,
                            .valid = r->valid,
                            .files = &r->files,
                            .classes = &r->classes};
    SrStatus status = sr__extract_shard_save(r->o->format, r->o->out, number, &shard);
    sr_free(layers);
    return status;
}

// ---- the run

static SrStatus claim_folder(const Run *r) {
    SrExtractIdentity id = {.options = r->o,
                            .source = &r->source,
                            .split = &r->split,
                            .transforms = r->transforms,
                            .images = r->n,
                            .shard = r->shard};
    return sr__extract_claim(&id);
}

static SrStatus first_missing(const Run *r, int64_t shards, int64_t *out) {
    bool there = true;
    for (*out = 0; *out < shards; ++*out) {
        SR_TRY(sr__extract_shard_exists(r->o->format, r->o->out, *out, &there));
        if (!there)
            break;
    }
    return SR_OK;
}

static SrStatus open(Run *r) {
    SrFeatureOptions o = r->o->features;
    if (sr_trunk_is_config(o.trunk))
        SR_TRY(sr_config_load(o.trunk, o.overrides, o.n_overrides, &r->config));
    SR_TRY(open_pipeline(r, r->config, &o.height, &o.width));
    r->batch = o.batch = o.batch > 0 ? o.batch : BATCH;
    SR_TRY(open_data(r));
    SR_TRY(sr_feature_source_open(&o, &r->source));
    return choose_shard(r);
}

// Writes the shard on rank 0.
static SrStatus save_shard(Run *r, int64_t i, int64_t images) {
    return sr_comm_rank() > 0 ? SR_OK : save_rows(r, i, images);
}

// Claims the folder on rank 0, and finds the first shard that is missing.
static SrStatus begin_shards(Run *r, int64_t shards, int64_t *first) {
    SrStatus status = SR_OK;
    if (sr_comm_rank() == 0)
        status = claim_folder(r);
    if (status == SR_OK && sr_comm_rank() == 0)
        status = first_missing(r, shards, first);
    SR_TRY(sr_comm_agree(status));
    sr_comm_broadcast(first, sizeof *first, 0);
    return SR_OK;
}

// Starts the loader at this rank's first batch from image `first` on.
static SrStatus start_loader(Run *r, int64_t first) {
    int64_t batches = first / r->batch, rank = sr_comm_rank(), ranks = sr_comm_size();
    sr_loader_set_share(r->loader, sr_split_turns());
    return sr_loader_start(r->loader, 0, (SR_MAX(batches - rank, 0) + ranks - 1) / ranks);
}

static SrStatus run_shards(Run *r, SrText *report) {
    int64_t shards = (r->n + r->shard - 1) / r->shard, first = 0;
    SrBar bar;
    SR_TRY(begin_shards(r, shards, &first));
    if (first < shards) {
        SR_TRY(allocate_shard(r));
        SR_TRY(start_loader(r, first * r->shard));
    }
    sr_bar_begin(&bar, "shards of features", shards);
    for (int64_t i = first; i < shards; i++) {
        int64_t images = SR_MIN(r->shard, r->n - i * r->shard);
        SR_TRY(fill_shard(r, i * r->shard, images));
        SR_TRY(sr_comm_agree(save_shard(r, i, images)));
        sr_bar_at(&bar, i + 1);
    }
    sr_bar_end(&bar);
    sr_extraction_report(&r->source.extraction, report);
    sr_text_printf(report, "; %lld images in %lld shard%s, of which %lld existed before\n",
                   (long long)r->n, (long long)shards, shards == 1 ? "" : "s", (long long)first);
    sr_feature_source_say_layers(&r->source, report);
    return SR_OK;
}

SrStatus sr_extract_data(const SrExtractOptions *o, SrText *report) {
    Run r = {.o = o};
    SrStatus status = open(&r);
    if (status == SR_OK)
        status = run_shards(&r, report);
    sr_data_summary_say_bad(
        &(SrBadImages){r.loader, true, "images", "have the features of a grey image (valid is 0)"},
        status);
    sr_loader_free(r.loader);
    sr_split_close(&r.split);
    sr__string_list_deinit(&r.files);
    sr__string_list_deinit(&r.classes);
    sr_image_pool_free(r.pool);
    sr_feature_source_close(&r.source);
    sr_pipeline_free(r.pipeline);
    sr_config_free(r.config);
    sr_arena_deinit(&r.arena);
    return status;
}
