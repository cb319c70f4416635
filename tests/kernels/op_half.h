// Checks of ops on bfloat16. Inputs are numbers that bfloat16 holds exactly, so that an output
// differs from the float result by one rounding only.
#ifndef SR_TESTS_KERNELS_OP_HALF_H
#define SR_TESTS_KERNELS_OP_HALF_H

#include "kernels/op.h"

// Compares y of the bfloat16 forward pass with the reference in double precision.
void op_half_forward(const SrOp *op, const SrOpCase *example, bool train);
// Compares gradients on bfloat16 with the op's own gradients on floats, within the error of
// `roundings` roundings.
void op_half_backward(const SrOp *op, const SrOpCase *example, bool train, double roundings);
// Tries each choice of types for inputs and output of an op with SR_OP_MIXES: results must be the
// rounded float results.
void op_half_mixed(const SrOp *op, const SrOpCase *example);
// y, dx and dw have the same bits with 1 and 3 threads, on so many rows that the loops are split
// between threads.
void op_half_threads(const SrOp *op, const SrOpCase *example, bool train);

#endif
