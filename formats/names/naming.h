// Recognises who wrote a file of weights, and renames the tensors of its trunk.  A trunk is found
// by a tensor that only it can have (`layer1.0.conv1.weight`, `blocks.0.attn.qkv.weight`).  The
// text before that name is the writer's prefix:
//
//   VISSL        classy_state_dict.base_model.model.trunk._feature_blocks.
//                heads: classy_state_dict.base_model.model.heads.
//   sslrun       trunk._feature_blocks., heads: heads.
//   torchvision  no prefix
//   timm         no prefix, own words for transformers
//   SwAV         module., with module.projection_head and module.prototypes
//   MoCo         state_dict.module.encoder_q., version 3: module.base_encoder.
//   DINO         teacher.backbone., student.module.backbone.
//   lightly      backbone.N. of a Sequential: 0 conv1, 1 bn1, 4 to 7 layer1 to layer4
//   solo-learn   state_dict.backbone. or state_dict.encoder.
//   Hugging Face its own words for every family (formats/naming_huggingface.h)
//
// A file with several trunks gives the teacher rather than the student, and the query encoder
// rather than the momentum encoder: their authors evaluate those weights.
#ifndef SR_FORMATS_NAMES_NAMING_H
#define SR_FORMATS_NAMES_NAMING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/tensor.h"
#include "formats/names/trunk_name.h"
#include "formats/weights/weights_table.h"

// Fills *out; its kind is SR_TRUNK_UNKNOWN when no trunk was found.
void sr_naming_detect(const SrWeights *w, SrNaming *out);
// Turns Hugging Face's names, if the file has them, into those that the functions below know, and
// fills *out.  SR_ERR_CONFIG: a part of a joined tensor is missing; the message names it.
SrStatus sr_naming_open(SrWeights *w, SrNaming *out);
// Parses "torchvision", "vissl" or "timm"; false: none of these.
bool sr_names_parse(const char *text, SrNames *out);

// Writes a tensor's name in the words of `to`, without a prefix, into out (bytes long).
// False: the tensor is no part of the trunk.  The classifier (fc., head.) counts as part of it.
bool sr_naming_bare(const SrNaming *naming, const char *name, SrNames to, char *out, size_t bytes);
bool sr_naming_is_classifier(const SrNaming *naming, const char *bare, SrNames to);
// Returns VISSL's prefix for this trunk's names: "_feature_blocks." or "".
const char *sr_naming_vissl_prefix(const SrNaming *naming);
// SR_ERR_CONFIG: the writer `to` has no names for such a trunk.
SrStatus sr_naming_check(const SrNaming *naming, const char *path, SrNames to);
// Returns the shape that the writer `to` gives a tensor of this name.  Channel scales and position
// tables have different shapes in different libraries.
SrShape sr_naming_shape(const char *bare, SrShape shape, SrNames to);
// True for tensors that a trunk does not need: constants that PyTorch saves (index tables and masks
// of Swin and BEiT), and the mask token of a trunk that hides no patches.
bool sr_naming_is_constant(const char *name);

#endif
