// Plan of the tile design: a convolution as outputs at positions of a padded map.  Each output is
// the sum over taps of inputs at a constant distance, times packed weights.  Forward and backward
// data both have this form; backward data has the weights transposed.
//
// Strides: pixels of the input lie in planes; plane (a, b) holds the pixels (step_h i + a, step_w j
// + b).  Backward data of a strided convolution falls into phases of output pixels, each with its
// own taps.
//
// Positions run on from row to row and from image to image: `pitch` per row and `rows` rows per
// image.  Neighbours share the zeros between them, so any run of positions is a tile under every
// tap.
#ifndef SR_KERNELS_CONV_TILES_CONV_TILE_PLAN_H
#define SR_KERNELS_CONV_TILES_CONV_TILE_PLAN_H

#include "kernels/conv/conv_shape.h"

enum { SR_TILE_TAPS = 64, SR_TILE_PHASES = 16 };

typedef struct {
    int plane, dh, dw; // input of plane `plane`, dh rows and dw columns of positions away
    int id;            // index in the packed weights
} SrTileTap;

typedef struct {
    int first, taps; // range in the list of taps
    int at_h, at_w;  // position (h, w) is output pixel (h * out_step_h + at_h, ...)
} SrTilePhase;

typedef struct {
    int N, in_h, in_w, in_c, step_h, step_w; // the input; in_c counts the channels of all groups
    int groups, C, K;                        // groups; reduced and produced channels of a group
    int map_h, map_w;                        // positions of a phase
    int out_h, out_w, out_c, out_step_h, out_step_w;
    int planes, phases, taps;
    int plane_h[SR_TILE_PHASES], plane_w[SR_TILE_PHASES];
    SrTilePhase phase[SR_TILE_PHASES];
    SrTileTap tap[SR_TILE_TAPS]; // phase by phase
    int rows, pitch;             // positions of an image: rows x pitch
    int data_h, data_w;          // rows and columns of a plane that any tap reaches
    int64_t before, after;       // positions that a tap reaches back and forward at most
    int64_t positions;
} SrTilePlan;

// Fills the plan for forward or backward data.  Returns false for more taps, phases or pixels than
// a plan holds.
bool sr__tile_plan(SrTilePlan *p, const SrConvShape *s, SrConvPass pass);

// Writes the input pixel of each position in [from, to) of a plane; -1: zeros.
void sr__tile_inputs(const SrTilePlan *p, int plane, int64_t from, int64_t to, int32_t *table);
// Writes the output pixel of each position of a phase, -1 for none.  Returns how many outputs there
// are.
int64_t sr__tile_outputs(const SrTilePlan *p, const SrTilePhase *f, int64_t from, int64_t to,
                         int32_t *table);

#endif
