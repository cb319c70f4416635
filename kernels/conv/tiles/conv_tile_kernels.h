// Innermost loops of the design on tile registers (conv_tiles.c): one table of functions for
// processors that have tile registers, one that emulates them.
//
// Numbers are bfloat16, or floats split into 2 or 3 bfloat16 parts, each part the rest of the one
// before.  Adding the products of parts that matter, smallest first, gives 16 or 24 bits of
// precision.
#ifndef SR_KERNELS_CONV_TILES_CONV_TILE_KERNELS_H
#define SR_KERNELS_CONV_TILES_CONV_TILE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "kernels/conv/conv_shape.h"
#include "kernels/machine.h"

enum {
    SR_TILE_BLOCK = 32,       // pixels, and output channels, computed together: 2 x 2 tiles
    SR_TILE_CHUNK = 32,       // channels of one product
    SR_TILE_BYTES = 2048,     // packed weights of a block, chunk and tap: two tiles
    SR_TILE_LINE = 64,        // bytes of a chunk of one pixel
    SR_TILE_MOST_CHUNKS = 128 // a line of zeros stands for that many
};

// Operations on sums when they are written.  All members except `sums` stay the same within a unit
// of work (SrConvEnd in conv.h).
typedef struct {
    SrDtype type;        // of the outputs
    int channels;        // channels of a group
    const float *bias;   // (channels) or NULL
    bool residual, relu; // a residual lies residual_at bytes from its output
    int64_t residual_at; // 0: adds the sums to the output
    bool stream;         // whole aligned lines bypass the caches
    // (3, sums_stride): shift, sum and square of a unit's outputs (channel_sums.h); NULL: not
    // wanted
    float *sums;
    int64_t sums_stride;
} SrTileEnd;

// A block's sums are written one block late, between the products of the next block.  Tile stores
// are then done when vectors read them, and the processor would not overlap the two by itself.
// Zeroed before a unit's first block.
typedef struct {
    _Alignas(SR_ALIGN) float sum[2][SR_TILE_BLOCK * SR_TILE_BLOCK];
    // destination of the waiting block: the first channel of each of its rows
    char *out[SR_TILE_BLOCK];
    int at, block; // which of the two buffers is next; output block of the waiting one
    // a block waits; it begins its unit's sums; some block has begun them
    bool waits, begins, begun;
} SrTilePipe;

// Two tiles of pixels under one tap.
typedef struct {
    const char *pixels[2];
    int64_t distance[2]; // bytes from pixel to pixel
    const char *weights; // of the first block and chunk
} SrTileStep;

// Computes blocks [block_from, block_to) of 32 outputs: sums over groups of steps, each group for
// all chunks.
typedef struct {
    const SrTileStep *step; // (groups, steps)
    int groups, steps, chunks;
    // Bytes from one chunk of pixels to the next, from one chunk of weights, from one block of
    // weights.
    int64_t pixel_chunk, weight_chunk, weight_block;
    int block_from, block_to;
    char *const *out;  // (SR_TILE_BLOCK): first channel of each output; NULL: not written
    const char *ahead; // lines to bring into the cache meanwhile
    int ahead_lines;
    const SrTileEnd *end;
    SrTilePipe *pipe;
} SrTileProduct;

// Copies rows of `channels` numbers, at pixels `table` of x, into chunks; pixels of x lie
// pixel_bytes apart.  Row i of chunk c of part q goes to to + i * row + c * chunk + q * part bytes;
// zeros follow the last channel.  Pixel -1 gives zeros.
typedef struct {
    const char *x;
    int64_t pixel_bytes;
    int parts, channels;
    const int32_t *table;
    int64_t pixels;
    char *to;
    int64_t row, chunk, part;
} SrTileCopy;

// Weights of one group, (K, C, taps), cut into blocks of `columns` channels by chunks of `reduced`
// ones; forward reduces over C, backward over K.  packed: (parts, blocks, chunks, taps, 2 tiles, 16
// pairs, 16 columns, 2).
typedef struct {
    const float *w;
    int K, C, taps, parts;
    char *packed;
    int64_t part; // bytes
} SrTilePacking;

// Channels of 32 pixels: where each pixel begins, and how many channels there are.
typedef struct {
    const char *const *pixel; // (32)
    int parts, channels;
    char *to;
    int64_t part; // bytes
} SrTileTurn;

// Adds to sum (32 rows, 32 columns), over steps of 32 pixels, a (32 rows, transposed) * b (32
// columns, paired).  A step takes 2 KB of each.
typedef struct {
    const char *a[6], *b[6]; // one of each per product of parts
    int products, steps;
    float *sum;
    bool fresh; // true: overwrites sum
} SrTileOuter;

typedef struct {
    void (*configure)(void); // on the thread, before the functions below; release after them
    void (*release)(void);
    void (*product)(const SrTileProduct *p);
    // writes the waiting block at the end of a unit
    void (*flush)(const SrTileEnd *end, SrTilePipe *pipe);
    void (*outer)(const SrTileOuter *o);
} SrTileProducts;

// Functions that use vectors only and need no configure.
typedef struct {
    void (*copy)(const SrTileCopy *c);
    void (*pack_forward)(const SrTilePacking *p, int block);
    void (*pack_backward)(const SrTilePacking *p, int block);
    void (*turn)(const SrTileTurn *t); // (2 tiles, 16 channels, 32 pixels)
    void (*pair)(const SrTileTurn
                     *t); // (16 pairs, 2 tiles, 16 columns, 2), columns in an order of their own
    // dw (rows, columns) of one tap += a block's sums; dw_row floats from row to row.
    void (*join)(const float *sum, float *dw, int64_t dw_row, int rows, int columns);
    void (*join_turned)(const float *sum, float *dw, int64_t dw_row, int rows,
                        int columns); // dw (columns, rows)
    // dw (rows, columns, taps) += sums (taps, 32, 32)
    void (*join_taps)(const float *sum, int taps, float *dw, int64_t dw_row, int rows, int columns);
} SrTileOperands;

typedef struct {
    const SrTileProducts *products;
    const SrTileOperands *operands;
} SrTileKernels;

// Returns NULL on a machine that neither has tile registers nor emulates them.
const SrTileKernels *sr__tile_kernels(const SrMachine *machine);

#endif
