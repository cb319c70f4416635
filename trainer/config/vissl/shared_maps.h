// Finds out which trunk a map of options belongs to where trunks share one.
#ifndef SR_TRAINER_CONFIG_VISSL_SHARED_MAPS_H
#define SR_TRAINER_CONFIG_VISSL_SHARED_MAPS_H

#include "base/arena.h"
#include "trainer/config/vissl/schema.h"
#include "trunks/trunk.h"

// Finds MODEL.TRUNK.NAME in the registry.  NULL: it is not there.
const SrTrunk *sr__chosen_trunk(const SrYaml *tree, SrArena *arena);
// True if entry i is the one that its map is checked against.  Where trunks share a map, that is
// the chosen trunk's entry, or the first one if none of them was chosen.
bool sr__table_counts(const SrSchemaEntry *entries, int i, const SrTrunk *chosen);
// Copies values that were set in the map that a trunk is based on (SrTrunk.base) into the trunk's
// own map, where that one has its default.
SrStatus sr__trunk_base(SrYaml *tree, SrArena *arena);

#endif
