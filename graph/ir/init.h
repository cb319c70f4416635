// Draws initial values of parameters.  Internal to graph/.
#ifndef SR_GRAPH_IR_INIT_H
#define SR_GRAPH_IR_INIT_H

#include "graph/ir/params.h"

// Initialises an entry of any kind but NORM_OF, keyed by (seed, name).  Integers get the constant
// `value`.
void sr__init_draw(SrParam *p, uint64_t seed);
// Sets g (rows, ...) to the Euclidean norms of the rows of v (rows, ...), accumulated in double.
void sr__init_row_norms(SrParam *g, const SrParam *v);

#endif
