// Opens data: chooses the source, its images and the transforms.  The loader itself is
// data/load/loader.c.
#include "trainer/data/data_split.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "data/collation.h"
#include "data/dataset.h"
#include "data/load/loader.h"
#include "data/pipeline.h"
#include "data/sandbox.h"
#include "data/transform.h"
#include "trainer/config/vissl/dataset_catalog.h"
#include "trainer/data/class_match.h"
#include "trainer/data/eval_crops.h"
#include "trainer/data/eval_transforms.h"

#define PATH_BYTES 4096

// ---- source -------------------------------------------------------------------------------------

// Lists of the configuration have an entry per source, and there is one source.
static const char *first_of(const SrStrings *list) { return list->n > 0 ? list->v[0] : ""; }

// Several sources are an error that says what to do instead.  VISSL joins them image by image,
// which is broken (https://github.com/facebookresearch/vissl/issues/471).
static SrStatus check_single(const SrSplitConfig *c, const char *which) {
    if (c->data_sources.n > 1 || c->data_paths.n > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s has %d data sources, expected one; put the images into one folder or list",
                which, SR_MAX(c->data_sources.n, c->data_paths.n));
    return SR_OK;
}

// DATA_SOURCES names the plugin.  If it is empty, the path decides: an IDX folder, CIFAR's files,
// a list, a folder.  A path of test images need not look like a test set.
static SrStatus find_source(const SrSplitConfig *c, const char *which, const char *path,
                            const SrDataset **out) {
    SR_TRY(check_single(c, which));
    if (c->data_sources.n > 0)
        return sr_dataset_find(c->data_sources.v[0], out);
    if (!*path)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.DATA_PATHS is empty: name a folder of images "
                "(DATA.%s.DATA_PATHS=[folder])",
                which, which);
    return sr_dataset_infer(path, which, out) == SR_OK ? SR_OK
                                                       : sr_dataset_infer(path, "TRAIN", out);
}

// Existing folders only.
static bool subfolder(const char *dir, const char *name, char out[PATH_BYTES]) {
    return sr_file_join(out, PATH_BYTES, dir, name) == SR_OK && sr_file_is_dir(out);
}

// ImageNet and most public sets have this layout.  Without the rule `train` and `test` would
// become the two classes of one set.
bool sr_split_part(const char *path, bool test, char out[SR_SPLIT_PATH_BYTES]) {
    char other[PATH_BYTES];
    const char *slash = strrchr(path, '/');
    if (!*path)
        return false;
    bool has_test = subfolder(path, "test", other) || subfolder(path, "val", other);
    if (has_test && subfolder(path, "train", out)) {
        if (test)
            memcpy(out, other, sizeof other);
        return true;
    }
    if (!test || strcmp(slash ? slash + 1 : path, "train") != 0)
        return false;
    snprintf(other, sizeof other, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    return subfolder(other, "test", out) || subfolder(other, "val", out);
}

// VISSL pairs any source of images with any of labels; here a list of labels goes with a list of
// images.
static SrStatus check_labels(const SrSplitConfig *c, const SrDataset *source, const char *which) {
    const SrDataset *labels = NULL;
    if (c->label_sources.n == 0 || c->label_paths.n == 0 || source->reads_label_path)
        return SR_OK;
    SR_TRY(sr_dataset_find(c->label_sources.v[0], &labels));
    if (!labels->reads_label_path)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "DATA.%s.LABEL_PATHS is for LABEL_SOURCES %s, but the source of images %s has its own "
            "labels; list the images too (DATA_SOURCES=[%s])",
            which, labels->name, source->name, labels->name);
}

SrPixelForm sr_split_form(const SrConfig *config) {
    if (!config)
        return (SrPixelForm){0};
    bool rgb = config->channels == 3 && !config->keep_bits;
    return (SrPixelForm){.channels = rgb ? 0 : config->channels,
                         .skip_color = config->color_transforms == SR_COLORS_SKIP};
}

