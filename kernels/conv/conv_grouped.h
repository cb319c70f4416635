// The innermost loops of convolutions in groups of few channels: one row of pixels, all channels (conv_grouped_simd.c,
// compiled once an instruction set).  Only kernels/conv/conv_grouped.c includes this.
//
// A group reads and writes `own` channels, one where the convolution is depthwise.  Whole groups share a vector: lane k
// meets the channels lane_from[k] + g of the same vector, g < own.
#ifndef SR_KERNELS_CONV_CONV_GROUPED_H
#define SR_KERNELS_CONV_CONV_GROUPED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/machine.h"

enum {
    SR_GROUPED_ROWS = 7, // most rows and columns of a kernel
    SR_GROUPED_RUN = 7,  // outputs computed side by side: divides 7, 14, 28, 56, 112
};

// Rows of pixels that meet rows of the kernel: in[i] (in_columns, C) with w[i] (S, own, C).
typedef struct {
    int S, stride, pad; // along the row: S 3, 5 or 7, with several own channels 3; stride 1 or 2
    int own;            // 1, 2, 4 .. lanes
    const int32_t *lane_from; // (lanes)
    int C, in_columns, out_columns;
    int rows;
    const float *in[SR_GROUPED_ROWS];
    const float *w[SR_GROUPED_ROWS];
    const float *zeros; // C of them
} SrGroupedRow;

typedef struct {
    int lanes; // of a vector
    // out (out_columns, C): column q is the sum over rows, s and g of in[q stride + s - pad] w[s][g].
    void (*gather)(const SrGroupedRow *row, float *out, bool add);
    // The transpose at stride 2: out (out_columns, C) has at column q stride + s - pad the products of in[q] and
    // w[s][g].
    void (*spread)(const SrGroupedRow *row, float *out, bool add);
    // dw (S, own, C) of kernel row i: dw[s][g] += the sum over columns q of dy[q] in[i][q stride + s - pad]; dy (out_columns,
    // C).
    void (*weights)(const SrGroupedRow *row, int i, const float *dy, float *dw);
    // Shift, sum and square (3, C) of y (columns, C) onto those of the unit's rows so far (channel_sums.h).
    void (*sums)(const float *y, int columns, int C, float *sums, bool begin);
} SrGroupedKernels;
SR_CPU_TABLES(SrGroupedKernels, sr__grouped_kernels);
static inline const SrGroupedKernels *sr__grouped(const SrMachine *machine) {
    return SR_CPU_PICK(machine, sr__grouped_kernels);
}

#endif
