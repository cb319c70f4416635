// Minimum spanning tree of a complete graph of rows, and the single-linkage tree that it holds.
//
// Prim's algorithm ("Shortest connection networks and some generalizations", 1957) asks for the
// distances of one row at a time.  Memory is O(n) next to the rows, and the (n, n) matrix never
// exists.  The cost is n * n * d multiply-adds.  The edges in rising order are the merges of single
// linkage (Gower and Ross, "Minimum spanning trees and single linkage cluster analysis", 1969).
#ifndef SR_MEASURE_CLUSTERS_SPANNING_TREE_H
#define SR_MEASURE_CLUSTERS_SPANNING_TREE_H

#include "measure/row_view.h"

typedef struct {
    int64_t from, to; // rows; from < to
    float length;     // Euclidean distance
} SrTreeEdge;

// Finds the n - 1 edges, shortest first; ties go to the smaller rows.  A row that is not finite is
// as far as FLT_MAX allows from all others.  edge: (n - 1).  SR_ERR_MEMORY: out of memory.
SrStatus sr_spanning_tree(const SrRowView *rows, SrTreeEdge *edge);

// Computes how far each row lies from the body of the data: the height of the last merge of single
// linkage at which the row's group is the smaller side and has at most `largest` rows.  A lone row
// gets the distance to its nearest row, and a small group the distance to the rest.  SelfClean
// (Groeger et al., NeurIPS 2024, arXiv 2305.17048) ranks by the same tree, smaller sides first.
// edge: (n - 1) from sr_spanning_tree.  leaf: (n).  Of two sides of equal size both are smaller.
SrStatus sr_leaf_distances(const SrTreeEdge *edge, int64_t n, int64_t largest, float *leaf);

#endif
