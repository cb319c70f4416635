// Names and option maps of VISSL's trunks, so that its configurations can be read and messages
// can say "not built" instead of "unknown".  A trunk in this folder takes over its map by owning
// the subtree (trainer/config/vissl/schema.c); this list stays unchanged.
#ifndef SR_TRUNKS_VISSL_TRUNKS_H
#define SR_TRUNKS_VISSL_TRUNKS_H

#include "base/plugin/option.h"

extern const char *const sr_vissl_trunk_names[]; // ends with NULL
extern const SrOption sr_vissl_trunk_maps[];     // IGNORED rows of MODEL.TRUNK

#endif
