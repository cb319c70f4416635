// A trunk's tensors in a file: what stands before their names, and whose names they are (naming.h, naming_layout.h).
#ifndef SR_FORMATS_TRUNK_NAME_H
#define SR_FORMATS_TRUNK_NAME_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    SR_TRUNK_UNKNOWN,
    SR_TRUNK_RESNET,
    SR_TRUNK_SEQUENTIAL,
    SR_TRUNK_VIT_TIMM,
    SR_TRUNK_VIT,
    SR_TRUNK_LAYOUT // of a family in naming_layout.c
} SrTrunkKind;
typedef enum { SR_NAMES_TORCHVISION, SR_NAMES_VISSL, SR_NAMES_TIMM } SrNames;
enum { SR_N_NAMES = SR_NAMES_TIMM + 1, SR_NAMING_STAGES = 7 };

typedef struct {
    const char *writer; // "SwAV", "MoCo", "a file of plain names", ...
    SrTrunkKind kind;
    char prefix[256]; // of the trunk's tensors, "" for plain names
    char trunk[64];   // "resnet50", "vit_base_patch16", "" when not known
    char unlike[160]; // what keeps it from being the model of that name, "" when nothing does
    const struct SrLayout *layout; // SR_TRUNK_LAYOUT: its table, and
    int side;                      // whose words of the table the file has
    int blocks[SR_NAMING_STAGES];  // of each stage, where a side counts blocks through all of them
    bool authors_own;              // a transformer with parts that torchvision's has no names for
    bool gated;                    // a transformer whose branches multiply two halves (SwiGLU)
} SrNaming;

// Where several trunks are in a file, the one whose prefix has the higher rank is meant; up to NEVER none is.
#define SR_NAMING_NEVER -8
int sr_naming_rank(const char *prefix);
// The name without the groups into which VISSL's regnet_v2 and regnet_fsdp cut a stage ("res4.block3-part1.block3-9.f"
// is "res4.block3-9.f"): `name` itself or `out`.
const char *sr_naming_without_groups(const char *name, char *out, size_t bytes);

#endif
