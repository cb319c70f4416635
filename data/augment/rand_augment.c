// RandAugment: draws a few operations from a list, all at one magnitude (Cubuk et al.,
// arXiv:1909.13719; VISSL).  Each is done with probability 1/2.
//
// VISSL's plain Posterize at a magnitude below 2.5 keeps no bit and gives a black image, and so
// does this one.  increasing_severity chooses operations that grow with the magnitude.
#include <stddef.h>

#include "base/compiler.h"
#include "data/augment/shared/policy_ops.h"
#include "data/transform.h"

enum { OPS = 15 };
typedef struct {
    double magnitude, magnitude_std;
    int num_layers;
    bool increasing_severity;
    int weight_choice;
} Params;

// clang-format off
static const SrOption options[] = {
    {"magnitude", SR_OPT_FLOAT, offsetof(Params, magnitude), "10", 0, 10, .help = "Strength of every operation, 0 to 10."},
    {"magnitude_std", SR_OPT_FLOAT, offsetof(Params, magnitude_std), "0", 0, 10, .help = "Standard deviation of the strength of a single operation."},
    {"num_layers", SR_OPT_INT, offsetof(Params, num_layers), "2", 1, OPS - 2, .help = "Number of operations per image."},
    {"increasing_severity", SR_OPT_BOOL, offsetof(Params, increasing_severity), "False",
     .help = "Use operations whose effect grows with the magnitude."},
    {"weight_choice", SR_OPT_INT, offsetof(Params, weight_choice), "-1", -1, 0,
     .help = "How operations are drawn.  0: with VISSL's weights, without replacement; -1: with equal weights, with"
     " replacement."},
    SR_OPTION_END};

static const char *const names[2][OPS] = {
    {"AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color", "Contrast",
     "Brightness", "Sharpness", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel"},
    {"AutoContrast", "Equalize", "Invert", "Rotate", "PosterizeIncreasing", "SolarizeIncreasing", "SolarizeAdd",
     "ColorIncreasing", "ContrastIncreasing", "BrightnessIncreasing", "SharpnessIncreasing", "ShearX", "ShearY",
     "TranslateXRel", "TranslateYRel"}};
// Posterize and Invert are never drawn, so at most 13 operations can be.
static const double weights[OPS] = {0.025, 0.005, 0, 0.3, 0, 0.005, 0.005, 0.025, 0.005, 0.005, 0.025, 0.2, 0.2, 0.1, 0.1};
// clang-format on

// Draws one of the operations that are not yet taken, by weight.
static int draw_weighted(SrRng *rng, bool taken[OPS]) {
    double sum = 0, at;
    int last = 0;
    for (int i = 0; i < OPS; i++)
        sum += taken[i] ? 0 : weights[i];
    at = sr_rng_uniform(rng) * sum;
    for (int i = 0; i < OPS; i++) {
        if (taken[i] || weights[i] == 0)
            continue;
        last = i;
        at -= weights[i];
        if (at < 0)
            break;
    }
    taken[last] = true;
    return last;
}

static SrStatus augment(const void *params, const SrTransformContext *ctx, int v, SrRng *rng,
                        SrImage *image) {
    const Params *p = params;
    bool taken[OPS] = {false};
    int layer[OPS];
    for (int i = 0; i < p->num_layers; i++)
        layer[i] = p->weight_choice == 0 ? draw_weighted(rng, taken) : (int)sr_rng_below(rng, OPS);
    for (int i = 0; i < p->num_layers; i++) {
        SrPolicyStep step;
        const SrPolicyOp *op = sr__policy_op(names[p->increasing_severity][layer[i]]);
        if (sr__policy_draw(rng, op, 0.5, p->magnitude, p->magnitude_std, &step)) {
            sr__tell(ctx, v, "%s %.2f", sr__policy_name(&step), sr__policy_argument(&step));
            SR_TRY(sr__policy_apply(&step, image, ctx->pool));
        }
    }
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    return sr__policy_views(params, ctx, views, augment);
}

const SrTransform sr_transform_rand_augment = {
    .name = "RandAugment",
    .help = "Applies a few operations drawn from a list, all at one magnitude.",
    .options = options,
    .params_bytes = sizeof(Params),
    .pixels = SR_PIXELS_COLOR,
    .apply = apply,
};
