// Features out of a trunk: where a layer is named, VISSL's stages and torchvision's node names both
// work.
#ifndef SR_TRUNKS_FEATURE_EXTRACTOR_H
#define SR_TRUNKS_FEATURE_EXTRACTOR_H

#include "graph/graph.h"

// A stage ("res4", "conv1": VISSL's, after the ReLU), else a node or module ("layer3.0.bn1",
// "layer3").  A name that is both means the stage, because configurations come from VISSL;
// torchvision's bare convolution of that name is reached as its neighbour ("bn1").  Unknown:
// SR_ERR_CONFIG with the nearest names.
SrStatus sr_feature_tap(const SrGraph *graph, const char *layer, SrNodeId *out);

#endif
