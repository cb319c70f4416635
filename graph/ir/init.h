// Draws initial values of tensors.  Internal to graph/.
#ifndef SR_GRAPH_IR_INIT_H
#define SR_GRAPH_IR_INIT_H

#include "base/tensor.h"
#include "kernels/op.h"

// Fills a tensor by any kind of initialisation but NORM_OF, keyed by (seed, name).  Integers get
// the constant init.value.
void sr__init_draw(SrTensor out, SrInit init, const char *name, uint64_t seed);
// Sets g (rows, ...) to the Euclidean norms of the rows of v (rows, ...), accumulated in double.
void sr__init_row_norms(SrTensor g, SrTensor v);

#endif
