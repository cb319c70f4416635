// Every option of every trunk, transform and schedule, set to another legal value, has a visible
// effect, or a line reports that it has none. The loops run over the registries, so that options
// of a new plugin are checked at once. test_every_key_learning.c checks plugins that learn or
// measure, test_every_key_sections.c the sections.
#include <stdio.h>
#include <string.h>

#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "data/extras.h"
#include "data/image_pool.h"
#include "data/pipeline.h"
#include "data/pixels/pixel.h"
#include "data/transform.h"
#include "graph/ir/print.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/trainer/every_key.h"
#include "trainer/schedules/schedule.h"
#include "trunks/trunk.h"

static const EveryKeyGiven given[] = {
    {"ImgPilMultiCropRandomApply.transforms", "[{name: ImgPilRandomSolarize, prob: 1.0}]", NULL},
    {"ImgPilToMultiCrop.total_num_crops", "3", NULL},
    {"ImgPilToMultiCrop.num_crops", "[3]", NULL},
    {"ImgPilToMultiCrop.crop_scales", "[[0.5, 0.6]]", NULL},
    {"MaskedImageModeling.pred_ratio_mean", "[0.5]", NULL},
    {"MaskedImageModeling.pred_ratio_var", "[0.2]", NULL},
    {"MaskedImageModeling.log_aspect_ratio", "[-0.3, 0.3]", NULL},
    {"beit.IMAGE_SIZE", "64", NULL},
    {"beit.INIT_VALUES", "0.5", NULL},
    {"beit.QK_SCALE", "-0.5", NULL},
    {"swin_transformer.QK_SCALE", "-0.5", NULL},
    {"swin_transformer_official.IMAGE_SIZE", "16", NULL},
    {"swin_transformer_official.QK_SCALE", "-0.5", NULL},
    {"xcit.ATTENTION_DROPOUT_RATE", "0.5", NULL},
    {"xcit.QK_SCALE", "-0.5", NULL},
    {"composite.schedulers", "[{name: constant, value: 0.3}, {name: constant, value: 0.2}]", NULL},
    {"composite.lengths", "[0.25, 0.75]", NULL},
    {"composite.interval_scaling", "[rescaled, fixed]", NULL},
    {"multistep.milestones", "[20, 60]", NULL},
    {"regnet.name", "regnet_x_400mf", "{depth: 0}"},
    {"convit.IMAGE_SIZE", "64", NULL},
    {"convit.QK_SCALE", "-0.5", NULL},
    {"convit.ATTENTION_DROPOUT_RATE", "0.5", "{N_GPSA_LAYERS: 0}"},
    {"convit.LOCALITY_STRENGTH", "2", "{LOCAL_INIT: True}"},
    {"classy_vit.IMAGE_SIZE", "64", NULL},
    {"efficientnet.model_version", "B2", "{width: 0}"},
    {"efficientnet.min_width", "64", NULL},
    {"resnet_sk.DEPTH", "50", "{BLOCKS: []}"},
    {"resnet_sk.BLOCKS", "[1, 1, 2, 1]", NULL},
    {"resnet_sk.SK_RATIO", "0", NULL},
    {"vgg.DEPTH", "13", NULL},
    {"vision_transformer.ATTENTION_DROPOUT_RATE", "0.5", NULL},
    {"vision_transformer.QK_SCALE", "-0.5", NULL},
    {"vision_transformer.MASKED_IMAGE_MODELING.NAME", "msn",
     "{MASKED_IMAGE_MODELING: {PARAMS: {drop_ratio: 0.5, global_view_tokens: 16}}}"},
    {"vision_transformer.MASKED_IMAGE_MODELING.PARAMS.drop_ratio", "0.5",
     "{MASKED_IMAGE_MODELING: {NAME: msn, PARAMS: {global_view_tokens: 16}}}"},
    {"vision_transformer.MASKED_IMAGE_MODELING.PARAMS.global_view_tokens", "16",
     "{MASKED_IMAGE_MODELING: {NAME: msn, PARAMS: {drop_ratio: 0.5}}}"},
    {"RandomErasing.value", "0.5", NULL},
    {"ShuffleImgPatches.perm_file", "none.npy", NULL},
    {"ShuffleImgPatches.num_patches", "8", NULL},
    {0}};

// ---- trunks: the graph with a classifier, and how its parameters are drawn

