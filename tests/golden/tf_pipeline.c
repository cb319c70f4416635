// Runs golden cases tf_swav_pipeline* and tf_totensor_normalize*: from bytes to normalised
// floats; SwAV's whole chain of transforms with recorded draws.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/augment/shared/jitter.h"
#include "data/image_pool.h"
#include "data/pixels/pixel_blur.h"
#include "data/pixels/pixel_color.h"
#include "data/pixels/pixel_float.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_resample.h"
#include "tests/golden/images.h"

// ImageNet's mean and deviation, as in all VISSL configurations.
static const double mean[3] = {0.485, 0.456, 0.406}, std[3] = {0.229, 0.224, 0.225};

// Compares an image (H, W, 3) with a tensor (3, H, W), within `levels` grey levels of a channel
// that was divided by `deviation`.
static SrStatus compare_floats(SrGoldenCase *c, const char *name, const SrImage *image,
                               double levels, double deviation) {
    int64_t n;
    const float *reference = golden_floats(c, name, &n);
    if (!reference)
        SR_FAIL(SR_ERR_RUN, "%s: no tensor %s", c->name, name);
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)reference[i]));
    float *nchw = golden_to_nchw(c, image->f, SR_SHAPE(1, image->H, image->W, 3));
    return golden_compare(c, name, nchw, (int64_t)image->H * image->W * 3,
                          levels / 255 / deviation / fmax(largest, 1e-6));
}

static SrStatus run_to_tensor(SrGoldenCase *c, SrImagePool *pool) {
    SrImage image;
    SR_TRY(golden_image(c, "img", pool, &image));
    SR_TRY(sr_pixel_to_tensor(&image, pool));
    // Floats are compared without rounding to grey levels.
    SR_TRY(compare_floats(c, "totensor", &image, 1e-4, 1));
    sr_pixel_normalize(&image, mean, std);
    return compare_floats(c, "normalized", &image, 1e-4, 1);
}

// Applies draw = {box_tlhw, hflip, order, bcsh, gray, blur_radius}.
static SrStatus apply_draw(const SrYaml *draw, SrImagePool *pool, int side, const SrImage *img,
                           SrImage *out) {
    const SrYaml *box = sr_yaml_find(draw, "box_tlhw"), *flip = sr_yaml_find(draw, "hflip");
    const SrYaml *order = sr_yaml_find(draw, "order"), *factors = sr_yaml_find(draw, "bcsh");
    const SrYaml *gray = sr_yaml_find(draw, "gray"), *blur = sr_yaml_find(draw, "blur_radius");
    if (!box || box->n != 4)
        SR_FAIL(SR_ERR_RUN, "a draw has no box_tlhw");
    SrBox b = {(int)box->items[0]->i, (int)box->items[1]->i, (int)box->items[2]->i,
               (int)box->items[3]->i};
    SR_TRY(sr_pixel_resize(img, b, side, side, SR_FILTER_BILINEAR, pool, out));
    if (flip && flip->b)
        sr_pixel_flip(out);
    if (order && factors && order->n == 4 && factors->n == 4) {
        SrJitter jitter;
        for (int k = 0; k < 4; k++) {
            jitter.order[k] = (int)order->items[k]->i;
            jitter.used[k] = true;
            jitter.factor[k] = factors->items[k]->f;
        }
        sr__jitter_apply(&jitter, false, out);
    }
    if (gray && gray->b)
        sr_pixel_grayscale(out);
    if (blur && blur->type == SR_YAML_FLOAT)
        SR_TRY(sr_pixel_blur(out, blur->f, pool));
    SR_TRY(sr_pixel_to_tensor(out, pool));
    sr_pixel_normalize(out, mean, std);
    return SR_OK;
}

// Checks every crop: SwAV's transforms with the recorded draws values.draw<sample>_<crop> must
// give the tensor out<sample>_<crop>.
static SrStatus run_swav(SrGoldenCase *c, SrImagePool *pool) {
    SrImage img;
    SR_TRY(golden_image(c, "img", pool, &img));
    for (int i = 0; i < c->values->n; i++) {
        if (strncmp(c->values->keys[i], "draw", 4) != 0)
            continue;
        char name[64];
        snprintf(name, sizeof name, "out%s", c->values->keys[i] + 4);
        const SrTensor *t = golden_tensor(c, name);
        if (!t || t->shape.rank != 3)
            SR_FAIL(SR_ERR_RUN, "%s: no tensor %s", c->name, name);
        SrImage out;
        SR_TRY(apply_draw(c->values->items[i], pool, t->shape.d[1], &img, &out));
        SR_TRY(compare_floats(c, name, &out, 1, std[1]));
    }
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    SrImagePool *pool;
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = golden_tensor(c, "totensor") ? run_to_tensor(c, pool) : run_swav(c, pool);
    sr_image_pool_free(pool);
    return status;
}

const SrGolden sr_golden_tf_pipeline = {.prefixes = {"tf_swav_pipeline", "tf_totensor_normalize"},
                                        .run = run};
