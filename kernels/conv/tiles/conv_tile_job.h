// One pass of a convolution on tile registers, cut into units of work.  conv_tiles.c cuts, and
// conv_tile_ways.c runs a unit.
#ifndef SR_KERNELS_CONV_TILES_CONV_TILE_JOB_H
#define SR_KERNELS_CONV_TILES_CONV_TILE_JOB_H

#include "kernels/conv/conv_shape.h"
#include "kernels/conv/tiles/conv_tile_kernels.h"
#include "kernels/conv/tiles/conv_tile_parts.h"
#include "kernels/conv/tiles/conv_tile_plan.h"

enum { SR_TILE_SIDE = 16 }; // pixels of a tile

typedef enum { SR_TILE_DIRECT, SR_TILE_FLAT, SR_TILE_IMAGES } SrTileWay;

typedef struct {
    SrTilePlan plan;
    const SrTileKernels *kernels;
    SrTileWay way;
    int parts;
    SrTileParts products;
    int chunks, blocks;                              // channel chunks and output blocks of a group
    int64_t weight_chunk, weight_block, weight_part; // bytes
    int range, ranges; // output blocks of a unit; number of units across the blocks
    int64_t run, runs; // positions, or items of images, of a unit; number of units along them
    int64_t items;     // positions or items in all
    int64_t window;    // positions of a plane in scratch
    const char *in, *packed;
    char *out;
    bool add;
    const SrConvEnd *end;
    bool stream;
    SrDtype type;
    char *threads;
    size_t thread_bytes;
} SrTileJob;

static inline int64_t sr__tile_number_bytes(SrDtype type) { return type == SR_BF16 ? 2 : 4; }

// Returns the number of groups of 16 images; the last group may compute some images twice.
static inline int sr__tile_image_groups(const SrTilePlan *p) {
    return (p->N + SR_TILE_SIDE - 1) / SR_TILE_SIDE;
}

// Scratch of one thread.
typedef struct {
    SrTilePipe *pipe;
    SrTileStep *step;          // (6 SR_TILE_TAPS)
    int32_t *inputs, *outputs; // (window), (run)
    char *window;              // (parts, planes, chunks, window, 64 bytes); direct: 32 pixels
} SrTilePiece;

// One unit of work, in one group of channels.
typedef struct {
    const SrTileJob *job;
    SrTilePiece piece;
    int group, from, to; // blocks [from, to) of the group
    int64_t first, n;    // positions or items [first, first + n)
    const char *in;      // the group's first channel
    char *out;
    SrTileEnd end;
} SrTileUnit;

#endif