// Opens `path` with out->source.
static SrStatus open_path(const SrSplitConfig *c, SrPixelForm form, const char *which,
                          const char *path, uint64_t seed, SrSplit *out) {
    SrDatasetConfig set = {
        .split = which,
        .data_path = path,
        .label_path = first_of(&c->label_paths),
        .remove_prefix = c->remove_img_path_prefix,
        .new_prefix = c->new_img_path_prefix,
        .data_limit = c->data_limit,
        .gray_size = c->default_gray_img_size,
        .random_images = c->random_synthetic_images,
        .random_labels = c->random_synthetic_labels,
        .channels = form.channels,
        .seed = seed,
    };
    SR_TRY(sr_dataset_open(out->source, &set, &out->set));
    out->path = sr_arena_strdup(&out->arena, path);
    SR_TRY_MEMORY(out->path, "%s", path);
    out->classes = out->source->classes ? out->source->classes(out->set) : 0;
    if (out->pipeline && sr_pipeline_classes(out->pipeline) > 0)
        out->classes = sr_pipeline_classes(out->pipeline);
    return SR_OK;
}

// Adds a sentence to the error of a split without paths, if VISSL's catalogue was not found.
static SrStatus mention_catalog(const SrSplitConfig *c, SrStatus status) {
    const SrYaml *names = sr_yaml_find(c->tree, "DATASET_NAMES");
    if (status != SR_ERR_CONFIG || sr_tree_is_default(names))
        return status;
    SrText text = SR_TEXT_INIT;
    sr_yaml_print_flow(names, &text);
    status = sr_fail(status,
                     "%s; DATASET_NAMES: %.200s is not looked up, since " SR_CATALOG_VARIABLE
                     " is not set and no " SR_CATALOG_FILE
                     " is in the folder of the configuration or above",
                     sr_status_message(), text.s ? text.s : "");
    sr_text_deinit(&text);
    return status;
}

// The path given is replaced by its train/ or test/ part where there is one.
SrStatus sr_split_open_set(const SrSplitConfig *c, SrPixelForm form, const char *which,
                           uint64_t seed, SrSplit *out) {
    char part[PATH_BYTES];
    const char *path = first_of(&c->data_paths);
    if (sr_split_part(path, strcmp(which, "TEST") == 0, part))
        path = part;
    SrStatus status = find_source(c, which, path, &out->source);
    if (status == SR_OK)
        status = check_labels(c, out->source, which);
    if (status == SR_OK)
        status = open_path(c, form, which, path, seed, out);
    return *path ? status : mention_catalog(c, status);
}

// Makes the settings that all loaders share.  Training and evaluation differ in order, batch and
// transforms.
static SrLoaderConfig loader_config(const SrConfig *config, const SrSplitConfig *c,
                                    const SrSplit *split) {
    return (SrLoaderConfig){
        .dataset = split->source,
        .set = split->set,
        .limit = c->data_limit,
        .limit_balanced = c->data_limit_balanced,
        .limit_seed = (uint64_t)c->data_limit_seed,
        .limit_skip = c->data_limit_skip,
        .pipeline = split->pipeline,
        .batch = c == &config->train ? config->batch : c->batchsize_per_replica,
        .label_type = "standard",
        .threads = config->num_dataloader_workers,
        .prefetch = SR_SPLIT_BATCHES_AHEAD - 1, // rides out a slow batch without holding much
        .gray_size = c->default_gray_img_size,
        .max_bad_share = c->max_bad_share,
        .fast = c->pixels == SR_PIXELS_FAST,
        .seed = config->seed,
    };
}

// ---- training -----------------------------------------------------------------------------------

// Makes the transforms of training.  VISSL's folders hold fragments next to whole configurations,
// and a fragment lacks them.
static SrStatus train_pipeline(const SrConfig *config, SrPipeline **out) {
    const SrYaml *list = config->train.transforms;
    if (!list || list->n == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s is a fragment, since DATA.TRAIN.TRANSFORMS is empty: name a whole "
                "configuration and add this file to it with +config/DIR=FILE, or list transforms "
                "that end in ToTensor",
                config->path);
    return sr_pipeline_new_for(list, "DATA.TRAIN.TRANSFORMS", sr_split_form(config), out);
}

// Sizes follow from the transforms alone; a pipeline that leaves a size open is an error here.
SrStatus sr_split_train_shape(const SrConfig *config, int *n_views, int h[SR_MAX_VIEWS],
                              int w[SR_MAX_VIEWS]) {
    SrPipeline *pipeline;
    SR_TRY(train_pipeline(config, &pipeline));
    SrStatus status = sr_pipeline_shape(pipeline, n_views, h, w);
    sr_pipeline_free(pipeline);
    return status;
}

