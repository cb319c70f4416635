// The innermost loops of depthwise convolutions: one row of pixels, all channels (conv_depthwise_simd.c, compiled once
// an instruction set).  Only kernels/conv/conv_depthwise.c includes this.
#ifndef SR_KERNELS_CONV_CONV_DEPTHWISE_H
#define SR_KERNELS_CONV_CONV_DEPTHWISE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu.h"

enum {
    SR_DEPTHWISE_ROWS = 7, // most rows and columns of a kernel
    SR_DEPTHWISE_RUN = 7,  // outputs computed side by side: divides 7, 14, 28, 56, 112
};

// Rows of pixels that meet rows of the kernel: in[i] (in_columns, C) with w[i] (S, C).
typedef struct {
    int S, stride, pad; // along the row: S 3, 5 or 7, stride 1 or 2
    int C, in_columns, out_columns;
    int rows;
    const float *in[SR_DEPTHWISE_ROWS];
    const float *w[SR_DEPTHWISE_ROWS];
    const float *zeros; // C of them
} SrDepthwiseRow;

typedef struct {
    // out (out_columns, C): column q is the sum over rows and s of in[q stride + s - pad] w[s].
    void (*gather)(const SrDepthwiseRow *row, float *out, bool add);
    // The transpose at stride 2: out (out_columns, C) has at column q stride + s - pad the products of in[q] and w[s].
    void (*spread)(const SrDepthwiseRow *row, float *out, bool add);
    // dw (S, C) of kernel row i: dw[s] += the sum over columns q of dy[q] in[i][q stride + s - pad]; dy (out_columns, C).
    void (*weights)(const SrDepthwiseRow *row, int i, const float *dy, float *dw);
    // Shift, sum and square (3, C) of y (columns, C) onto those of the unit's rows so far (channel_sums.h).
    void (*sums)(const float *y, int columns, int C, float *sums, bool begin);
} SrDepthwiseKernels;
SR_CPU_TABLES(SrDepthwiseKernels, sr__depthwise_kernels);
static inline const SrDepthwiseKernels *sr__depthwise(void) {
    return SR_CPU_PICK(sr__depthwise_kernels);
}

#endif
