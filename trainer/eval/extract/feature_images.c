// Decodes single images and applies the transforms of evaluation.
#include "trainer/eval/extract/feature_images.h"

#include <stdio.h>
#include <string.h>

#include "base/text/yaml.h"
#include "base/text/yaml_load.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/pipeline.h"
#include "data/transform.h"
#include "trainer/data/data_split.h"
#include "trainer/data/eval_transforms.h"
#include "trainer/features/feature_values.h"

// Makes the transforms with which a model's publisher measured it; NULL: torchvision's.
static SrStatus model_transforms(const SrPreset *preset, int h, int w, SrArena *arena,
                                 const SrYaml **out) {
    SrYaml *tree = NULL;
    SrStatus status = sr_eval_transforms_parse(preset, h, w, arena, &tree);
    *out = tree;
    return status;
}

static SrStatus find_transforms(const SrConfig *config, const SrPreset *preset, int h, int w,
                                SrArena *arena, const SrYaml **out, const char **where) {
    int n, side = sr_preset_pixels(preset)->side, sides[SR_MAX_VIEWS], widths[SR_MAX_VIEWS];
    *where = "transforms of evaluation";
    if (!config)
        return model_transforms(preset, h ? h : side, w ? w : side, arena, out);
    if (h == 0) {
        SR_TRY(sr_split_train_shape(config, &n, sides, widths));
        h = sides[0];
    }
    return sr_split_eval_transforms(config, h, arena, out, where);
}

static SrStatus open_images(const SrConfig *config, const SrPreset *preset, int h, int w,
                            SrFeatureImages *m) {
    const SrYaml *transforms;
    const char *where;
    int n, sides[SR_MAX_VIEWS], widths[SR_MAX_VIEWS];
    SR_TRY(find_transforms(config, preset, h, w, &m->arena, &transforms, &where));
    SR_TRY(sr_pipeline_new_for(transforms, where, sr_split_form(config), &m->pipeline));
    SR_TRY(sr_pipeline_shape(m->pipeline, &n, sides, widths));
    m->h = sides[0];
    m->w = widths[0];
    m->fast = config && config->test.pixels == SR_PIXELS_FAST;
    if (n != 1)
        SR_FAIL(SR_ERR_CONFIG, "%s: %d views come out, a feature needs one", where, n);
    if (h > 0 && (m->h != h || m->w != w))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: images of %d x %d come out, and the model was opened for %d x %d; open it "
                "with 0 x 0 to take the configuration's size",
                where, m->h, m->w, h, w);
    return SR_OK;
}

SrStatus sr_feature_images_open(const SrConfig *config, const SrPreset *preset, int h, int w,
                                SrFeatureImages *out) {
    *out = (SrFeatureImages){.h = 0};
    SrStatus status = open_images(config, preset, h, w, out);
    if (status != SR_OK)
        sr_feature_images_close(out);
    return status;
}

// Makes the list of transforms that squeezes whole images.
static SrStatus whole_transforms(const SrYaml *evaluation, int h, int w, SrArena *arena,
                                 SrYaml **out) {
    char text[80];
    const SrTransform *t;
    snprintf(text, sizeof text, "[{name: Resize, size: [%d, %d]}]", h, w);
    SR_TRY(sr_yaml_parse(arena, text, strlen(text), "transforms of whole images", out));
    for (int i = 0; i < evaluation->n; i++) {
        SrYaml *copy = sr_yaml_copy(arena, evaluation->items[i]);
        SR_TRY(sr_transform_find(sr_tree_text(evaluation->items[i], "name", ""), &t));
        SR_TRY_MEMORY(copy, "transforms");
        if (!t->shape)
            SR_TRY(sr_yaml_append(arena, *out, copy));
    }
    return SR_OK;
}

static SrStatus open_whole(const SrConfig *config, const SrPreset *preset, SrFeatureImages *m) {
    const SrYaml *evaluation;
    SrYaml *parsed, *whole;
    const char *where = "transforms of evaluation";
    if (config) {
        SR_TRY(sr_split_eval_transforms(config, m->h, &m->arena, &evaluation, &where));
    } else {
        SR_TRY(sr_eval_transforms_parse(preset, m->h, m->w, &m->arena, &parsed));
        evaluation = parsed;
    }
    SR_TRY(whole_transforms(evaluation, m->h, m->w, &m->arena, &whole));
    m->fast = config && config->test.pixels == SR_PIXELS_FAST;
    return sr_pipeline_new_for(whole, where, sr_split_form(config), &m->pipeline);
}

SrStatus sr_feature_images_open_whole(const SrConfig *config, const SrPreset *preset, int h, int w,
                                      SrFeatureImages *out) {
    *out = (SrFeatureImages){.h = h, .w = w};
    SrStatus status = open_whole(config, preset, out);
    if (status != SR_OK)
        sr_feature_images_close(out);
    return status;
}

SrStatus sr_feature_images_need_rgb(const SrFeatureImages *m, const char *what) {
    int channels = sr_pipeline_form(m->pipeline).channels;
    if (channels == 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s needs RGB images of 8 bits, and this model takes floats of %d channels "
            "(DATA.CHANNELS, KEEP_BITS); sslrun extract, knn and linear read such images",
            what, channels);
}

void sr_feature_images_close(SrFeatureImages *m) {
    sr_pipeline_free(m->pipeline);
    sr_arena_deinit(&m->arena);
    *m = (SrFeatureImages){.h = 0};
}

static SrStatus read_image(const SrFeatureImages *m, const void *bytes, size_t n, SrImagePool *pool,
                           float *x) {
    SrViews views = {.n = 1};
    int64_t label = -1;
    const SrTransformContext ctx = {.fast = m->fast, .pool = pool, .label = &label};
    SR_TRY(sr_image_open(bytes, n, &views.view[0]));
    views.view[0].channels = sr_pipeline_form(m->pipeline).channels;
    SR_TRY(sr_pipeline_apply(m->pipeline, &ctx, &views));
    sr_layout_to_nchw(views.view[0].f, SR_SHAPE(1, m->h, m->w, sr_channels(views.view[0].channels)),
                      x);
    return SR_OK;
}

SrStatus sr_feature_images_read(const SrFeatureImages *m, const void *bytes, size_t n, float *x) {
    SrImagePool *pool;
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = read_image(m, bytes, n, pool, x);
    sr_image_pool_free(pool);
    return status;
}
