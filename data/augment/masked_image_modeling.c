// MaskedImageModeling: chooses the patches of each view that are hidden from the model, as random
// rectangles (iBOT, arXiv:2111.07832; BEiT, arXiv:2106.08254).  Every view gets an extra "mask",
// (patches) of 1 and 0, row by row; pixels stay.
//
// The two values of log_aspect_ratio are exponents, as in VISSL: height / width is exp of a number
// between them.  VISSL's default, 0.3 and 1 / 0.3, looks like two ratios but is used as exponents.
#include <stddef.h>

#include "base/compiler.h"
#include "data/augment/shared/block_mask.h"
#include "data/extras.h"
#include "data/transform.h"

enum { MAX_PATCHES = 1 << 14 };

typedef struct {
    SrDoubles mean, var, log_aspect;
    int patch_size;
} Params;

// clang-format off
static const SrOption options[] = {
    {"pred_ratio_mean", SR_OPT_FLOATS, offsetof(Params, mean), "[0.3]", 0, 1,
     .help = "Shares of hidden patches; each mask uses one of them, at random."},
    {"pred_ratio_var", SR_OPT_FLOATS, offsetof(Params, var), "[0]", 0, 1,
     .help = "Largest deviation from each share; the share is drawn uniformly within it."},
    {"patch_size", SR_OPT_INT, offsetof(Params, patch_size), "16", 1, 1024,
     .help = "Side of a patch in pixels, the same as in the trunk."},
    {"log_aspect_ratio", SR_OPT_FLOATS, offsetof(Params, log_aspect), "[0.3, 3.3333333333333335]", -100, 100,
     .help = "Range of the logarithm of a rectangle's height / width."},
    SR_OPTION_END};
// clang-format on

static SrStatus check(const void *params) {
    const Params *p = params;
    if (p->mean.n < 1 || p->mean.n != p->var.n)
        SR_FAIL(SR_ERR_CONFIG,
                "pred_ratio_mean has %d numbers and pred_ratio_var %d; expected equal numbers",
                p->mean.n, p->var.n);
    if (p->log_aspect.n != 2)
        SR_FAIL(SR_ERR_CONFIG, "log_aspect_ratio has %d numbers, expected [first, second]",
                p->log_aspect.n);
    return SR_OK;
}

static SrStatus extras(const void *params, int n, const int h[SR_MAX_VIEWS],
                       const int w[SR_MAX_VIEWS], SrExtras *out) {
    const Params *p = params;
    for (int v = 0; v < n; v++) {
        int patches = (h[v] / p->patch_size) * (w[v] / p->patch_size);
        if (patches < 1 || patches > MAX_PATCHES)
            SR_FAIL(SR_ERR_CONFIG,
                    "patch_size: view %d is %d x %d, which are %d patches of %d pixels; expected 1 "
                    "to %d",
                    v, h[v], w[v], patches, p->patch_size, MAX_PATCHES);
        SrBatchExtra mask = {
            .name = "mask", .view = v, .shape = SR_SHAPE(patches), .dtype = SR_F32};
        SR_TRY(sr_extras_add(out, &mask));
    }
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    SrBlockMask mask = {.n_ratios = p->mean.n,
                        .mean = p->mean.v,
                        .var = p->var.v,
                        .log_aspect = {p->log_aspect.v[0], p->log_aspect.v[1]}};
    uint8_t hidden[MAX_PATCHES];
    for (int v = 0; v < views->n; v++) {
        float *to = sr_transform_extra(ctx, "mask", v);
        int h = views->view[v].H / p->patch_size, w = views->view[v].W / p->patch_size;
        SrRng rng = sr__transform_rng(ctx, v);
        if (!to)
            continue;
        SR_TRY(sr__view_fits(views, v)); // a larger view has more patches than were announced
        sr__block_mask_draw(&mask, sr__draws_of(&rng), h, w, hidden);
        for (int i = 0; i < h * w; i++)
            to[i] = hidden[i];
    }
    return SR_OK;
}

const SrTransform sr_transform_masked_image_modeling = {
    .name = "MaskedImageModeling",
    .help = "Chooses at random which patches of each view are hidden, in rectangles.",
    .options = options,
    .params_bytes = sizeof(Params),
    .takes_floats = true,
    .gives_floats = true,
    .check = check,
    .extras = extras,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
