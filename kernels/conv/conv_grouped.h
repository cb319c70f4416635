// Innermost loops of convolutions with few channels per group: one row of pixels, all channels
// (conv_grouped_simd.c, compiled once per instruction set).  Only conv_grouped.c,
// conv_grouped_simd.c and normed_depthwise.c include this file.
//
// A group reads and writes `own` channels; 1 means depthwise.  Several whole groups share a vector:
// lane k meets the channels lane_from[k] + g of the same vector, g < own.
#ifndef SR_KERNELS_CONV_CONV_GROUPED_H
#define SR_KERNELS_CONV_CONV_GROUPED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/conv/conv_shape.h"
#include "kernels/machine.h"

enum {
    SR_GROUPED_ROWS = 7, // rows and columns of a kernel at most
    SR_GROUPED_RUN = 7,  // outputs computed side by side; divides 7, 14, 28, 56 and 112
};

// Rows of pixels that meet rows of the kernel: in[i] (in_columns, C) meets w[i] (S, own, C).
typedef struct {
    int S, stride, pad;       // along the row: S is 3, 5 or 7, or 3 where own > 1; stride is 1 or 2
    int own;                  // 1, 2, 4, ... up to the lanes of a vector
    const int32_t *lane_from; // (lanes)
    int C, in_columns, out_columns;
    int rows;
    const float *in[SR_GROUPED_ROWS];
    const float *w[SR_GROUPED_ROWS];
    const float *zeros; // (C)
} SrGroupedRow;

// Memory that is read after a row: the row brings it into the second-level cache meanwhile, because
// the processor sees no pattern in walks that alternate between maps.
typedef struct {
    const void *from; // NULL: nothing
    int64_t bytes;
} SrGroupedAhead;
enum { SR_GROUPED_AHEAD = 2 };
// Returns those of rows [row, end) that a map (rows, row_bytes) has.
static inline SrGroupedAhead sr__grouped_ahead(const void *map, int64_t rows, int64_t row_bytes,
                                               int64_t row, int64_t end) {
    row = SR_MAX(0, row);
    end = SR_MIN(rows, end);
    if (row >= end)
        return (SrGroupedAhead){NULL, 0};
    return (SrGroupedAhead){(const char *)map + row * row_bytes, (end - row) * row_bytes};
}

// Where a row of results goes.
typedef struct {
    float *to;   // (out_columns, C)
    bool add;    // adds to what is there
    bool stream; // stores bypass the caches; `to` is aligned, and C a multiple of a cache line
    // Shift, sum and square (3, C) of a unit (channel_sums.h), to which gather adds the row's
    // results.  NULL: not wanted.  begin: the row is the unit's first.
    float *sums;
    bool begin;
    SrGroupedAhead ahead[SR_GROUPED_AHEAD];
} SrGroupedOut;

typedef struct {
    int lanes; // lanes of a vector
    // Writes out: column q is the sum over rows, s and g of in[q stride + s - pad] w[s][g].
    void (*gather)(const SrGroupedRow *row, const SrGroupedOut *out);
    // Writes the transpose at stride 2: column q stride + s - pad of out gets the products of in[q]
    // and w[s][g].
    void (*spread)(const SrGroupedRow *row, const SrGroupedOut *out);
    // Adds to dw (S, own, C) of kernel row i: dw[s][g] += the sum over columns q of dy[q] in[i][q
    // stride + s - pad].  dy: (out_columns, C)
    void (*weights)(const SrGroupedRow *row, int i, const float *dy, float *dw);
} SrGroupedKernels;
SR_CPU_TABLES(SrGroupedKernels, sr__grouped_kernels);
static inline const SrGroupedKernels *sr__grouped(const SrMachine *machine) {
    return SR_CPU_PICK(machine, sr__grouped_kernels);
}

// Returns the rows of outputs that row h of the gradient of the input meets.  Row number i is
// output row at[i] of the image, and the caller sets its address in[i].  w: (R, S, own, C), as
// sr__conv_grouped prepares it for backward data; zeros: (C).
SrGroupedRow sr__grouped_data_window(const SrConvShape *s, const float *w, const float *zeros,
                                     const int32_t *lane_from, int h, int at[SR_GROUPED_ROWS]);
// Returns the output row after the last one that row h meets.
static inline int sr__grouped_next_output(const SrConvShape *s, int h) {
    return (h + s->pad_h) / s->stride_h + 1;
}
// Computes that row.
void sr__grouped_data(const SrConvShape *s, const SrGroupedRow *row, const SrGroupedOut *out);
// Adds `parts` partial gradients of the weights (parts, R, S, own, C), in order, to dw (K, own, R,
// S).
void sr__grouped_join(const SrConvShape *s, const float *part, int parts, float *dw);

#endif
