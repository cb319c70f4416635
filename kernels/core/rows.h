// Vector loops over contiguous floats, compiled once per instruction set from rows_simd.c; the
// machine says which is used.  They run on the calling thread: the ops cut the work and call them
// on the pieces.
#ifndef SR_KERNELS_CORE_ROWS_H
#define SR_KERNELS_CORE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tensor.h"
#include "kernels/machine.h"

enum { SR_STRIP = 64 }; // channels a per-channel loop handles at once: 4 AVX-512 registers

typedef struct {
    // Elementwise loops over n; y may be one of the inputs.  Those with a type serve floats and
    // bfloat16.
    void (*add)(SrDtype type, void *y, const void *a, const void *b, int64_t n); // y = a + b
    void (*sum_of)(SrDtype to, void *y, SrDtype a_type, const void *a, SrDtype b_type,
                   const void *b, int64_t n);                      // y = a + b of mixed types
    void (*relu)(SrDtype type, void *y, const void *x, int64_t n); // y = max(x, 0); NaN stays NaN
    void (*relu_grad)(SrDtype type, void *dx, const void *y, const void *dy,
                      int64_t n); // dx = dy where y > 0, else 0
    // y = or += x
    void (*cast)(SrDtype to, void *y, SrDtype from, const void *x, int64_t n, bool add);
    void (*scale)(float *y, const float *x, float factor, int64_t n);             // y = factor * x
    void (*times)(SrDtype type, void *y, const void *x, float factor, int64_t n); // y = factor * x
    void (*axpy)(float *y, const float *x, float factor, int64_t n);              // y += factor * x
    // y = relu(y + a + b).  a or b NULL and relu false leave a part out.  b is of y's type.
    void (*finish)(SrDtype type, void *y, const float *a, const void *b, bool relu, int64_t n);
    // y = mask ? factor x : 0
    void (*keep)(float *y, const float *x, const uint8_t *mask, float factor, int64_t n);
    // y = exp((x - shift) * factor).  exp_sum also returns the sum of y; its y may be NULL.
    void (*exp)(float *y, const float *x, float shift, float factor, int64_t n);
    double (*exp_sum)(float *y, const float *x, float shift, float factor, int64_t n);
    float (*max)(const float *x, int64_t n); // n >= 1
    // Returns the largest a + b that is a number; -INFINITY: there is none.
    float (*max_sum)(const float *a, const float *b, int64_t n);
    double (*dot)(const float *a, const float *b, int64_t n);
    float (*float_dot)(SrDtype type, const void *a, const void *b, int64_t n); // for short rows
    double (*sum)(const float *x, int64_t n);
    // Returns the sum of a (from - x).
    double (*distance)(const float *a, const float *x, float from, int64_t n);
    // Adds column i of x (rows, width), whose rows lie `stride` apart, to sum[i]; width <=
    // SR_STRIP.
    void (*column_sums)(double *sum, const float *x, int64_t rows, int64_t stride, int width);
    // Over rows of C numbers of `type`: mul_rows computes y = a times w (C); sum_products computes
    // sum (C) = or += the sum over rows of a b.
    void (*mul_rows)(SrDtype type, void *y, const void *a, const float *w, int64_t rows, int C);
    void (*sum_products)(SrDtype type, float *sum, const void *a, const void *b, int64_t rows,
                         int C, bool add);
} SrRows;

SR_CPU_TABLES_BF16(SrRows, sr__rows_table);
static inline const SrRows *sr__rows(const SrMachine *machine) {
    return SR_CPU_PICK_BF16(machine, sr__rows_table);
}

#endif
