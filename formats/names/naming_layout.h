// Tables of names for trunk families whose parts torchvision, VISSL (which keeps the authors'
// names) and timm name differently.  naming.c handles ResNets and vision transformers, whose
// names differ by rules.
#ifndef SR_FORMATS_NAMES_NAMING_LAYOUT_H
#define SR_FORMATS_NAMES_NAMING_LAYOUT_H

#include "formats/names/trunk_name.h"
#include "formats/weights/weights_table.h"

// Finds the family and the writer: fills layout, side and prefix of out.  False: no family's names
// are all in the file.
bool sr_layout_detect(const SrWeights *w, SrNaming *out);
// Writes a name without prefix in the words of `to`.  False: the tensor is no part of the trunk.
bool sr_layout_rename(const SrNaming *naming, const char *bare, SrNames to, char *out,
                      size_t bytes);
// False: the family has no names for this writer.
bool sr_layout_writes(const SrNaming *naming, SrNames to);
// True: VISSL's names begin with trunk._feature_blocks. instead of trunk.
bool sr_layout_has_feature_blocks(const SrNaming *naming);
const char *sr_layout_family(const SrNaming *naming); // for example "convnext"
// True: the bare name belongs to the classifier in the words of `to`.
bool sr_layout_is_classifier(const SrNaming *naming, const char *bare, SrNames to);

#endif
