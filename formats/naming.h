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
#include "formats/weights.h"

typedef enum {
    SR_TRUNK_UNKNOWN,
    SR_TRUNK_RESNET,
    SR_TRUNK_SEQUENTIAL,
    SR_TRUNK_VIT_TIMM,
    SR_TRUNK_VIT
} SrTrunkKind;
typedef enum { SR_NAMES_TORCHVISION, SR_NAMES_VISSL, SR_NAMES_TIMM } SrNames;

typedef struct {
    const char *writer; // "SwAV", "MoCo", "a file of plain names", ...
    SrTrunkKind kind;
    char prefix[256]; // of the trunk's tensors, "" for plain names
    char trunk[64];   // "resnet50", "vit_base_patch16", "" when not known
    char unlike[160]; // what keeps it from being the model of that name, "" when nothing does
} SrNaming;

void sr_naming_detect(const SrWeights *w, SrNaming *out);
bool sr_names_parse(const char *text, SrNames *out); // "torchvision", "vissl", "timm"

// A tensor's name in plain torchvision (or timm) words; false when it is no part of the trunk.  The
// classifier (fc., head.) counts as part of it, under the target's name for it.
bool sr_naming_bare(const SrNaming *naming, const char *name, SrNames to, char *out, size_t bytes);
// The name without the groups into which VISSL's regnet_v2 and regnet_fsdp cut a stage ("res4.block3-part1.block3-9.f"
// is "res4.block3-9.f"): `name` itself or `out`.
const char *sr_naming_without_groups(const char *name, char *out, size_t bytes);
bool sr_naming_is_classifier(const char *bare);
// What a trunk can do without: constants that PyTorch saves among the tensors (index tables and masks of Swin and BEiT),
// the token for hidden patches where none is hidden.
bool sr_naming_is_constant(const char *name);

#endif
