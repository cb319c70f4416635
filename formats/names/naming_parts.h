// Splits and joins tensors that writers store differently, so that a new name is not enough.
//
//   Swin V2        torchvision   attn.qkv.bias (3 D); the middle third, for keys, is never used
//                  timm, authors attn.q_bias and attn.v_bias (D)
//   DINOv2 with    its authors   pos_embed (1, 1 + positions, D); the first is the class token's
//   registers      timm          pos_embed (1, positions, D); the first is added to cls_token
//   DINOv3         its authors   attn.qkv.bias (3 D), attn.qkv.bias_mask, rope_embed.periods
//                  timm          attn.q_bias and attn.v_bias (D), or none where all are 0
#ifndef SR_FORMATS_NAMES_NAMING_PARTS_H
#define SR_FORMATS_NAMES_NAMING_PARTS_H

#include "base/status.h"
#include "formats/names/trunk_name.h"
#include "formats/weights/weights_table.h"

// Replaces tensors of w by those that the writer `to` would store, under names that sr_naming_bare
// of this file knows.  The trunks of this program use torchvision's and DINOv2's form:
// SR_NAMES_TORCHVISION.
SrStatus sr_naming_parts(SrWeights *w, const SrNaming *naming, SrNames to);
// Adds the constants that DINOv3's authors store, where the file lacks them.  A head has 64
// numbers, 128 in the largest model, as in all published models.  Other trunks get none.
SrStatus sr_naming_constants(SrWeights *w, const SrNaming *naming);

#endif
