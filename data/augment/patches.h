// Jigsaw's grid of patches: an image is cut into g x g cells and a smaller patch is taken from a random
// place of each, so that edges do not give the order away (Noroozi and Favaro, arXiv:1603.09246).
#ifndef SR_DATA_AUGMENT_PATCHES_H
#define SR_DATA_AUGMENT_PATCHES_H

#include "data/pixels/pixel.h"

typedef struct {
    int n;      // patches, a square number
    int side;   // of the grid
    int cell;   // pixels
    int jitter; // pixels by which a patch is smaller than its cell
} SrPatchGrid;

// SR_ERR_CONFIG unless n is a square number of at most 64.  Cells of a size yet unknown (0) are 0.
SrStatus sr__patch_grid(int n, int size, int jitter, SrPatchGrid *out);
// Patch i of `image`: VISSL numbers down the columns, i = x * side + y.  dx, dy in [0, jitter].
// Bytes or floats, whichever the image has; memory of the pool.
SrStatus sr__patch_cut(const SrImage *image, const SrPatchGrid *grid, int i, int dx, int dy,
                       SrImagePool *pool, SrImage *out);

#endif
