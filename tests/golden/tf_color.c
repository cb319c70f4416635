// Runs golden cases tf_color*, tf_color_distortion*, tf_blur_photometric* and tf_rotate*: single
// operations with recorded parameters, and ImgPilColorDistortion with every draw recorded.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/augment/shared/jitter.h"
#include "data/image_pool.h"
#include "data/pixels/pixel_blur.h"
#include "data/pixels/pixel_color.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_photometric.h"
#include "tests/golden/images.h"

typedef struct {
    SrGoldenCase *c;
    SrImagePool *pool;
} Run;

// A family of outputs OUTPUT<i>, each made from `img` with the number values.PARAMETER<i>.
typedef struct {
    const char *output, *parameter;
    void (*in_place)(SrImage *image, double x);
    SrStatus (*with_pool)(SrImage *image, double x, SrImagePool *pool);
} Family;

static void solarize(SrImage *image, double x) { sr_pixel_solarize(image, (int)x); }

static const Family families[] = {
    {"brightness", "factor", sr_pixel_brightness, NULL},
    {"contrast", "factor", sr_pixel_contrast, NULL},
    {"saturation", "factor", sr_pixel_saturation, NULL},
    {"hue", "hue_factor", sr_pixel_hue, NULL},
    {"solarize", "solarize_threshold", solarize, NULL},
    {"blur", "blur_radius", NULL, sr_pixel_blur},
    {"sharpness", "sharpness_factor", NULL, sr_pixel_sharpness},
};

static SrStatus run_family(Run r, const Family *f) {
    const char *name;
    for (int i = 0; golden_tensor(r.c, name = golden_numbered(r.c, f->output, i)); i++) {
        double x;
        SrImage image;
        if (!golden_value(r.c, golden_numbered(r.c, f->parameter, i), &x))
            SR_FAIL(SR_ERR_RUN, "%s: no value %s%d", r.c->name, f->parameter, i);
        SR_TRY(golden_image(r.c, "img", r.pool, &image));
        if (f->in_place)
            f->in_place(&image, x);
        else
            SR_TRY(f->with_pool(&image, x, r.pool));
        SR_TRY(golden_compare_image(r.c, name, &image));
    }
    return SR_OK;
}

// Checks an operation without a number: OUTPUT from INPUT.
static SrStatus run_plain(Run r, const char *input, const char *output, void (*f)(SrImage *)) {
    if (!golden_tensor(r.c, output))
        return SR_OK;
    SrImage image;
    SR_TRY(golden_image(r.c, input, r.pool, &image));
    f(&image);
    return golden_compare_image(r.c, output, &image);
}

static SrStatus run_posterize(Run r) {
    const char *name;
    for (int i = 0; golden_tensor(r.c, name = golden_numbered(r.c, "posterize", i)); i++) {
        int bits;
        SrImage image;
        if (sscanf(golden_what(r.c, name), "bits %d", &bits) != 1)
            SR_FAIL(SR_ERR_RUN, "%s: how many bits %s has stays unclear", r.c->name, name);
        SR_TRY(golden_image(r.c, "img", r.pool, &image));
        sr_pixel_posterize(&image, bits);
        SR_TRY(golden_compare_image(r.c, name, &image));
    }
    return SR_OK;
}

// Checks rot<degrees> made from img, and rot_ns<degrees> from img_nonsquare.
static SrStatus run_rotate(Run r) {
    for (int i = 0; i < r.c->tensors->n; i++) {
        const char *name = r.c->tensors->tensors[i].name;
        bool square = strncmp(name, "rot_ns", 6) != 0;
        if (strncmp(name, "rot", 3) != 0)
            continue;
        SrImage image;
        SR_TRY(golden_image(r.c, square ? "img" : "img_nonsquare", r.pool, &image));
        SR_TRY(sr_pixel_rotate(&image, atof(name + (square ? 3 : 6)), r.pool));
        SR_TRY(golden_compare_image(r.c, name, &image));
    }
    return SR_OK;
}

static double number(const SrYaml *map, const char *key) {
    const SrYaml *value = sr_yaml_find(map, key);
    return value ? value->f : 0;
}

// Checks values.draw<i> = {applied, order, b, c, s, h, gray}.
static SrStatus run_draws(Run r) {
    static const char *const keys[4] = {"b", "c", "s", "h"};
    const char *name;
    for (int i = 0; sr_yaml_find(r.c->values, name = golden_numbered(r.c, "draw", i)); i++) {
        const SrYaml *draw = sr_yaml_find(r.c->values, name), *order = sr_yaml_find(draw, "order");
        SrImage image;
        SR_TRY(golden_image(r.c, "img", r.pool, &image));
        if (number(draw, "applied") != 0 && order && order->n == 4) {
            SrJitter jitter;
            for (int k = 0; k < 4; k++) {
                jitter.order[k] = (int)order->items[k]->i;
                jitter.used[k] = true;
                jitter.factor[k] = number(draw, keys[k]);
            }
            sr__jitter_apply(&jitter, false, &image);
        }
        if (number(draw, "gray") != 0)
            sr_pixel_grayscale(&image);
        SR_TRY(golden_compare_image(r.c, golden_numbered(r.c, "out", i), &image));
    }
    return SR_OK;
}

static SrStatus run_all(Run r) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        SR_TRY(run_family(r, &families[i]));
    SR_TRY(run_plain(r, "img", "gray", sr_pixel_grayscale));
    SR_TRY(run_plain(r, "img", "hflip", sr_pixel_flip));
    SR_TRY(run_plain(r, "img_lowcontrast", "autocontrast", sr_pixel_autocontrast));
    SR_TRY(run_posterize(r));
    SR_TRY(run_rotate(r));
    return run_draws(r);
}

static SrStatus run(SrGoldenCase *c) {
    SrImagePool *pool;
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = run_all((Run){c, pool});
    sr_image_pool_free(pool);
    return status;
}

const SrGolden sr_golden_tf_color = {.prefixes = {"tf_color", "tf_blur_photometric", "tf_rotate"},
                                     .run = run};
