// What whole training steps computed, kept in order and compared with the case.
//
// Such steps can be ill-conditioned: a batch norm over two rows cancels almost everything, and
// float32 gradients are then off by per cent from float64's, in PyTorch as here.  So there are two traces, the second of
// a run whose images and parameters were shaken in their last bit; where that moves a number by more than the
// tolerance, it sets the tolerance, up to 5 %.  Tensors that are beyond help are left out by name.
#ifndef SR_TESTS_GOLDEN_TRACE_H
#define SR_TESTS_GOLDEN_TRACE_H

#include "tests/golden/golden.h"

enum { GOLDEN_TRACE_ROWS = 4096 };

typedef struct {
    const char *tensor; // of the case
    float *values;      // (n)
    int64_t n;
} GoldenTraceRow;

typedef struct {
    int n;
    GoldenTraceRow rows[GOLDEN_TRACE_ROWS];
} GoldenTrace;

// Copies values (n) into the case's arena, to be held against `tensor`.
SrStatus golden_trace_keep(SrGoldenCase *c, GoldenTrace *trace, const char *tensor,
                           const float *values, int64_t n);
SrStatus golden_trace_compare(SrGoldenCase *c, const GoldenTrace *plain, const GoldenTrace *shaken);

#endif
