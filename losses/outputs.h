// What a forward of the model gives: nodes by name.  Views of one size go through the trunk
// together; views of unlike sizes share a node wherever their features have the same form, and
// stand in nodes of their own where they have not (maps, tokens of other lengths).
#ifndef SR_LOSSES_OUTPUTS_H
#define SR_LOSSES_OUTPUTS_H

#include "graph/builder.h"

#define SR_MAX_OUTPUTS 64

typedef struct {
    // "embedding", "scores0", "tokens"; NULL where the head has one output and the loss says what
    // it is.
    const char *name;
    // (n_views * batch, ...), view-major: row = v * batch + image, v from 0 at first_view
    SrNodeId node;
    int first_view, n_views; // positions among the views of that forward
    int grid_h, grid_w;      // of "tokens": patches of an image; 0: unknown
} SrOutput;

typedef struct {
    int n;
    SrOutput v[SR_MAX_OUTPUTS];
} SrOutputs;

// The output of that name, all views in one node; SR_ERR_CONFIG that names `loss` and what there
// is, unless there is exactly one.  An only output without a name answers to every name.
SrStatus sr_outputs_get(SrBuilder *b, const SrOutputs *outputs, const char *loss, const char *name,
                        SrNodeId *node);
// The n-th output of that name (n from 0; one a group of views), or NULL.
const SrOutput *sr_outputs_find(const SrOutputs *outputs, const char *name, int n);

#endif
