// Helpers of several ops: shape checks for infer functions and small loops over whole tensors.
// Internal to kernels/; the vector loops are in rows.h.
#ifndef SR_KERNELS_CORE_OP_UTIL_H
#define SR_KERNELS_CORE_OP_UTIL_H

#include "kernels/op.h"

// Returns SR_ERR_CONFIG "conv2d: inputs [2, 5], [3]: expected ...".
SrStatus sr__shape_fail(const char *op, const SrShape *x, int n_in, const char *expected, ...)
    SR_PRINTF(4, 5);
// Checks that there are n_in inputs whose first has a rank in [low, high].
SrStatus sr__expect_rank(const char *op, const SrShape *x, int n_in, int low, int high);
// `infer` of ops whose output has the shape of x[0] and which take any rank.
SrStatus sr__infer_same(const void *params, const SrShape *x, int n_in, SrShape *y);
// `reads` of ops whose backward reads x[0] and nothing else.
unsigned sr__reads_x(const void *params);

SrSlot sr__param_slot(const char *name, SrShape shape, SrRole role, SrInitKind init, double value);
SrSlot sr__state_slot(const char *name, SrShape shape, SrDtype dtype, SrInitKind init,
                      double value);

// Returns number i of a tensor of labels (I64, or F32 as in tests), rounded down.
int64_t sr__label_at(const SrTensor *labels, int64_t i);

// Elements that a parallel loop hands to a thread at once; smaller loops run on one thread.
enum { SR_CHUNK = 16384 };

// Returns the address of element i of memory of that type; NULL stays NULL.
static inline void *sr__at(SrDtype type, const void *p, int64_t i) {
    return p ? (char *)p + i * (int64_t)sr_dtype_bytes(type) : NULL;
}

// Copies src (n) to dst (n), in parallel.  Does nothing if both are the same address.
void sr__copy(float *dst, const float *src, int64_t n);
void sr__zero(float *dst, int64_t n);

// Hooks of ops whose output is their input, number by number, under another shape or name.
bool sr__same_is_view(const void *params, const SrShape *x, int n_in);
void sr__same_reference(const SrRefCall *call);
// Only called where the two sides cannot share memory.
void sr__same_forward(const SrOpCall *call);
void sr__same_backward(const SrOpCall *call);

// Adds the sums of the columns of x (rows, C) to out (C); one thread adds each column, in row
// order.
void sr__add_column_sums(const SrMachine *machine, const float *x, int64_t rows, int C, float *out);

#endif
