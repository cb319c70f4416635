// Patches of a grid: the size of cells and the copy of one patch.
#include "data/augment/shared/patches.h"

#include "base/tensor.h"
#include "data/pixels/pixel_geometry.h"

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

SrStatus sr__patch_cut(const SrImage *image, const SrPatchGrid *grid, int i, int dx, int dy,
                       SrImagePool *pool, SrImage *out) {
    int size = grid->cell - grid->jitter;
    SrBox box = {grid->cell * (i % grid->side) + dy, grid->cell * (i / grid->side) + dx, size,
                 size};
    return sr_pixel_crop(image, box, pool, out);
}
