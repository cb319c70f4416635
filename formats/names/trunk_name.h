// Describes the names of a trunk's tensors in a file: their prefix, and the library whose words
// they use (formats/names/naming.h, formats/names/naming_layout.h).
#ifndef SR_FORMATS_NAMES_TRUNK_NAME_H
#define SR_FORMATS_NAMES_TRUNK_NAME_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    SR_TRUNK_UNKNOWN,
    SR_TRUNK_RESNET,
    SR_TRUNK_SEQUENTIAL,
    SR_TRUNK_VIT_TIMM,
    SR_TRUNK_VIT,
    SR_TRUNK_LAYOUT // a family of naming_layout.c
} SrTrunkKind;
typedef enum { SR_NAMES_TORCHVISION, SR_NAMES_VISSL, SR_NAMES_TIMM } SrNames;
enum { SR_N_NAMES = SR_NAMES_TIMM + 1, SR_NAMING_STAGES = 7 };

typedef struct {
    const char *writer; // "SwAV", "MoCo", "a file of plain names", ...
    SrTrunkKind kind;
    char prefix[256];              // prefix of the trunk's tensors; "": plain names
    char trunk[64];                // "resnet50", "vit_base_patch16"; "": unknown
    char unlike[160];              // difference from the model of that name; "": none
    const struct SrLayout *layout; // table of the family, for SR_TRUNK_LAYOUT
    int side;                      // column of the table that the file uses
    int blocks[SR_NAMING_STAGES];  // blocks per stage, where a writer numbers blocks through
    bool authors_own;              // transformer with parts that torchvision has no names for
    bool timm_alone;               // transformer whose names only timm and Hugging Face share
    const char *family;            // of a transformer: "vit", "beit", "dinov2"; NULL: another trunk
    bool gated;                    // transformer with gated branches (SwiGLU)
    bool dinov3;                   // DINOv3's transformer, in its authors' words or timm's
    // Family of Hugging Face's names that the file had before they were changed; NULL: others
    const struct SrHuggingface *huggingface;
} SrNaming;

// Rank of a prefix: of several trunks in a file, the one with the highest rank is read.  A rank
// up to SR_NAMING_NEVER is never read.
#define SR_NAMING_NEVER -8
int sr_naming_rank(const char *prefix);
// Removes the groups into which VISSL's regnet_v2 and regnet_fsdp cut a stage:
// "res4.block3-part1.block3-9.f" becomes "res4.block3-9.f".  Returns `name` or `out`.
const char *sr_naming_without_groups(const char *name, char *out, size_t bytes);

#endif
