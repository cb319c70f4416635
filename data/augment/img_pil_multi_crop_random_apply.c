// ImgPilMultiCropRandomApply: other transforms on each crop with that crop's own probability
// (VISSL; BYOL's and DINO's asymmetric blur and solarisation).
#include <stddef.h>

#include "data/pipeline.h"

typedef struct {
    const SrYaml *transforms;
    SrDoubles prob; // one per crop
    SrPipeline *inner;
} Params;

// clang-format off
static const SrOption options[] = {
    {"transforms", SR_OPT_TREE, offsetof(Params, transforms), "[]", .help = "List of transforms, each {name: ..., options}."},
    {"prob", SR_OPT_FLOATS, offsetof(Params, prob), "[]", 0, 1,
     .help = "Probability, for each crop, of applying the transforms."},
    SR_OPTION_END};
// clang-format on

static SrStatus prepare(void *params, const char *where, uint32_t stage, SrArena *arena) {
    Params *p = params;
    const char *inside = sr_arena_printf(arena, "%s.transforms", where);
    SR_TRY_MEMORY(inside, "%s", where);
    return sr__pipeline_nested(p->transforms, inside, stage, arena, &p->inner);
}

static SrPipeline *inner(const void *params) { return ((const Params *)params)->inner; }

static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    const Params *p = params;
    if (p->prob.n != *n)
        SR_FAIL(SR_ERR_CONFIG,
                "prob has %d entries, but there are %d crops; give one for each crop", p->prob.n,
                *n);
    for (int v = 0; v < *n; v++) {
        int one = 1, inner_h[SR_MAX_VIEWS] = {h[v]}, inner_w[SR_MAX_VIEWS] = {w[v]};
        SR_TRY(sr__pipeline_walk_shape(p->inner, &one, inner_h, inner_w));
        if (one != 1 || inner_h[0] != h[v] || inner_w[0] != w[v])
            SR_FAIL(SR_ERR_CONFIG,
                    "its transforms change the size of crop %d, but they are applied at random "
                    "only; use transforms that keep the size",
                    v);
    }
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrRng rng = sr__transform_rng(ctx, v);
        if (sr_rng_uniform(&rng) >= p->prob.v[v])
            continue;
        // The inner pipeline sees the crop as view 0, so its draws are keyed by a number made of
        // sample and view.
        SrTransformContext inside = *ctx;
        inside.sample = ctx->sample * 64 + v;
        inside.told = ctx->told ? ctx->told + v : NULL;
        SrViews one = {.n = 1, .view = {views->view[v]}};
        SR_TRY(sr_pipeline_apply(p->inner, &inside, &one));
        views->view[v] = one.view[0];
    }
    return SR_OK;
}

const SrTransform sr_transform_img_pil_multi_crop_random_apply = {
    .name = "ImgPilMultiCropRandomApply",
    .help = "Applies other transforms to each crop with that crop's own probability.",
    .example =
        "prob: [1, 0.5], transforms: [{name: ImgPilGaussianBlur}, {name: ColorJitter, hue: 0.1}]",
    .options = options,
    .params_bytes = sizeof(Params),
    .prepare = prepare,
    .inner = inner,
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
