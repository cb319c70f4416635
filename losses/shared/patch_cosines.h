// Cosines between the patches of an image.
#ifndef SR_LOSSES_SHARED_PATCH_COSINES_H
#define SR_LOSSES_SHARED_PATCH_COSINES_H

#include "graph/ir/builder.h"

// Builds the patches of a map as vectors of length 1: (N, h, w, D) -> (N, h w, D).
SrNodeId sr_unit_patches(SrBuilder *b, SrNodeId map);
// Builds the cosines of such patches: (N, L, D) -> (N, L, L).
SrNodeId sr_patch_cosines(SrBuilder *b, SrNodeId patches);

#endif
