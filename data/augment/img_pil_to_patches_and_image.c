// ImgPilToPatchesAndImage: makes a crop of the image, then the patches of another crop in random
// order (PIRL, arXiv:1912.01991, section 3.3; VISSL).  A patch has three quarters of its cell's
// side: 64 of 85 pixels.
#include <stddef.h>

#include "base/compiler.h"
#include "data/augment/shared/patches.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_resample.h"
#include "data/transform.h"

typedef struct {
    SrDoubles image_scale, patches_scale;
    int image_size, patches_size, num_patches;
} Params;

// clang-format off
static const SrOption options[] = {
    {"crop_scale_image", SR_OPT_FLOATS, offsetof(Params, image_scale), "[0.08, 1.0]", 1e-6, 1, .help = "Range of the image crop's share of the area."},
    {"crop_size_image", SR_OPT_INT, offsetof(Params, image_size), "224", 1, 4096, .help = "Side of the image crop in pixels."},
    {"crop_scale_patches", SR_OPT_FLOATS, offsetof(Params, patches_scale), "[0.6, 1.0]", 1e-6, 1,
     .help = "Range of the area share of the crop that is cut into patches."},
    {"crop_size_patches", SR_OPT_INT, offsetof(Params, patches_size), "255", 1, 4096,
     .help = "Side in pixels of the crop that is cut into patches."},
    {"permute_patches", SR_OPT_IGNORED, 0, "True",
     .help = "VISSL ignores the key too: patches are always in random order."},
    {"num_patches", SR_OPT_INT, offsetof(Params, num_patches), "9", 1, 63, .help = "Number of patches, a square"
     " number."},
    SR_OPTION_END};
// clang-format on

static SrStatus grid_of(const Params *p, SrPatchGrid *out) {
    SR_TRY(sr__patch_grid(p->num_patches, p->patches_size, 0, out));
    out->jitter = out->cell / 4;
    return SR_OK;
}

static SrStatus check(const void *params) {
    const Params *p = params;
    SrPatchGrid grid;
    if (p->image_scale.n != 2 || p->patches_scale.n != 2)
        SR_FAIL(SR_ERR_CONFIG, "crop_scale_image and crop_scale_patches: expected [low, high]");
    return grid_of(p, &grid);
}

static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    const Params *p = params;
    SrPatchGrid grid;
    if (*n != 1)
        SR_FAIL(SR_ERR_CONFIG, "needs one image, but a transform before it makes %d", *n);
    SR_TRY(grid_of(p, &grid));
    *n = 1 + grid.n;
    h[0] = w[0] = p->image_size;
    for (int v = 1; v <= grid.n; v++)
        h[v] = w[v] = grid.cell - grid.jitter;
    return SR_OK;
}

static SrStatus crop(SrRng *rng, const SrImage *src, const double scale[2], int size,
                     SrImagePool *pool, SrBox *where, SrImage *out) {
    static const double ratio[2] = {3.0 / 4, 4.0 / 3};
    SrBox box = sr_pixel_draw_box(rng, src->H, src->W, scale, ratio);
    *where = box;
    return sr_pixel_resize(src, box, size, size, SR_FILTER_BILINEAR, pool, out);
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    SrRng rng = sr__transform_rng(ctx, 0);
    SrImage src = views->view[0], whole;
    SrPatchGrid grid;
    uint32_t order[64];
    SrBox box;
    SR_TRY(grid_of(p, &grid));
    SR_TRY(crop(&rng, &src, p->image_scale.v, p->image_size, ctx->pool, &box, &views->view[0]));
    sr__tell(ctx, 0, "crop %d x %d at %d, %d", box.w, box.h, box.left, box.top);
    SR_TRY(crop(&rng, &src, p->patches_scale.v, p->patches_size, ctx->pool, &box, &whole));
    sr_rng_permutation(&rng, order, (uint32_t)grid.n);
    views->n = 1 + grid.n;
    for (int i = 0; i < grid.n; i++) {
        uint32_t places = (uint32_t)grid.jitter + 1;
        int dx = (int)sr_rng_below(&rng, places), dy = (int)sr_rng_below(&rng, places);
        sr__tell(ctx, 1 + i, "patch %u of %d x %d at %d, %d; shifted by %d, %d", order[i], box.w,
                 box.h, box.left, box.top, dx, dy);
        SR_TRY(sr__patch_cut(&whole, &grid, (int)order[i], dx, dy, ctx->pool, &views->view[1 + i]));
    }
    return SR_OK;
}

const SrTransform sr_transform_img_pil_to_patches_and_image = {
    .name = "ImgPilToPatchesAndImage",
    .help = "Cuts a crop of the image, then the patches of another crop in random order.",
    .stands_on = "",
    .options = options,
    .params_bytes = sizeof(Params),
    .box_scale = "crop_scale_image",
    .check = check,
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
