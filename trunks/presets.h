// Models by name, collected from all trunks (SrTrunk.presets).
#ifndef SR_TRUNKS_PRESETS_H
#define SR_TRUNKS_PRESETS_H

#include "trunks/trunk.h"

const SrPreset *sr_preset_at(int i); // NULL past the end
// SR_ERR_CONFIG: unknown name; the message names the nearest one.
SrStatus sr_preset_find(const char *name, const SrPreset **out);
const SrTrunk *sr_preset_trunk(const SrPreset *preset); // trunk that lists the preset

// Returns size and statistics of the images that a preset's publisher feeds; ImageNet's at 224
// pixels for most and for NULL.
const SrPresetPixels *sr_preset_pixels(const SrPreset *preset);

// Adds nodes and parameters with torchvision's names under the builder's scope; `input`: (N, H,
// W, 3).
SrStatus sr_preset_build(const SrPreset *preset, SrBuilder *b, SrNodeId input, SrNodeId *output);

#endif
