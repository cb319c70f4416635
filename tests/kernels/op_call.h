// Runs one op on one of its example cases, for tests: in float for the kernels and in double for
// the reference. The struct owns all buffers.
#ifndef SR_TESTS_KERNELS_OP_CALL_H
#define SR_TESTS_KERNELS_OP_CALL_H

#include "base/arena.h"
#include "base/rng.h"
#include "kernels/op.h"

typedef struct {
    const SrOp *op;
    SrArena arena; // owns the memory of all fields below
    void *params;
    bool train;
    int n_in, n_w;
    SrShape shapes[SR_OP_MAX_IN], y_shape;
    SrSlot slots[SR_OP_MAX_SLOTS];
    SrTensor x[SR_OP_MAX_IN], w[SR_OP_MAX_SLOTS], y;
    float *dx[SR_OP_MAX_IN], *dw[SR_OP_MAX_SLOTS], *dy;
    void *saved, *scratch;
    double *x64[SR_OP_MAX_IN], *w64[SR_OP_MAX_SLOTS], *y64;
    SrChannelSums x_sums; // channel sums of x[0]; none unless the test sets them
    unsigned dx_add;
    bool again;
} OpCall;

// Returns true unless the environment sets SR_TEST_OP=NAME to another op. It limits loops over
// the registry to one op while that op is being written.
bool op_wanted(const SrOp *op);
const SrOp *op_named(const char *name); // fails the test if there is none

// Parses the parameters, asks the op for shapes and slots, and fills x, w and dy with random
// numbers of `seed`. A refusal fails the test. The first dimension of the inputs is multiplied by
// `rows`.
void op_call_init(OpCall *c, const SrOp *op, const SrOpCase *example, int rows, bool train,
                  uint64_t seed);
void op_call_deinit(OpCall *c);
void op_call_forward(OpCall *c);
void op_call_backward(OpCall *c); // fills dx with garbage first unless dx_add is set
// Returns the op's node on the test's machine. Its design lives in memory of `c`.
SrOpSite op_call_site(OpCall *c, SrDtype type);
size_t op_scratch_bytes(const SrOp *op, const SrOpSite *site); // 0: the op needs none
// Prepares the weights of a pass in memory of `c`, as a plan does, and stores them in `call`.
void op_call_prepare(OpCall *c, SrOpPass pass, SrOpCall *call);
// Computes y64 from x64 and w64; state slots of w64 may change.
void op_call_reference(OpCall *c);
// Returns memory of `c`, aligned as a plan's memory is.
void *op_call_alloc(OpCall *c, size_t bytes);
// Fills out (n) with normally distributed numbers that a float holds exactly.
void op_call_fill(double *out, int64_t n, uint64_t seed, uint64_t stream);

#endif
