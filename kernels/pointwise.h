// Activations y = f(x), dx = dy f'(x): the loops that silu.c, sigmoid.c and their kin share.  A file names
// its two functions of the table and its reference; floats and bfloat16 are served alike.
#ifndef SR_KERNELS_POINTWISE_H
#define SR_KERNELS_POINTWISE_H

#include "kernels/cpu.h"
#include "kernels/op_util.h"

typedef struct {
    void (*f)(float *y, const float *x, int64_t n);                      // y may be x
    void (*grad)(float *dx, const float *x, const float *dy, int64_t n); // dx may be dy
} SrPointwise;

// pointwise_simd.c.
typedef struct {
    SrPointwise sigmoid, silu, hardsigmoid, hardswish, relu6;
} SrPointwiseTable;
SR_CPU_TABLES(SrPointwiseTable, sr__pointwise_table);
static inline const SrPointwiseTable *sr__pointwise(void) {
    return SR_CPU_PICK(sr__pointwise_table);
}

void sr__pointwise_forward(const SrOpCall *call, const SrPointwise *k);
void sr__pointwise_backward(const SrOpCall *call, const SrPointwise *k);
unsigned sr__pointwise_reads(const void *params); // x
int sr__pointwise_inplace(const void *params);    // dx may lie on dy

#endif
