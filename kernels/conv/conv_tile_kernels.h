// The innermost loops of the design on tile registers (conv_tiles.c): one table of functions for processors that
// have them and one that emulates them.  Only kernels/conv/conv_tile* include this.
//
// Numbers are bfloat16, or floats (parts 2 or 3) split into that many bfloat16 numbers, each the rest of the one before:
// the products of parts that matter, smallest first, then come to 16 or 24 bits of precision.
#ifndef SR_KERNELS_CONV_CONV_TILE_KERNELS_H
#define SR_KERNELS_CONV_CONV_TILE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "kernels/conv/conv.h"
#include "kernels/machine.h"

enum {
    SR_TILE_BLOCK = 32,       // pixels, and output channels, computed together: 2 x 2 tiles
    SR_TILE_CHUNK = 32,       // channels of one product
    SR_TILE_BYTES = 2048,     // of packed weights of a block, chunk and tap: two tiles
    SR_TILE_LINE = 64,        // bytes of a chunk of one pixel
    SR_TILE_MOST_CHUNKS = 128 // a line of zeros stands for that many
};

// What happens to sums on their way out; all but `out` of a call (conv.h: SrConvEnd) is the same for a unit of work.
typedef struct {
    SrDtype type;        // of the outputs
    int channels;        // of a group
    const float *bias;   // (channels) or NULL
    bool residual, relu; // an output's residual lies residual_at bytes from it
    int64_t residual_at; // 0: the output is added to
    bool stream;         // whole aligned lines go past the caches
    float
        *sums; // (3, sums_stride): shift, sum, square of a unit's outputs (channel_sums.h), or NULL
    int64_t sums_stride;
} SrTileEnd;

// Sums leave one block late, so that tile stores are done when vectors read them, and between the products of
// the next block, which the processor would not overlap by itself.  Zero before a unit's first block.
typedef struct {
    _Alignas(SR_ALIGN) float sum[2][SR_TILE_BLOCK * SR_TILE_BLOCK];
    char *out
        [SR_TILE_BLOCK]; // where the block that waits goes: the first channel of each of its rows
    int at, block;       // which of the two is next; the outputs' block of the one that waits
    bool waits, begins, begun; // something waits; it begins its unit's sums; some block did
} SrTilePipe;

// Two tiles of pixels under one tap.
typedef struct {
    const char *pixels[2];
    int64_t distance[2]; // bytes from pixel to pixel
    const char *weights; // of the first block and chunk
} SrTileStep;

// 32 outputs' blocks [block_from, block_to): sums over groups of steps, each group for all chunks.
typedef struct {
    const SrTileStep *step; // (groups, steps)
    int groups, steps, chunks;
    // Bytes from one chunk of pixels to the next, from one chunk of weights, from one block of weights.
    int64_t pixel_chunk, weight_chunk, weight_block;
    int block_from, block_to;
    char *const *out;  // (SR_TILE_BLOCK): the first channel of each output; NULL: nobody's
    const char *ahead; // lines to bring into the cache meanwhile
    int ahead_lines;
    const SrTileEnd *end;
    SrTilePipe *pipe;
} SrTileProduct;

// Rows of `channels` numbers at pixels `table` of x, whose pixels lie pixel_bytes apart, into chunks: row i of chunk c
// of part q goes to to + i * row + c * chunk + q * part bytes, zeros behind the last channel.  Pixel -1: zeros.
typedef struct {
    const char *x;
    int64_t pixel_bytes;
    int parts, channels;
    const int32_t *table;
    int64_t pixels;
    char *to;
    int64_t row, chunk, part;
} SrTileCopy;

// Weights of one group, (K, C, taps): blocks of `columns` channels by chunks of `reduced` ones; forward reduces over C,
// backward over K.  packed: (parts, blocks, chunks, taps, 2 tiles, 16 pairs, 16 columns, 2).
typedef struct {
    const float *w;
    int K, C, taps, parts;
    char *packed;
    int64_t part; // bytes
} SrTilePacking;

// 32 pixels' channels: where each begins, how many channels there are.
typedef struct {
    const char *const *pixel; // (32)
    int parts, channels;
    char *to;
    int64_t part; // bytes
} SrTileTurn;

// sum (32 rows, 32 columns) += over steps of 32 pixels a (32 rows turned) * b (32 columns paired); 2 KB a step each.
typedef struct {
    const char *a[6], *b[6]; // of each product of parts
    int products, steps;
    float *sum;
    bool fresh; // nothing is there yet
} SrTileOuter;

typedef struct {
    void (*configure)(void); // on the thread, before what follows; release after it
    void (*release)(void);
    void (*product)(const SrTileProduct *p);
    void (*flush)(const SrTileEnd *end, SrTilePipe *pipe); // at the end of a unit
    void (*outer)(const SrTileOuter *o);
} SrTileProducts;

// Vectors only: no need to configure.
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

// NULL on a machine that neither has tile registers nor emulates them.
const SrTileKernels *sr__tile_kernels(const SrMachine *machine);

#endif
