// What several ops share: shape checks for infer functions and small loops over whole tensors.
// Internal to kernels/; the vector loops themselves are in rows.h.
#ifndef SR_KERNELS_OP_UTIL_H
#define SR_KERNELS_OP_UTIL_H

#include "kernels/op.h"

// SR_ERR_CONFIG "conv2d: inputs [2, 5], [3]: expected ...".
SrStatus sr__shape_fail(const char *op, const SrShape *x, int n_in, const char *expected, ...)
    SR_PRINTF(4, 5);
// The rank is in [low, high].
SrStatus sr__expect_rank(const char *op, const SrShape *x, int n_in, int low, int high);
// infer of ops whose output has the shape of x[0] and takes any rank.
SrStatus sr__infer_same(const void *params, const SrShape *x, int n_in, SrShape *y);

SrSlot sr__param_slot(const char *name, SrShape shape, SrRole role, SrInitKind init, double value);
SrSlot sr__state_slot(const char *name, SrShape shape, SrDtype dtype, SrInitKind init,
                      double value);

// Number i of a tensor of labels (I64, or F32 as tests have them), rounded down.
int64_t sr__label_at(const SrTensor *labels, int64_t i);

// Elements a parallel loop hands to a thread at once; below one chunk nothing is parallel.
enum { SR_CHUNK = 16384 };

// Element i of memory of that type; NULL stays NULL.
static inline void *sr__at(SrDtype type, const void *p, int64_t i) {
    return p ? (char *)p + i * (int64_t)sr_dtype_bytes(type) : NULL;
}

// dst (n) = src (n), in parallel; the same address is left alone.
void sr__copy(float *dst, const float *src, int64_t n);
void sr__zero(float *dst, int64_t n);

// Hooks of ops whose output is their input, number by number, in another shape or under another name.
bool sr__same_is_view(const void *params, const SrShape *x, int n_in);
void sr__same_reference(const SrRefCall *call);
void sr__same_forward(const SrOpCall *call); // only called where the two sides cannot share memory
void sr__same_backward(const SrOpCall *call);

// out (C) += sums of the columns of x (rows, C), each column in one order on one thread.
void sr__add_column_sums(const SrMachine *machine, const float *x, int64_t rows, int C, float *out);

#endif
