// Renames blocks that one writer numbers through ("block7.", VISSL's EfficientNet) and another
// numbers in stages ("blocks.3.1.", timm's).  The tables in naming_layout.c write both numbers,
// "block3-1.".  The number of blocks per stage is known for the family, or counted in the file.
#ifndef SR_FORMATS_NAMES_NAMING_FLAT_H
#define SR_FORMATS_NAMES_NAMING_FLAT_H

#include "formats/names/naming_pattern.h"
#include "formats/names/trunk_name.h"
#include "formats/weights/weights_table.h"

typedef struct {
    const char *prefix;            // prefix of blocks numbered through; NULL: no writer does so
    int side, first;               // writer that numbers through; number of its first block
    const char *block[SR_N_NAMES]; // other writers: a tensor that block <b> of stage <a> has
    int blocks[SR_NAMING_STAGES];  // blocks per stage of the family; 0: counted in the file
} SrFlat;

// Counts the blocks per stage into naming, whose side and prefix are set.  False: the file has
// other numbers than the family.
bool sr_flat_count(const SrWeights *w, const SrFlat *flat, SrNaming *naming);
// Returns the name with stage and block, written to out; other names are returned unchanged.
const char *sr_flat_with_stage(const SrFlat *flat, const int *blocks, const char *bare, char *out,
                               size_t bytes);
// Replaces stage and block in name by the number through all stages, in place.
void sr_flat_without_stage(const SrFlat *flat, const int *blocks, char *name);

#endif