// Gets the training views, and the tensors that transforms make in addition to them.
static SrStatus train_views(const SrConfig *config, SrCollateViews *out) {
    SrPipeline *pipeline;
    SR_TRY(train_pipeline(config, &pipeline));
    SrStatus status = sr_pipeline_shape(pipeline, &out->n, out->h, out->w);
    out->channels = sr_pipeline_form(pipeline).channels;
    if (status == SR_OK)
        status = sr_pipeline_extras(pipeline, &out->extras);
    sr_pipeline_free(pipeline);
    return status;
}

SrStatus sr_split_plan_train(const SrConfig *config, SrSplit *out) {
    const SrSplitConfig *c = &config->train;
    SrCollateViews views;
    SR_TRY(train_views(config, &views));
    SrCollation *collation = sr_arena_alloc(&out->arena, sizeof *collation);
    SR_TRY_MEMORY(collation, "COLLATE_FUNCTION");
    SR_TRY(sr_collation_new(c->collate_function, c->collate_params, "DATA.TRAIN", &views,
                            &out->arena, collation));
    out->collation = collation;
    out->n_views = collation->plan.n_inputs;
    for (int i = 0; i < out->n_views; i++) {
        out->h[i] = collation->plan.input[i].h;
        out->w[i] = collation->plan.input[i].w;
        out->rows[i] = collation->plan.input[i].rows;
    }
    return SR_OK;
}

static int64_t images_of(const SrSplitConfig *c, const SrSplit *split) {
    return c->data_limit > 0 ? c->data_limit : split->source->length(split->set);
}

SrStatus sr_split_train_length(const SrConfig *config, int64_t *n) {
    SrSplit split = {.note = ""};
    SrStatus status =
        sr_split_open_set(&config->train, sr_split_form(config), "TRAIN", config->seed, &split);
    if (status == SR_OK)
        *n = images_of(&config->train, &split);
    sr_split_close(&split);
    return status;
}

// Without LABEL_SOURCES VISSL numbers the samples, which is no class: a loss that needs labels
// takes the source's own.
static const char *label_type(const SrConfig *config) {
    const SrSplitConfig *c = &config->train;
    bool numbered = c->label_sources.n == 0 && strcmp(c->label_type, "sample_index") == 0;
    return config->supervised && numbered ? "standard" : c->label_type;
}

SrStatus sr_split_in_order(const SrConfig *config, const SrSplit *train, SrLoader **out) {
    SrLoaderConfig loader = loader_config(config, &config->train, train);
    loader.collation = train->collation;
    loader.label_type = label_type(config);
    return sr_loader_new(&loader, out);
}

SrShare sr_split_share(const SrConfig *config) {
    int ranks = sr_comm_size(), mine = config->replicas / ranks;
    if (ranks == 1)
        return (SrShare){0};
    return (SrShare){.of = config->replicas, .first = sr_comm_rank() * mine, .count = mine};
}

SrShare sr_split_turns(void) {
    return (SrShare){.of = sr_comm_size(), .first = sr_comm_rank(), .count = 1};
}

// Epochs are shuffled by (seed, epoch); the loader keeps that order for any number of threads.
static SrStatus open_train(const SrConfig *config, SrSplit *out) {
    const SrSplitConfig *c = &config->train;
    SR_TRY(train_pipeline(config, &out->pipeline));
    SR_TRY(sr_split_plan_train(config, out));
    SR_TRY(sr_split_open_set(c, sr_split_form(config), "TRAIN", config->seed, out));
    SrLoaderConfig loader = loader_config(config, c, out);
    loader.collation = out->collation;
    loader.shuffle = true;
    loader.share = sr_split_share(config);
    loader.replicas = config->replicas;
    // Otherwise the last batch has the remaining images (run.h: SrRunTail).
    loader.drop_last = c->drop_last || config->whole_batches;
    loader.label_type = label_type(config);
    if (loader.drop_last && images_of(c, out) < config->batch)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN: %lld images do not fill one batch of %d: lower "
                "DATA.TRAIN.BATCHSIZE_PER_REPLICA to at most %lld%s",
                (long long)images_of(c, out), config->batch,
                (long long)images_of(c, out) / config->sync_bn_group,
                !config->whole_batches ? ", or set DATA.TRAIN.DROP_LAST=False" : "");
    SR_TRY(sr_loader_new(&loader, &out->loader));
    out->n_targets = sr_loader_targets(out->loader);
    return SR_OK;
}

