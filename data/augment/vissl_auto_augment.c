// VisslAutoAugment: applies one of 25 learned pairs of operations per image (Cubuk et al.,
// arXiv:1805.09501), with VISSL's policies.  `original` is the paper's policy for ImageNet, `v0`
// that of TensorFlow's TPU models.  `originalr` and `v0r` posterise more as the magnitude grows.
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "data/augment/shared/policy_ops.h"
#include "data/transform.h"

typedef struct {
    int policy_name;
    double magnitude_std;
} Params;

// clang-format off
static const SrOption options[] = {
    {"policy_name", SR_OPT_ENUM, offsetof(Params, policy_name), "v0", .choices = "v0|v0r|original|originalr", .help = "Table of"
     " pairs of operations."},
    {"magnitude_std", SR_OPT_FLOAT, offsetof(Params, magnitude_std), "0", 0, 10, .help = "Standard deviation of the strength of a single operation."},
    SR_OPTION_END};

typedef struct {
    const char *op;
    double p, magnitude;
} Entry;
enum { PAIRS = 25 };
typedef struct {
    Entry entry[2];
} Pair;
static const Pair v0[PAIRS] = {
    {{{"Equalize", 0.8, 1}, {"ShearY", 0.8, 4}}},
    {{{"Color", 0.4, 9}, {"Equalize", 0.6, 3}}},
    {{{"Color", 0.4, 1}, {"Rotate", 0.6, 8}}},
    {{{"Solarize", 0.8, 3}, {"Equalize", 0.4, 7}}},
    {{{"Solarize", 0.4, 2}, {"Solarize", 0.6, 2}}},
    {{{"Color", 0.2, 0}, {"Equalize", 0.8, 8}}},
    {{{"Equalize", 0.4, 8}, {"SolarizeAdd", 0.8, 3}}},
    {{{"ShearX", 0.2, 9}, {"Rotate", 0.6, 8}}},
    {{{"Color", 0.6, 1}, {"Equalize", 1, 2}}},
    {{{"Invert", 0.4, 9}, {"Rotate", 0.6, 0}}},
    {{{"Equalize", 1, 9}, {"ShearY", 0.6, 3}}},
    {{{"Color", 0.4, 7}, {"Equalize", 0.6, 0}}},
    {{{"Posterize", 0.4, 6}, {"AutoContrast", 0.4, 7}}},
    {{{"Solarize", 0.6, 8}, {"Color", 0.6, 9}}},
    {{{"Solarize", 0.2, 4}, {"Rotate", 0.8, 9}}},
    {{{"Rotate", 1, 7}, {"TranslateYRel", 0.8, 9}}},
    {{{"ShearX", 0, 0}, {"Solarize", 0.8, 4}}},
    {{{"ShearY", 0.8, 0}, {"Color", 0.6, 4}}},
    {{{"Color", 1, 0}, {"Rotate", 0.6, 2}}},
    {{{"Equalize", 0.8, 4}, {"Equalize", 0, 8}}},
    {{{"Equalize", 1, 4}, {"AutoContrast", 0.6, 2}}},
    {{{"ShearY", 0.4, 7}, {"SolarizeAdd", 0.6, 7}}},
    {{{"Posterize", 0.8, 2}, {"Solarize", 0.6, 10}}},
    {{{"Solarize", 0.6, 8}, {"Equalize", 0.6, 1}}},
    {{{"Color", 0.8, 6}, {"Rotate", 0.4, 5}}},
};
static const Pair original[PAIRS] = {
    {{{"PosterizeOriginal", 0.4, 8}, {"Rotate", 0.6, 9}}},
    {{{"Solarize", 0.6, 5}, {"AutoContrast", 0.6, 5}}},
    {{{"Equalize", 0.8, 8}, {"Equalize", 0.6, 3}}},
    {{{"PosterizeOriginal", 0.6, 7}, {"PosterizeOriginal", 0.6, 6}}},
    {{{"Equalize", 0.4, 7}, {"Solarize", 0.2, 4}}},
    {{{"Equalize", 0.4, 4}, {"Rotate", 0.8, 8}}},
    {{{"Solarize", 0.6, 3}, {"Equalize", 0.6, 7}}},
    {{{"PosterizeOriginal", 0.8, 5}, {"Equalize", 1, 2}}},
    {{{"Rotate", 0.2, 3}, {"Solarize", 0.6, 8}}},
    {{{"Equalize", 0.6, 8}, {"PosterizeOriginal", 0.4, 6}}},
    {{{"Rotate", 0.8, 8}, {"Color", 0.4, 0}}},
    {{{"Rotate", 0.4, 9}, {"Equalize", 0.6, 2}}},
    {{{"Equalize", 0, 7}, {"Equalize", 0.8, 8}}},
    {{{"Invert", 0.6, 4}, {"Equalize", 1, 8}}},
    {{{"Color", 0.6, 4}, {"Contrast", 1, 8}}},
    {{{"Rotate", 0.8, 8}, {"Color", 1, 2}}},
    {{{"Color", 0.8, 8}, {"Solarize", 0.8, 7}}},
    {{{"Sharpness", 0.4, 7}, {"Invert", 0.6, 8}}},
    {{{"ShearX", 0.6, 5}, {"Equalize", 1, 9}}},
    {{{"Color", 0.4, 0}, {"Equalize", 0.6, 3}}},
    {{{"Equalize", 0.4, 7}, {"Solarize", 0.2, 4}}},
    {{{"Solarize", 0.6, 5}, {"AutoContrast", 0.6, 5}}},
    {{{"Invert", 0.6, 4}, {"Equalize", 1, 8}}},
    {{{"Color", 0.6, 4}, {"Contrast", 1, 8}}},
    {{{"Equalize", 0.8, 8}, {"Equalize", 0.6, 3}}},
};
// clang-format on

static const char *op_name(const Params *p, const char *name) {
    bool growing = p->policy_name == 1 || p->policy_name == 3;
    return growing && strncmp(name, "Posterize", 9) == 0 ? "PosterizeIncreasing" : name;
}

static SrStatus augment(const void *params, const SrTransformContext *ctx, int v, SrRng *rng,
                        SrImage *image) {
    const Params *p = params;
    const Pair *pair = &(p->policy_name < 2 ? v0 : original)[sr_rng_below(rng, PAIRS)];
    for (int i = 0; i < 2; i++) {
        const Entry *e = &pair->entry[i];
        SrPolicyStep step;
        const SrPolicyOp *op = sr__policy_op(op_name(p, e->op));
        if (sr__policy_draw(rng, op, e->p, e->magnitude, p->magnitude_std, &step)) {
            sr__tell(ctx, v, "%s %.2f", sr__policy_name(&step), sr__policy_argument(&step));
            SR_TRY(sr__policy_apply(&step, image, ctx->pool));
        }
    }
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    return sr__policy_views(params, ctx, views, augment);
}

const SrTransform sr_transform_vissl_auto_augment = {
    .name = "VisslAutoAugment",
    .help = "Applies one of 25 learned pairs of operations to each image.",
    .options = options,
    .params_bytes = sizeof(Params),
    .pixels = SR_PIXELS_COLOR,
    .apply = apply,
};
