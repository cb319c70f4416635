// ColorJitter: brightness, contrast, saturation and hue changed by random factors in random order
// (torchvision).
#include <stddef.h>

#include "data/augment/shared/jitter.h"

typedef struct {
    SrDoubles strength[4]; // one number or [low, high], by SrColorKind
    SrJitterRanges ranges; // ranges made from `strength`
} Params;

// clang-format off
static const SrOption options[] = {
    {"brightness", SR_OPT_FLOATS, offsetof(Params, strength[0]), "0", 0, 100, .help = "Factor from [max(0, 1-b), 1+b], or a range [low, high]."},
    {"contrast", SR_OPT_FLOATS, offsetof(Params, strength[1]), "0", 0, 100, .help = "Factor from [max(0, 1-c), 1+c], or a range [low, high]."},
    {"saturation", SR_OPT_FLOATS, offsetof(Params, strength[2]), "0", 0, 100, .help = "Factor from [max(0, 1-s), 1+s], or a range [low, high]."},
    {"hue", SR_OPT_FLOATS, offsetof(Params, strength[3]), "0", -0.5, 0.5, .help = "Shift in turns from [-h, h], or a range [low, high]."},
    SR_OPTION_END};
// clang-format on

// A single number x stands for [max(0, 1-x), 1+x] (hue: [-x, x]); a pair is taken as it is.
static SrStatus prepare(void *params, const char *where, uint32_t stage, SrArena *arena) {
    (void)stage;
    (void)arena;
    Params *p = params;
    for (int i = 0; i < 4; i++) {
        SrDoubles s = p->strength[i];
        bool single = s.n == 1 && s.v[0] >= 0, pair = s.n == 2 && s.v[0] <= s.v[1];
        if (!single && !pair)
            SR_FAIL(SR_ERR_CONFIG, "%s.%s: expected a number >= 0 or [low, high] with low <= high",
                    where, options[i].name);
    }
    double one[4];
    for (int i = 0; i < 4; i++)
        one[i] = p->strength[i].v[0];
    p->ranges = sr__jitter_ranges(one[0], one[1], one[2], one[3]);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2 && p->strength[i].n == 2; k++)
            p->ranges.range[i][k] = p->strength[i].v[k];
    return SR_OK;
}

// Each view makes five draws, used or not, so that one operation never changes another's draws.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrRng rng = sr__transform_rng(ctx, v);
        SrJitter jitter = sr__jitter_draw(&rng, &p->ranges);
        sr__jitter_tell(ctx, v, &jitter, false);
        sr__jitter_apply(&jitter, false, &views->view[v]);
    }
    return SR_OK;
}

const SrTransform sr_transform_color_jitter = {
    .name = "ColorJitter",
    .example = "brightness: 0.4",
    .help = "Changes brightness, contrast, saturation and hue by random factors in random order.",
    .options = options,
    .params_bytes = sizeof(Params),
    .prepare = prepare,
    .pixels = SR_PIXELS_COLOR,
    .apply = apply,
};