// Once a run asks for a sandbox, the process decodes all images so, those of pages too.
static SrStatus use_sandbox(const SrConfig *config) {
    return config->sandbox ? sr_sandbox_use() : SR_OK;
}

// On failure nothing stays open.
SrStatus sr_split_open_train(const SrConfig *config, SrSplit *out) {
    *out = (SrSplit){.note = "", .path = ""};
    SrStatus status = use_sandbox(config);
    if (status == SR_OK)
        status = open_train(config, out);
    if (status != SR_OK)
        sr_split_close(out);
    return status;
}

// ---- evaluation ---------------------------------------------------------------------------------

// The features of a trunk make sense only on pixels scaled as in its training.
static const SrYaml *find_normalize(const SrYaml *transforms) {
    for (int i = 0; transforms && i < transforms->n; i++) {
        const SrTransform *t;
        const SrYaml *name = sr_yaml_find(transforms->items[i], "name");
        if (name && name->text && sr_transform_find(name->text, &t) == SR_OK && t->normalizes)
            return transforms->items[i];
    }
    return NULL;
}

// Makes the transforms of evaluation with the Normalize of training, by the parser that reads
// DATA.TEST.TRANSFORMS.
static SrStatus default_transforms(const SrConfig *config, int crop, SrArena *arena,
                                   const SrYaml **out) {
    SrText text = SR_TEXT_INIT;
    sr_eval_transforms_crop(crop, crop, &text);
    const SrYaml *normalize = find_normalize(config->train.transforms);
    if (normalize) {
        sr_text_add(&text, ", ");
        sr_yaml_print_flow(normalize, &text);
    }
    sr_text_add(&text, "]");
    SrYaml *tree = NULL;
    SrStatus status =
        text.failed ? sr_out_of_memory("the transforms of evaluation")
                    : sr_yaml_parse(arena, text.s, text.len, "transforms of evaluation", &tree);
    sr_text_deinit(&text);
    *out = tree;
    return status;
}

// Makes the transforms of whole images.
static SrStatus whole_transforms(const SrConfig *config, int crop, SrArena *arena,
                                 const SrYaml **out, const char **where) {
    *out = config->test.transforms;
    *where = "DATA.TEST.TRANSFORMS";
    if (*out && (*out)->n > 0)
        return SR_OK;
    *where = "transforms of evaluation";
    return default_transforms(config, crop, arena, out);
}

// Crops get the size that whole images would have.
SrStatus sr_split_eval_transforms(const SrConfig *config, int crop, SrArena *arena,
                                  const SrYaml **out, const char **where) {
    SrPipeline *pipeline;
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    SR_TRY(whole_transforms(config, crop, arena, out, where));
    if (config->knn.crops == 0)
        return SR_OK;
    SR_TRY(sr_pipeline_new_for(*out, *where, sr_split_form(config), &pipeline));
    SrStatus status = sr_pipeline_shape(pipeline, &n, h, w);
    sr_pipeline_free(pipeline);
    SR_TRY(status);
    *where = "transforms of evaluation by crops";
    return sr_eval_crops_transforms(config->train.transforms, *out, h[0], w[0], arena, out);
}

// Evaluation compares one vector per image, so transforms must give one view.
static SrStatus open_eval_pipeline(const SrConfig *config, int crop, SrSplit *out) {
    const SrYaml *transforms;
    const char *where;
    SR_TRY(sr_split_eval_transforms(config, crop, &out->arena, &transforms, &where));
    SR_TRY(sr_pipeline_new_for(transforms, where, sr_split_form(config), &out->pipeline));
    SR_TRY(sr_pipeline_shape(out->pipeline, &out->n_views, out->h, out->w));
    if (out->n_views != 1)
        SR_FAIL(SR_ERR_CONFIG, "DATA.TEST.TRANSFORMS make %d views, but evaluation needs one",
                out->n_views);
    return SR_OK;
}

SrStatus sr_split_eval_shape(const SrConfig *config, int *n_views, int h[SR_MAX_VIEWS],
                             int w[SR_MAX_VIEWS]) {
    SrSplit unused = {.note = ""};
    SrStatus status = open_eval_pipeline(config, SR_SPLIT_EVAL_CROP, &unused);
    *n_views = unused.n_views;
    for (int v = 0; v < unused.n_views; v++) {
        h[v] = unused.h[v];
        w[v] = unused.w[v];
    }
    sr_split_close(&unused);
    return status;
}

