// Families of trunks whose parts torchvision, VISSL (which has the authors' names) and timm call differently, as tables of
// name against name.  What is common to a family's writers, a vision transformer's or a ResNet's names, is in naming.c.
#ifndef SR_FORMATS_NAMING_LAYOUT_H
#define SR_FORMATS_NAMING_LAYOUT_H

#include "formats/trunk_name.h"
#include "formats/weights.h"

// Whose names the file has: fills layout, side and prefix of out.  False when no family's are all there.
bool sr_layout_detect(const SrWeights *w, SrNaming *out);
// A name without its prefix, in another writer's words; false for what is no part of the trunk.
bool sr_layout_rename(const SrNaming *naming, const char *bare, SrNames to, char *out,
                      size_t bytes);
bool sr_layout_writes(const SrNaming *naming, SrNames to); // VISSL's words are not known of all
bool sr_layout_has_feature_blocks(
    const SrNaming *naming);                          // VISSL: trunk._feature_blocks.*, not trunk.*
const char *sr_layout_family(const SrNaming *naming); // "convnext"
// The classifier in the target's words: a name that begins so.
bool sr_layout_is_classifier(const SrNaming *naming, const char *bare, SrNames to);

#endif
