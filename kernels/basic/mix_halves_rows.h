// Vector loops of mix_halves, compiled once per instruction set from mix_halves_simd.c.
#ifndef SR_KERNELS_BASIC_MIX_HALVES_ROWS_H
#define SR_KERNELS_BASIC_MIX_HALVES_ROWS_H

#include "base/tensor.h"
#include "kernels/machine.h"

// Loops over the pixels of one image: ab and dab (pixels, 2 C), y and dy (pixels, C), floats or
// bfloat16; p (C) is the share of the first half.
typedef struct {
    void (*mix)(SrDtype type, void *y, const void *ab, const float *p, int64_t pixels, int C);
    void (*divide)(SrDtype type, void *dab, const void *dy, const float *p, int64_t pixels, int C);
    // Writes sum (C), the sum of dy (a - b), pixels in order.
    void (*differences)(SrDtype type, float *sum, const void *dy, const void *ab, int64_t pixels,
                        int C);
} SrMixHalvesKernels;

SR_CPU_TABLES_BF16(SrMixHalvesKernels, sr__mix_halves_kernels);

#endif