// Chooses the origin from the most to the least explicit one.  The report mentions held-out images.
static SrTestOrigin test_origin(const SrConfig *config) {
    char part[PATH_BYTES];
    const SrDataset *source = NULL;
    const SrStrings *sources = &config->train.data_sources;
    if (config->test.data_paths.n > 0 || config->test.data_sources.n > 0)
        return SR_TEST_CONFIGURED;
    const char *path = first_of(&config->train.data_paths);
    if (sr_split_part(path, true, part))
        return SR_TEST_OF_SOURCE;
    SrStatus found = sources->n > 0 ? sr_dataset_find(sources->v[0], &source)
                                    : sr_dataset_infer(path, "TEST", &source);
    bool own = found == SR_OK && source->accepts && source->accepts(path, "TEST");
    return own ? SR_TEST_OF_SOURCE : SR_TEST_HELD_OUT;
}

bool sr_split_has_test(const SrConfig *config) { return test_origin(config) != SR_TEST_HELD_OUT; }

// Gives a tenth of the chosen training images to the test, and the rest to the bank: two parts of
// one shuffled order.  The seed is DATA_LIMIT_SAMPLING.SEED, so every evaluation of a run holds
// out the same images.  Balanced sampling is switched off: it rounds shares of classes, and the
// parts could overlap.
static SrStatus hold_out(SrLoaderConfig *loader, SrEvalSide side, int64_t length) {
    int64_t all = loader->limit > 0 ? SR_MIN(loader->limit, length) : length;
    int64_t test = SR_MAX(all / 10, 1);
    if (all < 2)
        SR_FAIL(SR_ERR_CONFIG,
                "one image cannot be compared with itself: an evaluation without test images needs "
                "2 training images or more; add some, or name test images "
                "(DATA.TEST.DATA_PATHS)");
    if (loader->limit <= 0)
        loader->limit_skip = 0; // it has no meaning without a limit
    loader->limit_balanced = false;
    loader->limit = side == SR_SIDE_TEST ? test : all - test;
    loader->limit_skip += side == SR_SIDE_TEST ? 0 : test;
    return SR_OK;
}

// Applies NEAREST_NEIGHBOR.BANK_LIMIT: a bank of a few ten thousand images ranks trunks like the
// whole set, in a fraction of the time.  Probes limit the test images too.
static void cap_side(SrLoaderConfig *loader, int64_t cap, int64_t length) {
    int64_t all = loader->limit > 0 ? loader->limit : length;
    if (cap <= 0 || all <= cap)
        return;
    if (loader->limit <= 0)
        loader->limit_skip = 0;
    loader->limit = cap;
}

// Sources and paths come from training unless the test has its own; limits are each split's own.
static SrSplitConfig side_config(const SrConfig *config, SrEvalSide side, SrTestOrigin origin) {
    if (side == SR_SIDE_BANK || origin == SR_TEST_HELD_OUT)
        return config->train;
    if (origin == SR_TEST_CONFIGURED)
        return config->test;
    SrSplitConfig c = config->train;
    c.data_limit = config->test.data_limit;
    c.data_limit_seed = config->test.data_limit_seed;
    c.data_limit_balanced = config->test.data_limit_balanced;
    c.data_limit_skip = config->test.data_limit_skip;
    c.label_paths = config->test.label_paths;
    c.max_bad_share = config->test.max_bad_share;
    c.pixels = config->test.pixels;
    return c;
}

// The bank always has training images; the origin concerns the test images alone.
static SrStatus open_side(const SrConfig *config, SrEvalSide side, const SrSplitConfig *c,
                          SrSplit *out) {
    const char *which = side == SR_SIDE_TEST && out->origin != SR_TEST_HELD_OUT ? "TEST" : "TRAIN";
    return sr_split_open_set(c, sr_split_form(config), which, config->seed, out);
}

SrStatus sr_split_open_test_set(const SrConfig *config, SrSplit *out) {
    *out = (SrSplit){.note = "", .path = "", .origin = test_origin(config)};
    SrSplitConfig c = side_config(config, SR_SIDE_TEST, out->origin);
    SrStatus status = open_side(config, SR_SIDE_TEST, &c, out);
    if (status != SR_OK)
        sr_split_close(out);
    return status;
}

