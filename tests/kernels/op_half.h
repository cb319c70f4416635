// One op on one of its cases on bfloat16, for tests, on inputs that bfloat16 holds exactly.  What is left is one rounding
// of each output.
#ifndef SR_TESTS_KERNELS_OP_HALF_H
#define SR_TESTS_KERNELS_OP_HALF_H

#include "kernels/op.h"

// y against the reference in doubles.
void op_half_forward(const SrOp *op, const SrOpCase *example, bool train);
// Gradients against the op's own on floats; `roundings` of them may add up.
void op_half_backward(const SrOp *op, const SrOpCase *example, bool train, double roundings);
// Every choice of types for inputs and output of an op with SR_OP_MIXES: exactly what floats give, rounded.
void op_half_mixed(const SrOp *op, const SrOpCase *example);
// Many rows, so that loops are shared; bits of y, dx and dw for 1 and 3 threads.
void op_half_threads(const SrOp *op, const SrOpCase *example, bool train);

#endif
