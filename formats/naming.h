// How others name the tensors of the same trunk.  A trunk is found by a tensor only it can have
// (`layer1.0.conv1.weight`, `blocks.0.attn.qkv.weight`); what stands before it is the writer's
// prefix, and tells who wrote the file.
//
//   VISSL        classy_state_dict.base_model.model.trunk._feature_blocks.  (heads:
//   ...model.heads.) sslrun       trunk._feature_blocks. (heads.) torchvision  (nothing) timm
//   (nothing), its own words for transformers SwAV         module.                        with
//   module.projection_head, module.prototypes MoCo         state_dict.module.encoder_q.   v3:
//   module.base_encoder. DINO         teacher.backbone., student.module.backbone. lightly
//   backbone.N. of a Sequential: 0 conv1, 1 bn1, 4..7 layer1..4 solo-learn   state_dict.backbone.
//   or .encoder.
//
// A teacher is preferred to a student, a query encoder to a momentum one: those are the weights
// their authors evaluate.
#ifndef SR_FORMATS_NAMING_H
#define SR_FORMATS_NAMING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/tensor.h"
#include "formats/trunk_name.h"
#include "formats/weights.h"

void sr_naming_detect(const SrWeights *w, SrNaming *out);
bool sr_names_parse(const char *text, SrNames *out); // "torchvision", "vissl", "timm"

// A tensor's name in plain torchvision (or timm) words; false when it is no part of the trunk.  The
// classifier (fc., head.) counts as part of it, under the target's name for it.
bool sr_naming_bare(const SrNaming *naming, const char *name, SrNames to, char *out, size_t bytes);
bool sr_naming_is_classifier(const SrNaming *naming, const char *bare, SrNames to);
// What VISSL has before a trunk's names: "_feature_blocks." or nothing.
const char *sr_naming_vissl_prefix(const SrNaming *naming);
// SR_ERR_CONFIG where the writer `to` has no names for such a trunk.
SrStatus sr_naming_check(const SrNaming *naming, const char *path, SrNames to);
// The shape that the writer `to` gives a tensor of this name: scales of channels and tables of places differ in it.
SrShape sr_naming_shape(const char *bare, SrShape shape, SrNames to);
// What a trunk can do without: constants that PyTorch saves among the tensors (index tables and masks of Swin and BEiT),
// the token for hidden patches where none is hidden.
bool sr_naming_is_constant(const char *name);

#endif
