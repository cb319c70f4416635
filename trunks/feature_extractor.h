// Features out of a trunk: where a layer is named, VISSL's stages and torchvision's node names both
// work; and VISSL's list of layers with a pooling for each (spec 2.10).
#ifndef SR_TRUNKS_FEATURE_EXTRACTOR_H
#define SR_TRUNKS_FEATURE_EXTRACTOR_H

#include "base/yaml.h"
#include "graph/builder.h"
#include "kernels/pool2d.h"

#define SR_MAX_FEATURES 16

// A stage ("res4", "conv1": VISSL's, after the ReLU), else a node or module ("layer3.0.bn1",
// "layer3").  A name that is both means the stage, because configurations come from VISSL;
// torchvision's bare convolution of that name is reached as its neighbour ("bn1").  Unknown:
// SR_ERR_CONFIG with the nearest names.
SrStatus sr_feature_tap(const SrGraph *graph, const char *layer, SrNodeId *out);

typedef struct {
    const char *layer;
    const char *op; // kernel name; NULL: Identity
    union {
        SrPool2dParams pool;
        SrAdaptivePool2dParams adaptive;
    } params;
} SrFeature;

typedef struct { // in the order asked for, repeats allowed; n 0: the trunk's last block
    int n;
    SrFeature *v;
    const char *key; // of the configuration, for messages
} SrFeatures;

// LINEAR_EVAL_FEAT_POOL_OPS_MAP: entries [layer, [operation, [arguments]]], operations with torch's
// positional arguments: AdaptiveAvgPool2d, AdaptiveMaxPool2d, AvgPool2d, MaxPool2d, Identity.
// `key` is the list's name for messages.  SR_ERR_CONFIG with file:line.
SrStatus sr_features_parse(const SrYaml *list, const char *key, SrArena *arena, SrFeatures *out);
// A list of layer names, without pooling.
SrStatus sr_features_parse_names(const SrYaml *list, const char *key, SrArena *arena,
                                 SrFeatures *out);

// Taps and pools of one trunk pass, whose nodes begin with `prefix` and end with the pass's "@1".
// out[i]: (N, h, w, C), flattened (N, C h w) in PyTorch's order; or as the layer has it.
SrStatus sr_features_build(SrBuilder *b, const SrFeatures *features, const char *prefix, int pass,
                           bool flatten, SrNodeId out[SR_MAX_FEATURES]);

#endif
