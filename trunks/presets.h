// Models by name, torchvision's and CIFAR's: a trunk with its options, and the classifier they put on top.
#ifndef SR_TRUNKS_PRESETS_H
#define SR_TRUNKS_PRESETS_H

#include "trunks/trunk.h"

typedef struct {
    const char *name;       // "wide_resnet50_2"
    const char *trunk;      // "resnet"
    const char *options;    // its map in flow YAML
    const char *classifier; // path of the last linear layer: "fc"
    int classes;
} SrPreset;

const SrPreset *sr_preset_at(int i);              // NULL past the end
const SrPreset *sr_preset_find(const char *name); // NULL if there is none of that name

// Nodes and parameters with torchvision's names under the builder's present scope; `input` is (N, H, W, 3).
SrStatus sr_preset_build(const SrPreset *preset, SrBuilder *b, SrNodeId input, SrNodeId *output);

#endif