static SrStatus see_trunk(const void *plugin, int example, const char *text, SrText *out) {
    const SrTrunk *t = plugin;
    SrArena arena = SR_ARENA_INIT;
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrYaml *map;
    SrTrunkOutput features;
    SrNodeId logits;
    int side = t->examples.v[example].side;
    void *options = sr_arena_alloc(&arena, t->params_bytes + 1);
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &map));
    SrStatus status = sr_options_parse(t->options, map, t->name, &arena, options);
    if (status == SR_OK) {
        CHECK_OK(sr_params_new(&params));
        CHECK_OK(sr_graph_new(params, &graph));
        CHECK_OK(sr_builder_new(graph, &b));
        SrTrunkInput in = {.image = sr_build_input(b, "x", SR_SHAPE(2, side, side, 3), SR_F32),
                           .mask = SR_NO_NODE};
        status = sr_trunk_build(t, b, options, &in, &features);
        if (status == SR_OK && t->classify && t->presets.n > 0)
            status = t->classify(b, options, &t->presets.v[0], &features, &logits);
        if (status == SR_OK)
            status = sr_builder_status(b);
        if (status == SR_OK)
            CHECK_OK(sr_graph_print(graph, SR_GRAPH_TABLE, out));
        for (int i = 0; status == SR_OK && i < sr_params_count(params); i++) {
            const SrInit *init = &sr_params_at(params, i)->init;
            sr_text_printf(out, "%d:%g ", (int)init->kind, init->value);
        }
        sr_builder_free(b);
        sr_graph_free(graph);
        sr_params_free(params);
    }
    sr_arena_deinit(&arena);
    return status;
}

TEST(test_trunks) {
    EveryKey out = {.n = 0};
    for (int i = 0; sr_trunk_at(i); i++) {
        const SrTrunk *t = sr_trunk_at(i);
        const char *bases[EVERY_KEY_MAX_BASES];
        int n = SR_MIN(t->examples.n, EVERY_KEY_MAX_BASES);
        for (int e = 0; e < n; e++)
            bases[e] = t->examples.v[e].options ? t->examples.v[e].options : "{}";
        every_key_try(&out,
                      &(EveryKeyTable){t->name, see_trunk, t, t->options, NULL, bases, n, given});
    }
    every_key_finish(&out, 20);
}

// ---- transforms: pixels, sizes and labels of some draws

static SrStatus see_transform(const void *plugin, int example, const char *map, SrText *out) {
    const SrTransform *t = plugin;
    SrArena arena = SR_ARENA_INIT;
    SrImagePool *pool;
    SrPipeline *p;
    SrYaml *list;
    char text[2048];
    // The closing brace of the map ends the entry.
    snprintf(text, sizeof text, "[{name: Resize, size: [120, 110]}, %s{name: %s%s%s%s]",
             strcmp(t->name, "ShuffleImgPatches") == 0
                 ? "{name: ToTensor}, {name: ImgPatchesFromTensor}, "
             : t->takes_floats ? "{name: ToTensor}, "
             : example == 1    ? "{name: ImgReplicatePil}, "
                               : "",
             t->name, strlen(map) > 2 ? ", " : "", map + 1,
             t->takes_floats || t->gives_floats ? "" : ", {name: ToTensor}");
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &list));
    SrStatus status = sr_pipeline_new(list, "TRANSFORMS", &p);
    int n_views, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    SrExtras extras = {.n = 0};
    SrStatus fits = status == SR_OK ? sr_pipeline_shape(p, &n_views, h, w) : status;
    if (status == SR_OK && fits == SR_OK)
        fits = sr_pipeline_extras(p, &extras);
    if (status == SR_OK && fits == SR_OK)
        sr_text_printf(out, "%d targets ", sr_pipeline_targets(p));
    if (status == SR_OK && fits != SR_OK)
        sr_pipeline_free(p);
    status = fits;
    if (status == SR_OK) {
        CHECK_OK(sr_image_pool_new(&pool));
        for (int64_t sample = 0; status == SR_OK && sample < 8; sample++) {
            int64_t label = -7;
            void *extra[SR_MAX_EXTRAS];
            for (int i = 0; i < extras.n; i++)
                extra[i] = sr_image_pool_take(pool, sr_batch_extra_bytes(&extras.v[i]));
            SrViews views = {.n = 1, .view = {fixture_image(pool, 60, 70, 9)}};
            SrTransformContext ctx = {.seed = 5,
                                      .epoch = 2,
                                      .sample = sample,
                                      .pool = pool,
                                      .label = &label,
                                      .extras = &extras,
                                      .extra = extra};
            memcpy(views.h, h, sizeof h);
            memcpy(views.w, w, sizeof w);
            status = sr_pipeline_apply(p, &ctx, &views);
            for (int v = 0; status == SR_OK && v < views.n; v++) {
                const SrImage *x = &views.view[v];
                size_t n = (size_t)x->H * (size_t)x->W * 3;
                sr_text_printf(out, "%dx%d %lld ", x->H, x->W, (long long)label);
                every_key_add_hash(out, x->rgb ? (const void *)x->rgb : x->f,
                                   x->rgb ? n : n * sizeof(float));
            }
            for (int i = 0; status == SR_OK && i < extras.n; i++)
                every_key_add_hash(out, extra[i], sr_batch_extra_bytes(&extras.v[i]));
            sr_image_pool_reset(pool);
        }
        sr_image_pool_free(pool);
        sr_pipeline_free(p);
    }
    sr_arena_deinit(&arena);
    return status;
}

