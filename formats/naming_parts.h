// Tensors that one writer cuts otherwise than another, so that a new name is not enough: the file's list of tensors gets
// those that the other would have saved.
//
//   Swin V2        torchvision   attn.qkv.bias (3 D), whose middle, the keys', is never used
//                  timm, authors attn.q_bias and attn.v_bias (D)
//   DINOv2 with    its authors   pos_embed (1, 1 + places, D), the first one for the class token
//   registers      timm          pos_embed (1, places, D), the first one already added to cls_token
#ifndef SR_FORMATS_NAMING_PARTS_H
#define SR_FORMATS_NAMING_PARTS_H

#include "base/status.h"
#include "formats/trunk_name.h"
#include "formats/weights.h"

// The tensors of w as the writer `to` cuts them, under names that sr_naming_bare of this file still knows; others stay.
// Trunks here have torchvision's and DINOv2's: SR_NAMES_TORCHVISION.
SrStatus sr_naming_parts(SrWeights *w, const SrNaming *naming, SrNames to);

#endif
