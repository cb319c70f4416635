// What whole training steps computed, kept in order and compared with the case.
//
// Such steps can be ill-conditioned: a batch norm over two rows cancels almost everything, and
// float32 gradients are then off by per cent from float64's, in PyTorch as here; or a ReLU's input is 0 but for
// rounding.  So a case runs several times, all but once with images and parameters shaken in their last bit; where
// that moves a number by more than the tolerance, it sets the tolerance, up to 5 %.  Tensors that are beyond help are
// left out by name.
#ifndef SR_TESTS_GOLDEN_TRACE_H
#define SR_TESTS_GOLDEN_TRACE_H

#include "graph/params.h"
#include "tests/golden/golden.h"

enum { GOLDEN_TRACE_ROWS = 4096 };

typedef struct {
    const char *tensor; // of the case
    float *values;      // (n)
    int64_t n;
    float reference; // of a number that is no tensor of the case (n: 1)
    bool is_number;
} GoldenTraceRow;

typedef struct {
    int n;
    GoldenTraceRow rows[GOLDEN_TRACE_ROWS];
} GoldenTrace;

// Copies values (n) into the case's arena, to be held against `tensor`.
SrStatus golden_trace_keep(SrGoldenCase *c, GoldenTrace *trace, const char *tensor,
                           const float *values, int64_t n);
// A number that the case has under no name of its own, against `reference`.
SrStatus golden_trace_number(SrGoldenCase *c, GoldenTrace *trace, const char *name, double ours,
                             double reference);
// Runs `once` with shaking 0 (none), 1, 2, ... and compares.
typedef SrStatus GoldenTraceRun(SrGoldenCase *c, int shaking, GoldenTrace *trace);
SrStatus golden_trace_run(SrGoldenCase *c, GoldenTraceRun *once);
// Every number by one unit in its last place, up or down as shaking and key have it.
void golden_shake(float *x, int64_t n, int shaking, uint64_t key);
// The parameters of a table, shaken.
void golden_shake_table(SrParams *params, int shaking);

#endif