// Example 0 gets one view, example 1 two; required options are given.
TEST(test_transforms) {
    EveryKey out = {.n = 0};
    for (int i = 0; sr_transform_at(i); i++) {
        const SrTransform *t = sr_transform_at(i);
        bool inner = strcmp(t->name, "ImgPilMultiCropRandomApply") == 0;
        const char *base =
            inner ? "{prob: [1, 0.5], transforms: [{name: ImgPilGaussianBlur}]}" : "{}";
        const char *bases[] = {base, base};
        every_key_try(
            &out, &(EveryKeyTable){t->name, see_transform, t, t->options, NULL, bases, 2, given});
    }
    every_key_finish(&out, 40);
}

// ---- schedules: their values over a run

static SrStatus see_schedule(const void *plugin, int example, const char *map, SrText *out) {
    const SrScheduleKind *kind = plugin;
    SrArena arena = SR_ARENA_INIT;
    SrSchedule *schedule;
    SrYaml *tree;
    char text[2048];
    (void)example;
    snprintf(text, sizeof text, "{name: %s%s%s", kind->name, strlen(map) > 2 ? ", " : "", map + 1);
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &tree));
    SrStatus status = sr_schedule_new(tree, "lr", 90, &arena, &schedule);
    for (int i = 0; status == SR_OK && i < 90; i++)
        sr_text_printf(out, "%.12g ", sr_schedule_value(schedule, i / 90.0));
    if (status == SR_OK)
        sr_text_printf(out, "%d", sr_schedule_per_epoch(schedule));
    sr_arena_deinit(&arena);
    return status;
}

// Sets all keys to their defaults, which most kinds accept.
TEST(test_schedules) {
    EveryKey out = {.n = 0};
    for (int i = 0; sr_schedule_kind_at(i); i++) {
        const SrScheduleKind *kind = sr_schedule_kind_at(i);
        SrArena arena = SR_ARENA_INIT;
        SrText text = SR_TEXT_INIT;
        SrYaml *defaults;
        CHECK_OK(sr_options_defaults(kind->options, &arena, &defaults));
        sr_yaml_print_flow(defaults, &text);
        const char *base = strcmp(kind->name, "composite") == 0
                               ? "{schedulers: [{name: constant, value: 0.3}, {name: linear, "
                                 "start_value: 1.0, end_value: 0.0}], lengths: [0.5, 0.5], "
                                 "interval_scaling: [rescaled, rescaled]}"
                           : strcmp(kind->name, "cosine_warm_restart") == 0
                               ? "{start_value: 0.1, end_value: 0.01, restart_interval_length: "
                                 "0.25, wave_type: half, lr_multiplier: 0.5}"
                               : text.s;
        every_key_try(&out, &(EveryKeyTable){kind->name, see_schedule, kind, kind->options, NULL,
                                             &base, 1, given});
        sr_text_deinit(&text);
        sr_arena_deinit(&arena);
    }
    every_key_finish(&out, 15);
}

SR_TESTS(every_key, every_key_test(test_trunks), every_key_test(test_transforms),
         every_key_test(test_schedules))
