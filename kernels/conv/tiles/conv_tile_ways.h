// The three ways in which a unit of work reads its pixels.
#ifndef SR_KERNELS_CONV_TILES_CONV_TILE_WAYS_H
#define SR_KERNELS_CONV_TILES_CONV_TILE_WAYS_H

#include "kernels/conv/tiles/conv_tile_job.h"

// Run a unit; the unit's sums, weights and outputs are set.
void sr__tile_run_direct(const SrTileUnit *u);
void sr__tile_run_flat(const SrTileUnit *u);
void sr__tile_run_images(const SrTileUnit *u);

#endif
