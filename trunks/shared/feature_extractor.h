// Selects features of a trunk by VISSL's lists, which give a pooling for each layer.  A layer may
// be named by VISSL's stage or torchvision's node; a name that is both means the stage.
#ifndef SR_TRUNKS_SHARED_FEATURE_EXTRACTOR_H
#define SR_TRUNKS_SHARED_FEATURE_EXTRACTOR_H

#include "base/text/yaml.h"
#include "graph/ir/builder.h"
#include "kernels/pool/pool2d.h"

#define SR_MAX_FEATURES 16

typedef struct {
    const char *layer;
    const char *op; // name of the kernel; NULL: Identity
    union {
        SrPool2dParams pool;
        SrAdaptivePool2dParams adaptive;
    } params;
} SrFeature;

typedef struct { // layers in the requested order, repeats allowed; n 0: the trunk's last block
    int n;
    SrFeature *v;
    const char *key; // key of the configuration, for messages
} SrFeatures;

// Parses LINEAR_EVAL_FEAT_POOL_OPS_MAP: entries [layer, [operation, [arguments]]], where operations
// take torch's positional arguments: AdaptiveAvgPool2d, AdaptiveMaxPool2d, AvgPool2d, MaxPool2d,
// Identity.  `key` names the list in messages.  SR_ERR_CONFIG names file and line.
SrStatus sr_features_parse(const SrYaml *list, const char *key, SrArena *arena, SrFeatures *out);
// Parses a list of layer names without pooling.
SrStatus sr_features_parse_names(const SrYaml *list, const char *key, SrArena *arena,
                                 SrFeatures *out);

// Adds the taps and pools of one trunk pass, whose node names begin with `prefix` and end with the
// pass's suffix ("@1").  out[i]: (N, h, w, C), or (N, C h w) flattened in PyTorch's order, or the
// layer's own shape.
SrStatus sr_features_build(SrBuilder *b, const SrFeatures *features, const char *prefix, int pass,
                           bool flatten, SrNodeId out[SR_MAX_FEATURES]);

#endif
