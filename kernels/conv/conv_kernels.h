// Innermost loops of the direct and Winograd designs: one table of functions per instruction set
// (conv_tile_simd.c, conv_winograd_simd.c).  Only kernels/conv/*.c include this file.
//
// A block is a run of output channels computed together: `block` floats, or for the last one as
// many whole vectors as its columns need.  Packed operands store a block's columns side by side,
// zero-padded to the block's width, so that the loops need no masks except where they meet the
// caller's tensors.
//
// bfloat16 uses the same loops on units: a unit is two neighbouring bfloat16 numbers in the place
// of one float.  A pixel of C channels is C / 2 units.  Packed weights hold at (unit, column) the
// pair of weights that meets the pair of channels.  Rows of an outer product are pairs of pixels.
// All pointers and distances below therefore count units of four bytes.  Only outputs, `columns`
// and `out_first` count numbers, and partial sums (SrConvOuter.out) are floats.
//
// Where pairs are not multiplied as such, bfloat16 tensors are halves: their inputs are widened to
// floats a block at a time, and the loops for floats round the outputs.
#ifndef SR_KERNELS_CONV_CONV_KERNELS_H
#define SR_KERNELS_CONV_CONV_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/conv/conv_shape.h"
#include "kernels/machine.h"

// Vectors of a full block: 6 rows of them are 24 or 12 sums in registers.  V_REGISTERS is from
// kernels/core/simd.h.
#define SR_CONV_VECTORS (V_REGISTERS == 32 ? 4 : 2)

// out[m][j] (+)= sum over taps and channels of in[tap][m][channel] * w[tap][channel][j]
// for `pixels` output pixels m and `columns` columns j of one block.
typedef struct {
    const int *tap; // (taps): which of the taps below to visit
    int taps;
    int in_stride;          // pixels from one tap to the next in `in`
    const float *const *in; // (all taps, in_stride): where pixel m lies under the tap
    int64_t first;          // first channel to read of a pixel
    int64_t channels;
    const float *w;    // (all taps, w_tap): packed, (channels, width) used of each
    int64_t w_tap;     // floats from tap to tap
    float *const *out; // (pixels): where pixel m lies in the output
    int64_t out_first; // first column to write there
    int pixels, columns;
    // Groups narrower than a vector, several side by side: column j meets channel lane_from[j] + c
    // of the `together` channels at `first`, and w[tap][c][j] is its weight.  NULL: groups are not
    // merged.
    const int32_t *lane_from; // (lanes)
    int together;
    // Outputs and end's residual are bfloat16, though inputs are floats.  Unused at depth 2, where
    // all are bfloat16.
    bool halves;
    bool add;
    bool stream; // whole aligned vectors go past the caches; stream_end before others read them
    const SrConvEnd *end; // what follows, for these channels and pixels; NULL: nothing
    // Shift, sum and square of these outputs (channel_sums.h), sums_stride floats apart.
    // sums_begin: these pixels are the first of a unit.  NULL: not wanted.
    float *sums;
    int64_t sums_stride;
    bool sums_begin;
    const float *out_base; // the whole output, where end's residual begins
    // Operands that the tile brings into the cache for later tiles; 0: nothing new.  Under each tap
    // the pixels in[ahead .. ahead + SR_CONV_FETCH), and the outputs out[out_ahead + m].  The
    // pointers must be valid whatever `ahead` is.
    int ahead, out_ahead;
    // Addresses to bring into the cache instead of inputs, where all inputs are there already:
    // `beside[i]` + beside_first, for SR_CONV_FETCH pixels and as many lines as the channels take.
    // NULL: none.
    const float *const *beside;
    int64_t beside_first;
} SrConvTile;
enum { SR_CONV_FETCH = 8 };

// Cache lines to fetch: at[i] + first of each pixel i of a list.
typedef struct {
    const float *const *at; // one pointer a pixel, each to that pixel's (C) channels
    int64_t first;
} SrConvFetch;

// Winograd's products of a narrow block, all points in one call: out[xi][i][j] = sum over channels
// of in[xi][i][c] * w[xi][c][j].
typedef struct {
    int points, rows, channels, width; // width: whole vectors, fewer than a full block
    const float *in;                   // rows in_row floats apart, points in_point
    int64_t in_row, in_point;
    const float *w; // (points, channels, width)
    float *out;     // rows `width` floats apart, points out_point
    int64_t out_point;
    // Pixels to bring into the cache meanwhile, `laters` of them, as many lines of each as the
    // channels take.  SR_CONV_FETCH valid pointers must follow the list.
    const float *const *later;
    int laters;
} SrConvPoints;
typedef struct {
    void (*points)(const SrConvPoints *p); // conv_points_simd.c
} SrConvPointsKernels;
SR_CPU_TABLES(SrConvPointsKernels, sr__conv_points);

