// Values of whole training steps, recorded in order and compared with a golden case.
//
// Such steps can be ill-conditioned. A batch norm over two rows cancels almost everything, so
// that float32 gradients differ by per cent from float64's, in PyTorch too; or the input of a
// ReLU is 0 up to rounding. Therefore a case runs several times, all but once with images and
// parameters shaken in their last bit. Where that moves a number by more than the tolerance, the
// movement sets the tolerance, up to 5 %. Tensors that need more are left out by name.
#ifndef SR_TESTS_GOLDEN_TRACE_H
#define SR_TESTS_GOLDEN_TRACE_H

#include "graph/ir/params.h"
#include "tests/golden/golden.h"

enum { GOLDEN_TRACE_ROWS = 4096 };

typedef struct {
    const char *tensor; // name in the case
    float *values;      // (n)
    int64_t n;
    float reference; // used if is_number: a number that is no tensor of the case
    bool is_number;
} GoldenTraceRow;

typedef struct {
    int n;
    GoldenTraceRow rows[GOLDEN_TRACE_ROWS];
} GoldenTrace;

// Copies values (n) into the case's arena; they are compared with `tensor` at the end.
SrStatus golden_trace_keep(SrGoldenCase *c, GoldenTrace *trace, const char *tensor,
                           const float *values, int64_t n);
// Records a number that is no tensor of the case; it is compared with `reference`.
SrStatus golden_trace_number(SrGoldenCase *c, GoldenTrace *trace, const char *name, double ours,
                             double reference);
// Runs a case with shaking 0 (none), 1, 2, ... and compares the recorded values.
typedef SrStatus GoldenTraceRun(SrGoldenCase *c, int shaking, GoldenTrace *trace);
SrStatus golden_trace_run(SrGoldenCase *c, GoldenTraceRun *once);
// Moves every number by one unit in its last place, up or down as drawn from `shaking` and `key`.
// 0: changes nothing.
void golden_shake(float *x, int64_t n, int shaking, uint64_t key);
// Shakes the parameters of a table.
void golden_shake_table(SrParams *params, int shaking);

#endif
