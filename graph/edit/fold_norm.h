// Folds batch norms into the convolutions before them, for evaluation with frozen weights.  Each
// fold saves a kernel call and a pass over memory.
//
// Source: Jacob et al., "Quantization and training of neural networks for efficient
// integer-arithmetic-only inference" (CVPR 2018), section 3.2, equation 14.
#ifndef SR_GRAPH_EDIT_FOLD_NORM_H
#define SR_GRAPH_EDIT_FOLD_NORM_H

#include "graph/edit/extract.h"

// Folds every batch norm into the convolution before it, if the norm is the convolution's only
// reader. That is valid for evaluation with frozen weights: the result has eval nodes only, and
// out->train is empty.  The table must have values.  The convolution takes the name of the norm,
// whose value it gives.  Its weight keeps name and shape, and it gets a bias "<conv>.bias".  A
// norm whose convolution is tapped or shared stays.  With a = gamma / sqrt(var + eps):
//     y = a (x * w + b - mean) + beta, so w' = a w and b' = beta + a (b - mean)
SrStatus sr_graph_fold_norm(const SrExtraction *from, SrExtraction *out, int *n_folded);

#endif
