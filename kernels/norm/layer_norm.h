// Params of layer_norm, and the vector loops over its rows.
#ifndef SR_KERNELS_NORM_LAYER_NORM_H
#define SR_KERNELS_NORM_LAYER_NORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tensor.h"
#include "kernels/machine.h"

typedef struct {
    double eps; // PyTorch: 1e-5; vision transformers 1e-6
} SrLayerNormParams;

// Loops compiled once per instruction set (layer_norm_simd.c).  All are (rows, C); x and dx share
// one type, y and dy another.
typedef struct {
    // y = (x - mean) invstd weight + bias.  mean and invstd (rows) are written unless `again`, else
    // read.
    void (*forward)(SrDtype to, void *y, SrDtype type, const void *x, int64_t rows, int C,
                    double eps, const float *weight, const float *bias, float *mean, float *invstd,
                    bool again);
    // Writes dx, which may be dy or NULL.  Adds to dweight and dbias (C), rows in order; both or
    // neither may be NULL.
    void (*backward)(SrDtype type, void *dx, const void *x, SrDtype above, const void *dy,
                     int64_t rows, int C, const float *weight, const float *mean,
                     const float *invstd, float *dweight, float *dbias);
} SrLayerNormKernels;
SR_CPU_TABLES_BF16(SrLayerNormKernels, sr__layer_norm_kernels);
static inline const SrLayerNormKernels *sr__layer_norm(const SrMachine *machine) {
    return SR_CPU_PICK_BF16(machine, sr__layer_norm_kernels);
}

#endif
