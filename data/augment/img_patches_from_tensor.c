// ImgPatchesFromTensor: makes the patches of a grid into views, each from a random place of its
// cell (VISSL's jigsaw, arXiv:1603.09246).  It stands after ToTensor.
#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "data/augment/shared/patches.h"
#include "data/pixels/pixel_float.h"
#include "data/transform.h"

typedef struct {
    int num_patches, patch_jitter;
    bool normalize_patches;
} Params;

// clang-format off
static const SrOption options[] = {
    {"num_patches", SR_OPT_INT, offsetof(Params, num_patches), "9", 1, 64,
     .help = "Number of patches per image, a square number."},
    {"patch_jitter", SR_OPT_INT, offsetof(Params, patch_jitter), "21", 0, 4096,
     .help = "Number of pixels by which a patch is smaller than its cell."},
    {"normalize_patches", SR_OPT_BOOL, offsetof(Params, normalize_patches), "false",
     .help = "Normalise each patch's channels to mean 0 and deviation 1, so that brightness and contrast do not reveal which"
     " patches are neighbours."},
    SR_OPTION_END};
// clang-format on

static SrStatus check(const void *params) {
    const Params *p = params;
    SrPatchGrid grid;
    return sr__patch_grid(p->num_patches, 0, p->patch_jitter, &grid);
}

static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    const Params *p = params;
    SrPatchGrid grid;
    if (*n != 1)
        SR_FAIL(SR_ERR_CONFIG, "needs one image, but a transform before it makes %d", *n);
    SR_TRY(sr__patch_grid(p->num_patches, SR_MIN(h[0], w[0]), p->patch_jitter, &grid));
    *n = grid.n;
    int size = grid.cell > 0 ? grid.cell - grid.jitter : 0;
    for (int v = 0; v < grid.n; v++)
        h[v] = w[v] = size;
    return SR_OK;
}

// Normalises a patch as Noroozi and Favaro do (section 3.3); VISSL does not.  A channel of one
// value becomes zeros.
static void normalize(SrImage *patch) {
    double mean[SR_MAX_CHANNELS] = {0}, deviation[SR_MAX_CHANNELS] = {0};
    int n = patch->H * patch->W, C = sr_channels(patch->channels);
    for (int i = 0; i < C * n; i++)
        mean[i % C] += (double)patch->f[i] / n;
    for (int i = 0; i < C * n; i++)
        deviation[i % C] += pow((double)patch->f[i] - mean[i % C], 2) / n;
    for (int c = 0; c < C; c++)
        deviation[c] = sqrt(deviation[c] + 1e-6);
    sr_pixel_normalize(patch, mean, deviation);
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    SrImage image = views->view[0];
    SrPatchGrid grid;
    SR_TRY(sr__patch_grid(p->num_patches, SR_MIN(image.H, image.W), p->patch_jitter, &grid));
    views->n = grid.n;
    for (int i = 0; i < grid.n; i++) {
        SrRng rng = sr__transform_rng(ctx, i);
        uint32_t places = (uint32_t)SR_MAX(grid.jitter, 1);
        int dx = (int)sr_rng_below(&rng, places), dy = (int)sr_rng_below(&rng, places);
        sr__tell(ctx, i, "cell %d, shifted by %d, %d", i, dx, dy);
        SR_TRY(sr__patch_cut(&image, &grid, i, dx, dy, ctx->pool, &views->view[i]));
        if (p->normalize_patches)
            normalize(&views->view[i]);
    }
    return SR_OK;
}

const SrTransform sr_transform_img_patches_from_tensor = {
    .name = "ImgPatchesFromTensor",
    .help = "Cuts a grid of patches as views, each from a random position in its cell.",
    .options = options,
    .params_bytes = sizeof(Params),
    .takes_floats = true,
    .gives_floats = true,
    .check = check,
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