// Outer product: out[m][j] += (or =) sum over pixels of x[pixel][x_first + m] * y[pixel][y_first +
// j], rows m, one block wide.  Where depth is 2, a pixel stands for a pair of them, whose channels
// lie side by side (gather).
typedef struct {
    int pixels, rows, width;          // width: whole vectors
    const float *const *x, *const *y; // (pixels)
    int64_t x_first, y_first;
    float *out; // (rows, width)
    bool fresh; // true: `out` is overwritten, not added to
    // Later operands to bring into the cache meanwhile: run number i over the pixels, sr__conv_runs
    // in all, asks for fetch[i] of as many pixels, both of a pair.
    const SrConvFetch *fetch;
    int fetches;
} SrConvOuter;

// Weights as PyTorch stores them, seen as K rows of C * taps floats.
typedef struct {
    const float *w; // (K, C, taps) of one group
    int K, C, taps;
} SrConvWeights;

// Sums of gradients with respect to one block of packed weights.
typedef struct {
    const float *part; // (parts, taps, C, width)
    int parts, width;
    int64_t part_stride; // floats from part to part
} SrConvParts;

typedef struct {
    int depth;  // channels in a unit: 1, or 2 for bfloat16
    int lanes;  // floats in a vector
    int block;  // columns of a full block
    bool picks; // the tile knows lane_from
    // Pixels of a tile at most (and rows of an outer product) for a block of that many floats.
    int (*rows)(int width);
    void (*tile)(const SrConvTile *t);
    void (*stream_end)(void);
    void (*outer)(const SrConvOuter *o);
    // to[i][j] = from[i][first + j] for j < columns, then zeros up to whole vectors; rows of `to`
    // are `stride` floats.  Depth 2: first counts numbers, and to[i][j] is the pair
    // from[2i][first + j], from[2i + 1][..].
    void (*gather)(const float *const *from, int64_t first, int rows, int columns, float *to,
                   int64_t stride);
    // Copies like gather, from bfloat16 to floats; `first` and `columns` count numbers.  NULL at
    // depth 2.
    void (*widen)(const float *const *from, int64_t first, int rows, int columns, float *to,
                  int64_t stride);
    // sum[j] = or, unless `fresh`, += the numbers of all n units from[i][first + j], j < columns.
    void (*sum_rows)(const float *const *from, int64_t first, int n, int columns, bool fresh,
                     float *sum);
    // Block of output channels k0 .. k0 + columns: packed[t][c][j] = w[k0 + j][c][t].
    void (*pack_forward)(const SrConvWeights *w, int k0, int columns, float *packed);
    // Block of input channels c0 .. c0 + columns: packed[t][k][j] = w[k][c0 + j][t].
    void (*pack_backward)(const SrConvWeights *w, int c0, int columns, float *packed);
    // dw[k][c][t] += sum over parts of part[t][c][k % block] for k0 <= k < k0 + lanes, k < K;
    // rows of dw, of one k, are dw_stride floats.
    void (*unpack)(const SrConvWeights *shape, int k0, const SrConvParts *from, float *dw,
                   int64_t dw_stride);
    // dw[i][j] += sum over parts of part[i][j], a block that is not transposed.
    void (*join)(const SrConvParts *from, int rows, int columns, float *dw, int64_t dw_stride);
} SrConvKernels;

// The tables of SR_CPU_PAIRS multiply pairs of bfloat16, all others floats.
SR_CPU_TABLES_BF16(SrConvKernels, sr__conv_kernels);

// Returns the numbers in a unit of four bytes.
static inline int sr__conv_numbers(SrDtype type) { return type == SR_BF16 ? 2 : 1; }

// Returns the kernels for tensors of that type.  Those for floats also take bfloat16 as halves.
static inline const SrConvKernels *sr__conv_kernels(const SrMachine *machine, SrDtype type) {
    bool pairs = type == SR_BF16 && sr_machine_has_pairs(machine);
    return pairs ? SR_CPU_PICK_BF16(machine, sr__conv_kernels)
                 : SR_CPU_PICK(machine, sr__conv_kernels);
}

// Returns how often an outer product of that many rows walks over its pixels.
static inline int sr__conv_runs(const SrConvKernels *kernels, int rows, int width) {
    int most = kernels->rows(width);
    return (rows + most - 1) / most;
}

// Returns the floats that a block of `columns` columns takes in packed operands.
static inline int sr__conv_width(const SrConvKernels *kernels, int columns) {
    return (columns + kernels->lanes - 1) / kernels->lanes * kernels->lanes;
}

#endif
