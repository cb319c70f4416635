// Operations of augmentation policies: their arguments by magnitude, and their work on pixels.
#include "data/augment/shared/policy_ops.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "data/pixels/pixel_affine.h"
#include "data/pixels/pixel_color.h"
#include "data/pixels/pixel_photometric.h"

#define FILL 128 // VISSL's grey for what comes from outside

struct SrPolicyOp {
    const char *name;
    double (*argument)(double magnitude, bool negate); // NULL: none
    SrStatus (*apply)(const SrPolicyStep *step, double x, SrImage *image, SrImagePool *pool);
};

// ---- what a magnitude means ----

static double directed(double x, bool negate) { return negate ? -x : x; }
static double degrees(double m, bool negate) { return directed(m / 10 * 30, negate); }
static double shear(double m, bool negate) { return directed(m / 10 * 0.3, negate); }
static double share(double m, bool negate) { return directed(m / 10 * 0.45, negate); }
static double pixels(double m, bool negate) { return directed(m / 10 * 250, negate); }
static double factor(double m, bool negate) { return (void)negate, m / 10 * 1.8 + 0.1; }
static double grown(double m, bool negate) { return 1 + directed(m / 10 * 0.9, negate); }
static double bits(double m, bool negate) { return (void)negate, trunc(m / 10 * 4); }
static double fewer_bits(double m, bool negate) { return 4 - bits(m, negate); }
static double first_bits(double m, bool negate) { return 4 + bits(m, negate); }
static double threshold(double m, bool negate) { return (void)negate, trunc(m / 10 * 256); }
static double lower(double m, bool negate) { return 256 - threshold(m, negate); }
static double added(double m, bool negate) { return (void)negate, trunc(m / 10 * 110); }

// ---- what is done ----

#define IN_PLACE(name, call)                                                                      \
    static SrStatus name(const SrPolicyStep *step, double x, SrImage *image, SrImagePool *pool) { \
        (void)step, (void)x, (void)pool;                                                          \
        call;                                                                                     \
        return SR_OK;                                                                             \
    }
IN_PLACE(auto_contrast, sr_pixel_autocontrast(image))
IN_PLACE(equalize, sr_pixel_equalize(image))
IN_PLACE(invert, sr_pixel_invert(image))
IN_PLACE(posterize, sr_pixel_posterize(image, (int)x))
IN_PLACE(solarize, sr_pixel_solarize(image, (int)x))
IN_PLACE(solarize_add, sr_pixel_solarize_add(image, (int)x))
IN_PLACE(color, sr_pixel_saturation(image, x))
IN_PLACE(contrast, sr_pixel_contrast(image, x))
IN_PLACE(brightness, sr_pixel_brightness(image, x))

static SrStatus sharpness(const SrPolicyStep *step, double x, SrImage *image, SrImagePool *pool) {
    (void)step;
    return sr_pixel_sharpness(image, x, pool);
}

static SrStatus rotate(const SrPolicyStep *step, double x, SrImage *image, SrImagePool *pool) {
    return sr_pixel_rotate_filtered(image, x, step->filter, FILL, pool);
}

static SrStatus shear_x(const SrPolicyStep *step, double x, SrImage *image, SrImagePool *pool) {
    return sr_pixel_affine(image, (double[]){1, x, 0, 0, 1, 0}, step->filter, FILL, pool);
}

static SrStatus shear_y(const SrPolicyStep *step, double x, SrImage *image, SrImagePool *pool) {
    return sr_pixel_affine(image, (double[]){1, 0, 0, x, 1, 0}, step->filter, FILL, pool);
}

static SrStatus move_x(const SrPolicyStep *step, double x, SrImage *image, SrImagePool *pool) {
    return sr_pixel_affine(image, (double[]){1, 0, x, 0, 1, 0}, step->filter, FILL, pool);
}

static SrStatus move_y(const SrPolicyStep *step, double x, SrImage *image, SrImagePool *pool) {
    return sr_pixel_affine(image, (double[]){1, 0, 0, 0, 1, x}, step->filter, FILL, pool);
}

static SrStatus move_share_x(const SrPolicyStep *s, double x, SrImage *image, SrImagePool *pool) {
    return move_x(s, x * image->W, image, pool);
}

static SrStatus move_share_y(const SrPolicyStep *s, double x, SrImage *image, SrImagePool *pool) {
    return move_y(s, x * image->H, image, pool);
}

// clang-format off
static const SrPolicyOp ops[] = {
    {"AutoContrast", NULL, auto_contrast},
    {"Equalize", NULL, equalize},
    {"Invert", NULL, invert},
    {"Rotate", degrees, rotate},
    {"Posterize", bits, posterize},
    {"PosterizeIncreasing", fewer_bits, posterize},
    {"PosterizeOriginal", first_bits, posterize},
    {"Solarize", threshold, solarize},
    {"SolarizeIncreasing", lower, solarize},
    {"SolarizeAdd", added, solarize_add},
    {"Color", factor, color},
    {"ColorIncreasing", grown, color},
    {"Contrast", factor, contrast},
    {"ContrastIncreasing", grown, contrast},
    {"Brightness", factor, brightness},
    {"BrightnessIncreasing", grown, brightness},
    {"Sharpness", factor, sharpness},
    {"SharpnessIncreasing", grown, sharpness},
    {"ShearX", shear, shear_x},
    {"ShearY", shear, shear_y},
    {"TranslateX", pixels, move_x},
    {"TranslateY", pixels, move_y},
    {"TranslateXRel", share, move_share_x},
    {"TranslateYRel", share, move_share_y},
};
// clang-format on

const SrPolicyOp *sr__policy_op(const char *name) {
    for (int i = 0; i < SR_COUNT(ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

double sr__policy_argument(const SrPolicyStep *step) {
    return step->op->argument ? step->op->argument(step->magnitude, step->negate) : 0;
}

SrStatus sr__policy_apply(const SrPolicyStep *step, SrImage *image, SrImagePool *pool) {
    return step->op->apply(step, sr__policy_argument(step), image, pool);
}

// All draws are made, needed or not, so that later steps of a policy do not depend on earlier ones.
bool sr__policy_draw(SrRng *rng, const SrPolicyOp *op, double p, double magnitude, double std,
                     SrPolicyStep *out) {
    bool done = sr_rng_uniform(rng) < p;
    double drawn = magnitude + std * sr_rng_normal(rng);
    bool negate = sr_rng_uniform(rng) > 0.5;
    SrFilter filter = sr_rng_below(rng, 2) ? SR_FILTER_BICUBIC : SR_FILTER_BILINEAR;
    *out = (SrPolicyStep){op, SR_MAX(0.0, SR_MIN(10.0, drawn)), negate, filter};
    return done;
}

const char *sr__policy_name(const SrPolicyStep *step) { return step->op->name; }

SrStatus sr__policy_views(const void *params, const SrTransformContext *ctx, SrViews *views,
                          SrPolicyAugment augment) {
    for (int v = 0; v < views->n; v++) {
        SrRng rng = sr__transform_rng(ctx, v);
        SR_TRY(augment(params, ctx, v, &rng, &views->view[v]));
    }
    return SR_OK;
}
