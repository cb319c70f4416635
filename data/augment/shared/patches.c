// Patches of a grid: the size of cells and the copy of one patch.
#include "data/augment/shared/patches.h"

#include <string.h>

SrStatus sr__patch_grid(int n, int size, int jitter, SrPatchGrid *out) {
    int side = 1;
    while (side * side < n)
        side++;
    if (n < 1 || n > SR_MAX_VIEWS || side * side != n)
        SR_FAIL(SR_ERR_CONFIG, "num_patches is %d, expected a square number up to 64", n);
    *out = (SrPatchGrid){.n = n, .side = side, .cell = size / side, .jitter = jitter};
    if (size > 0 && out->cell <= jitter)
        SR_FAIL(SR_ERR_CONFIG,
                "%d patches of an image of %d pixels have cells of %d pixels, so a jitter of %d "
                "pixels leaves nothing; use fewer patches or a smaller jitter",
                n, size, out->cell, jitter);
    return SR_OK;
}

static SrStatus cut_floats(const SrImage *image, SrBox box, SrImagePool *pool, SrImage *out) {
    size_t row = 3 * (size_t)box.w;
    float *f = sr_image_pool_take(pool, (size_t)box.h * row * sizeof *f);
    if (!f)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a patch of %d x %d floats", box.h, box.w);
    for (int y = 0; y < box.h; y++)
        memcpy(f + (size_t)y * row,
               image->f + ((size_t)(box.top + y) * (size_t)image->W + (size_t)box.left) * 3,
               row * sizeof *f);
    *out = (SrImage){.H = box.h, .W = box.w, .f = f};
    return SR_OK;
}

SrStatus sr__patch_cut(const SrImage *image, const SrPatchGrid *grid, int i, int dx, int dy,
                       SrImagePool *pool, SrImage *out) {
    int size = grid->cell - grid->jitter;
    SrBox box = {grid->cell * (i % grid->side) + dy, grid->cell * (i / grid->side) + dx, size,
                 size};
    return image->f ? cut_floats(image, box, pool, out) : sr_pixel_crop(image, box, pool, out);
}
