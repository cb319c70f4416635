// Drawing fresh parameters; internal to graph/.
#ifndef SR_GRAPH_INIT_H
#define SR_GRAPH_INIT_H

#include "graph/params.h"

// Every kind but NORM_OF, keyed by (seed, name).  Integers are set to the constant `value`.
void sr__init_draw(SrParam *p, uint64_t seed);
// g (rows, ...) = Euclidean norms of the rows of v (rows, ...), accumulated in double.
void sr__init_row_norms(SrParam *g, const SrParam *v);

#endif
