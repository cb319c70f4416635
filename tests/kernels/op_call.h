// One op on one of its cases with buffers of its own, for tests: float for the kernels, double for
// the reference.
#ifndef SR_TESTS_KERNELS_OP_CALL_H
#define SR_TESTS_KERNELS_OP_CALL_H

#include "base/arena.h"
#include "base/rng.h"
#include "kernels/op.h"

typedef struct {
    const SrOp *op;
    SrArena arena; // everything below lives here
    void *params;
    bool train;
    int n_in, n_w;
    SrShape shapes[SR_OP_MAX_IN], y_shape;
    SrSlot slots[SR_OP_MAX_SLOTS];
    SrTensor x[SR_OP_MAX_IN], w[SR_OP_MAX_SLOTS], y;
    float *dx[SR_OP_MAX_IN], *dw[SR_OP_MAX_SLOTS], *dy;
    void *saved, *scratch;
    double *x64[SR_OP_MAX_IN], *w64[SR_OP_MAX_SLOTS], *y64;
    SrChannelSums x_sums; // none unless the test sets it
    unsigned dx_add;
    bool again;
} OpCall;

// SR_TEST_OP=NAME in the environment keeps the loops over the registry to one op while it is being written.
bool op_wanted(const SrOp *op);
const SrOp *op_named(const char *name); // fails the test if there is none

// Parses the params, asks for shapes and slots, fills x, w and dy with draws of `seed`; fails the
// test otherwise. Rows of the first dimension are repeated `rows` times over.
void op_call_init(OpCall *c, const SrOp *op, const SrOpCase *example, int rows, bool train,
                  uint64_t seed);
void op_call_deinit(OpCall *c);
void op_call_forward(OpCall *c);
void op_call_backward(OpCall *c); // dx is filled with rubbish first unless dx_add is set
// The op's node on the test's machine, with its design in memory of its own.
SrOpSite op_call_site(OpCall *c, SrDtype type);
void op_call_prepare(OpCall *c, SrOpPass pass,
                     SrOpCall *call);         // into memory of its own, as a plan would
void op_call_reference(OpCall *c);            // y64 from x64, w64; state slots of w64 may change
void *op_call_alloc(OpCall *c, size_t bytes); // aligned as the plan's memory is
void op_call_fill(double *out, int64_t n, uint64_t seed,
                  uint64_t stream); // normal draws that floats hold

#endif
