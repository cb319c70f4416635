// Outputs of one forward of the model: nodes with names.  Views of one size go through the trunk
// together.  Views of different sizes share a node if their features have the same shape.
// Otherwise (maps, tokens of another length) each size has its own node of the same name.
#ifndef SR_LOSSES_SHARED_OUTPUTS_H
#define SR_LOSSES_SHARED_OUTPUTS_H

#include "graph/ir/builder.h"

#define SR_MAX_OUTPUTS 64

typedef struct {
    // "embedding", "scores0", "tokens".  NULL: the head has one output without a name, which fits
    // every name that a loss asks for.
    const char *name;
    // (n_views * batch, ...), view-major: row = v * batch + image, v from 0 at first_view
    SrNodeId node;
    int first_view, n_views; // positions among the views of that forward
    int grid_h, grid_w;      // rows and columns of patches, of the trunk's outputs; 0: unknown
} SrOutput;

typedef struct {
    int n;
    SrOutput v[SR_MAX_OUTPUTS];
} SrOutputs;

// Finds the only output of that name.  A single output without a name fits every name.
// SR_ERR_CONFIG, which names `loss` and the outputs: there is none, or more than one (*node is
// SR_NO_NODE).
SrStatus sr_outputs_get(SrBuilder *b, const SrOutputs *outputs, const char *loss, const char *name,
                        SrNodeId *node);
// Returns the n-th output of that name, counted from 0.  NULL: there is none.
const SrOutput *sr_outputs_find(const SrOutputs *outputs, const char *name, int n);

#endif
