// RandomErasing: overwrites a random box of a view (Zhong et al., arXiv:1708.04896;
// torchvision).  It stands after ToTensor.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "data/augment/shared/erasing.h"
#include "data/transform.h"

typedef struct {
    double p;
    SrDoubles scale, ratio;
    const SrYaml *value;
    double *level; // (n_levels) one for all channels, or one for each; NULL: zeros
    int n_levels;
    bool noise;
} Params;

// clang-format off
static const SrOption options[] = {
    {"p", SR_OPT_FLOAT, offsetof(Params, p), "0.5", 0, 1, .help = "Probability."},
    {"scale", SR_OPT_FLOATS, offsetof(Params, scale), "[0.02, 0.33]", 0, 1, .help = "Range of the box's share of the area."},
    {"ratio", SR_OPT_FLOATS, offsetof(Params, ratio), "[0.3, 3.3]", 1e-3, 1e3, .help = "Range of height / width."},
    {"value", SR_OPT_TREE, offsetof(Params, value), "0",
     .help = "Value that is written: one number, one per channel, or `random` (standard normal)."},
    {"inplace", SR_OPT_IGNORED, 0, "False", .help = "views are copies and are always changed in place"},
    SR_OPTION_END};
// clang-format on

static bool is_number(const SrYaml *y) {
    return y->type == SR_YAML_INT || y->type == SR_YAML_FLOAT;
}

static SrStatus prepare(void *params, const char *where, uint32_t stage, SrArena *arena) {
    (void)stage;
    Params *p = params;
    const SrYaml *value = p->value;
    bool list = value && value->type == SR_YAML_LIST;
    p->noise = value && value->type == SR_YAML_STRING && strcmp(value->text, "random") == 0;
    if (!value || p->noise)
        return SR_OK;
    p->n_levels = list ? value->n : 1;
    p->level = sr_arena_alloc(arena, ((size_t)p->n_levels + 1) * sizeof *p->level);
    SR_TRY_MEMORY(p->level, "%s", where);
    for (int c = 0; c < SR_MAX(p->n_levels, 1); c++) {
        const SrYaml *level = !list ? value : value->n > 0 ? value->items[c] : NULL;
        if (!level || !is_number(level))
            SR_FAIL(SR_ERR_CONFIG, "%s: %s.value: expected a number, [red, green, blue] or random",
                    sr_yaml_place(value).text, where);
        p->level[c] = level->f;
    }
    return SR_OK;
}

static SrStatus check(const void *params) {
    const Params *p = params;
    if (p->scale.n != 2 || p->ratio.n != 2 || p->scale.v[0] > p->scale.v[1] ||
        p->ratio.v[0] > p->ratio.v[1])
        SR_FAIL(SR_ERR_CONFIG, "scale and ratio: expected [low, high] each");
    return SR_OK;
}

static SrStatus check_channels(const void *params, int channels) {
    const Params *p = params;
    if (p->n_levels > 1 && p->n_levels != channels)
        SR_FAIL(SR_ERR_CONFIG, "value has %d entries, expected 1 or %d, one for each channel",
                p->n_levels, channels);
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrRng rng = sr__transform_rng(ctx, v);
        SrImage *image = &views->view[v];
        SrBox box;
        if (sr_rng_uniform(&rng) < p->p &&
            sr__erasing_draw(&rng, image->H, image->W, p->scale.v, p->ratio.v, &box)) {
            sr__tell(ctx, v, "erased %d x %d at %d, %d", box.w, box.h, box.left, box.top);
            const double *level = p->level ? p->level : &(double){0};
            sr__erasing_apply(image, box, level, p->n_levels, p->noise ? &rng : NULL);
        }
    }
    return SR_OK;
}

const SrTransform sr_transform_random_erasing = {
    .name = "RandomErasing",
    .help = "Overwrites a random box with a probability.",
    .options = options,
    .params_bytes = sizeof(Params),
    .takes_floats = true,
    .gives_floats = true,
    .prepare = prepare,
    .check = check,
    .check_channels = check_channels,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
