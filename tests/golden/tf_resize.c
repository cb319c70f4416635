// Runs golden cases tf_resize* and tf_multicrop*: boxes cut out and resized, Resize followed by
// CenterCrop, and bicubic resizing.
#include <stdio.h>

#include "data/image_pool.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_resample.h"
#include "tests/golden/images.h"

// Checks that row i of `boxes`, (top, left, h, w, size), gives NAME<i>.
static SrStatus run_boxes(SrGoldenCase *c, const SrImage *img, const char *name,
                          SrImagePool *pool) {
    int64_t n;
    const float *boxes = golden_floats(c, "boxes", &n); // (n / 5, 5)
    for (int i = 0; boxes && i < n / 5; i++) {
        const float *b = boxes + 5 * i;
        SrBox box = {(int)b[0], (int)b[1], (int)b[2], (int)b[3]};
        SrImage out;
        SR_TRY(sr_pixel_resize(img, box, (int)b[4], (int)b[4], SR_FILTER_BILINEAR, pool, &out));
        SR_TRY(golden_compare_image(c, golden_numbered(c, name, i), &out));
    }
    return SR_OK;
}

// Checks "Resize(64) then CenterCrop(56)".
static SrStatus run_eval(SrGoldenCase *c, const SrImage *img, SrImagePool *pool) {
    const char *name;
    for (int i = 0; golden_tensor(c, name = golden_numbered(c, "eval", i)); i++) {
        int shorter, side, h, w;
        if (sscanf(golden_what(c, name), "Resize(%d) then CenterCrop(%d)", &shorter, &side) != 2)
            SR_FAIL(SR_ERR_RUN, "%s: what %s is stays unclear", c->name, name);
        SrImage resized, out;
        sr_pixel_fit_shorter(img->H, img->W, shorter, &h, &w);
        SR_TRY(sr_pixel_resize(img, (SrBox){0, 0, img->H, img->W}, h, w, SR_FILTER_BILINEAR, pool,
                               &resized));
        SR_TRY(sr_pixel_crop(&resized, sr_pixel_center_box(h, w, side, side), pool, &out));
        SR_TRY(golden_compare_image(c, name, &out));
    }
    return SR_OK;
}

static SrStatus run_bicubic(SrGoldenCase *c, const SrImage *img, SrImagePool *pool) {
    const char *name;
    const SrTensor *t;
    for (int i = 0; (t = golden_tensor(c, name = golden_numbered(c, "bicubic", i))); i++) {
        SrImage out;
        SR_TRY(sr_pixel_resize(img, (SrBox){0, 0, img->H, img->W}, t->shape.d[0], t->shape.d[1],
                               SR_FILTER_BICUBIC, pool, &out));
        SR_TRY(golden_compare_image(c, name, &out));
    }
    return SR_OK;
}

static SrStatus run_all(SrGoldenCase *c, SrImagePool *pool) {
    SrImage img;
    SR_TRY(golden_image(c, "img", pool, &img));
    SR_TRY(run_boxes(c, &img, golden_tensor(c, "crop0") ? "crop" : "out", pool));
    SR_TRY(run_eval(c, &img, pool));
    return run_bicubic(c, &img, pool);
}

static SrStatus run(SrGoldenCase *c) {
    SrImagePool *pool;
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = run_all(c, pool);
    sr_image_pool_free(pool);
    return status;
}

const SrGolden sr_golden_tf_resize = {.prefixes = {"tf_resize", "tf_multicrop"}, .run = run};
