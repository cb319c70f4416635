// Models by name, of all trunks: each trunk's file lists its own (SrTrunk.presets).
#ifndef SR_TRUNKS_PRESETS_H
#define SR_TRUNKS_PRESETS_H

#include "trunks/trunk.h"

const SrPreset *sr_preset_at(int i); // NULL past the end
// Unknown name: SR_ERR_CONFIG with the nearest.
SrStatus sr_preset_find(const char *name, const SrPreset **out);
const SrTrunk *sr_preset_trunk(const SrPreset *preset); // whose it is

// Nodes and parameters with torchvision's names under the builder's present scope; `input` is (N, H, W, 3).
SrStatus sr_preset_build(const SrPreset *preset, SrBuilder *b, SrNodeId input, SrNodeId *output);

#endif