static SrClassSide class_side(const SrSplit *s) {
    bool made = s->pipeline && sr_pipeline_classes(s->pipeline) > 0;
    return (SrClassSide){s->source, s->set, s->path, s->classes, made};
}

SrStatus sr_split_match_classes(const SrSplit *train, SrSplit *test, const int64_t **map) {
    *map = NULL;
    if (!train || !train->source)
        return SR_OK;
    SrClassSide known = class_side(train), given = class_side(test);
    return sr_class_match(&known, &given, &test->arena, map);
}

static SrStatus open_eval(const SrConfig *config, SrEvalSide side, bool sample, int batch, int crop,
                          const SrSplit *train, SrSplit *out) {
    bool phase = side == SR_SIDE_PHASE;
    side = phase ? SR_SIDE_TEST : side;
    SrSplitConfig c = side_config(config, side, out->origin);
    out->crops = config->knn.crops;
    SR_TRY(open_eval_pipeline(config, crop, out));
    SR_TRY(open_side(config, side, &c, out));
    SrLoaderConfig loader = loader_config(config, &c, out);
    if (out->origin == SR_TEST_HELD_OUT) {
        out->note = loader.limit_balanced
                        ? "there is no test set: a tenth of all training images, drawn without "
                          "IS_BALANCED, become test images, and the others the bank"
                        : "there is no test set: a tenth of the training images is left out of the "
                          "bank and used for the test";
        SR_TRY(hold_out(&loader, side, out->source->length(out->set)));
    }
    int64_t cap = side == SR_SIDE_BANK ? config->knn.bank_limit : config->knn.test_limit;
    cap_side(&loader, cap, out->source->length(out->set));
    loader.batch = batch;
    loader.unlabel_bad = true;
    loader.shuffle = sample;
    loader.drop_last = sample || (phase && config->test.drop_last);
    SR_TRY(sr_split_match_classes(train, out, &loader.class_map));
    if (loader.class_map)
        out->classes = train->classes;
    SR_TRY(sr_loader_new(&loader, &out->loader));
    out->n_targets = sr_loader_targets(out->loader);
    return SR_OK;
}

// On failure nothing stays open.
SrStatus sr_split_open_eval(const SrConfig *config, SrEvalSide side, bool sample, int batch,
                            int crop, const SrSplit *train, SrSplit *out) {
    *out = (SrSplit){.note = "", .path = "", .origin = test_origin(config)};
    SrStatus status = use_sandbox(config);
    if (status == SR_OK)
        status = open_eval(config, side, sample, batch, crop, train, out);
    if (status != SR_OK)
        sr_split_close(out);
    return status;
}

static SrStatus open_all(const SrConfig *config, const char *path, int batch, int crop,
                         SrSplit *out) {
    const SrSplitConfig c = {.remove_img_path_prefix = "",
                             .new_img_path_prefix = "",
                             .data_limit = -1,
                             .default_gray_img_size = config->train.default_gray_img_size,
                             .pixels = config->test.pixels};
    SR_TRY(open_eval_pipeline(config, crop, out));
    SR_TRY(sr_dataset_infer(path, "TRAIN", &out->source));
    SR_TRY(open_path(&c, sr_split_form(config), "TEST", path, config->seed, out));
    SrLoaderConfig loader = loader_config(config, &c, out);
    loader.batch = batch;
    loader.label_type = "sample_index";
    loader.max_bad_share = 1;
    return sr_loader_new(&loader, &out->loader);
}

SrStatus sr_split_open_all(const SrConfig *config, const char *path, int batch, int crop,
                           SrSplit *out) {
    *out = (SrSplit){.note = "", .path = ""};
    SrStatus status = use_sandbox(config);
    if (status == SR_OK)
        status = open_all(config, path, batch, crop, out);
    if (status != SR_OK)
        sr_split_close(out);
    return status;
}

// The loader goes first: its threads read from the set and through the pipeline.
void sr_split_close(SrSplit *split) {
    sr_loader_free(split->loader);
    sr_dataset_close(split->source, split->set);
    sr_pipeline_free(split->pipeline);
    sr_arena_deinit(&split->arena);
    *split = (SrSplit){.note = "", .path = ""};
}
