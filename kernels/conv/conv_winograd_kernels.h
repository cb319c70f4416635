// Transforms of the Winograd design, one table per instruction set (conv_winograd_simd.c).  Only
// kernels/conv/conv_winograd*.c include this file.
//
// F(m x m, 3 x 3), m = 2, 3 or 4, computes m * m outputs from a patch of (m + 2)^2 inputs.  The
// patch's (m + 2)^2 points are counted by xi; a transformed operand is stored point after point,
// `point` floats apart.  Images may be bfloat16.  Transformed operands and their products are
// floats, because the transforms lose digits that bfloat16 does not have.
#ifndef SR_KERNELS_CONV_CONV_WINOGRAD_KERNELS_H
#define SR_KERNELS_CONV_CONV_WINOGRAD_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/conv/conv_shape.h"
#include "kernels/machine.h"

// A square of one image, whose corner may lie outside the image.  Covers channels [first, first +
// channels); the transformed side holds whole vectors, padded with zeros.
typedef struct {
    void *image; // (H, W, C), of the table's type; read, or written by `output`
    int H, W, C;
    int h, w; // corner
    int first, channels;
    const void *zeros; // (channels): what is read outside
    // For `output`: sums per channel (channel_sums.h), sums_stride floats apart.  sums_begin: this
    // patch is the first of a unit.  NULL: not wanted.
    float *sums;
    int64_t sums_stride;
    bool sums_begin;
} SrConvPatch;

// Transformed operands are floats, ((m + 2)^2 points, channels); each point lies `point` floats
// after the one before.
typedef struct {
    // v[xi][c] = (B^T d B)[xi], d: patch of m + 2 inputs a side
    void (*input)(const SrConvPatch *d, float *v, int64_t point);
    // z[xi][k] = (A g A^T)[xi], g: tile of m output gradients a side
    void (*gradient)(const SrConvPatch *g, float *z, int64_t point);
    // tile of m outputs a side = or += A^T M A
    void (*output)(const float *m, int64_t point, const SrConvPatch *y, bool add);
    // u[xi][c][j] = (G w G^T)[xi], w: packed (9, rows, width); rotate: taps in reverse order
    void (*weights)(const float *packed, int rows, int width, bool rotate, float *u);
    // out[tap][c][j] = (G^T du G)[tap], du: (xi, rows, width); out: rows `stride`, taps `tap`
    // floats apart
    void (*weight_gradient)(const float *du, int rows, int width, float *out, int64_t tap,
                            int64_t stride);
} SrWinogradKernels;

// Tables for F(m x m, 3 x 3), indexed by m - 2.
typedef struct {
    SrWinogradKernels f32[3], bf16[3];
} SrWinogradTables;

SR_CPU_TABLES(SrWinogradTables, sr__winograd_kernels);

static inline const SrWinogradKernels *sr__winograd(const SrMachine *machine, int m, SrDtype type) {
    const SrWinogradTables *tables = SR_CPU_PICK(machine, sr__winograd_kernels);
    return type == SR_BF16 ? &tables->bf16[m - 2] : &tables->f32[m - 2];
}

// Returns the floats from point to point of `rows` rows of `width` floats.  They take one cache
// line less: otherwise the same place of all points would fall into the same set of the first-level
// cache.
static inline int64_t sr__winograd_point(int rows, int width) { return (int64_t)rows * width + 16; }

// The tiles of m x m pixels that cover all (N, H, W) ones.
typedef struct {
    int rows, columns;
    int64_t count; // of all images
} SrWinogradTiles;
static inline SrWinogradTiles sr__winograd_tiles(int m, int N, int H, int W) {
    SrWinogradTiles t = {(H + m - 1) / m, (W + m - 1) / m, 0};
    t.count = (int64_t)N * t.rows * t.columns;
    return t;
}

// Row, column and image of tile `tile`, row by row, image by image.  sr__winograd_next finds the
// next one without a division.
typedef struct {
    int64_t image;
    int row, column; // of tiles
} SrWinogradPlace;
static inline SrWinogradPlace sr__winograd_place(const SrWinogradTiles *tiles, int64_t tile) {
    int64_t image = tile / ((int64_t)tiles->rows * tiles->columns);
    int in_image = (int)(tile - image * tiles->rows * tiles->columns);
    return (SrWinogradPlace){image, in_image / tiles->columns, in_image % tiles->columns};
}
static inline void sr__winograd_next(const SrWinogradTiles *tiles, SrWinogradPlace *place) {
    if (++place->column < tiles->columns)
        return;
    place->column = 0;
    if (++place->row < tiles->rows)
        return;
    place->row = 0;
    place->image++;
}
// Returns that tile's square of m x m pixels of `tensor`, with all channels; `tensor` has no place
// set.
static inline SrConvPatch sr__winograd_patch(const SrConvPatch *tensor, SrDtype type, int m,
                                             SrWinogradPlace place) {
    SrConvPatch p = *tensor;
    int64_t bytes = type == SR_BF16 ? 2 : 4;
    p.image = (char *)p.image + place.image * p.H * p.W * p.C * bytes;
    p.h = place.row * m;
    p.w = place.column * m;
    p.channels = p.C;
    return p;
}

#endif
