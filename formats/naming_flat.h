// Trunks whose blocks one writer counts through ("block7.", VISSL's EfficientNet) and another in stages ("blocks.3.1.",
// timm's).  Tables in naming_layout.c write the former with both numbers, "block3-1."; how many blocks each stage has is known
// of the family, or found in the file.
#ifndef SR_FORMATS_NAMING_FLAT_H
#define SR_FORMATS_NAMING_FLAT_H

#include "formats/naming_pattern.h"
#include "formats/trunk_name.h"
#include "formats/weights.h"

typedef struct {
    const char *prefix;            // of a block on the side that counts through; NULL: no side does
    int side, first;               // that side; the number of its first block
    const char *block[SR_N_NAMES]; // other sides: a tensor that every block <b> of stage <a> has
    int blocks[SR_NAMING_STAGES];  // of each stage, the only ones the family has; or none
} SrFlat;

// Fills the blocks of naming, whose side and prefix are known.  False where there are others than the family has.
bool sr_flat_count(const SrWeights *w, const SrFlat *flat, SrNaming *naming);
// A block's name with its stage, in out; other names as they are.
const char *sr_flat_with_stage(const SrFlat *flat, const int *blocks, const char *bare, char *out,
                               size_t bytes);
void sr_flat_without_stage(const SrFlat *flat, const int *blocks, char *name);

#endif
