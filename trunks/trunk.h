// The trunk contract: a backbone builds its nodes with torchvision's names and announces VISSL's
// stages. A descriptor `const SrTrunk sr_trunk_<stem>` in trunks/<stem>.c is found by the build.
#ifndef SR_TRUNKS_TRUNK_H
#define SR_TRUNKS_TRUNK_H

#include "base/option.h"
#include "graph/builder.h"

typedef struct SrTrunk {
    const char *name; // MODEL.TRUNK.NAME
    const char *help;
    const char *subtree; // the VISSL map it owns: "MODEL.TRUNK.RESNETS"
    const SrOption *options;
    size_t params_bytes;
    // What the parameter names start with inside "trunk.": "_feature_blocks." for VISSL's resnet.
    const char *param_prefix;
    // Nodes under the builder's present scope; `input` is (N, H, W, C).  *output is the last block
    // (VISSL's default feature).  Stages are announced with sr_build_alias: conv1, res1 .. res5,
    // res5avg, flatten.
    SrStatus (*build)(SrBuilder *b, const void *params, SrNodeId input, SrNodeId *output);
} SrTrunk;

const SrTrunk *sr_trunk_at(int i); // NULL past the end
// Unknown name: SR_ERR_CONFIG with the nearest.
SrStatus sr_trunk_find(const char *name, const SrTrunk **out);

#endif
