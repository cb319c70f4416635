// Jigsaw's grid of patches (Noroozi and Favaro, arXiv:1603.09246).  An image is cut into g x g
// cells, and a smaller patch is taken from a random place of each, so that edges do not reveal
// the order.
#ifndef SR_DATA_AUGMENT_SHARED_PATCHES_H
#define SR_DATA_AUGMENT_SHARED_PATCHES_H

#include "data/image_pool.h"
#include "data/pixels/pixel.h"

typedef struct {
    int n;      // number of patches, a square number
    int side;   // cells per side of the grid
    int cell;   // side of a cell in pixels; 0: not known
    int jitter; // pixels by which a patch is smaller than its cell
} SrPatchGrid;

// Makes the grid of an image of `size` pixels per side; size 0: not known yet, cells are 0.
// SR_ERR_CONFIG: n is not a square number of at most 64.
SrStatus sr__patch_grid(int n, int size, int jitter, SrPatchGrid *out);
// Cuts patch i = x * side + y of `image`: as in VISSL numbers go down the columns.  dx, dy: place
// in the cell, 0 .. jitter.  The patch has bytes or floats as the image has, in memory of the
// pool.
SrStatus sr__patch_cut(const SrImage *image, const SrPatchGrid *grid, int i, int dx, int dy,
                       SrImagePool *pool, SrImage *out);

#endif
