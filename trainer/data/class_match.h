// Matches the classes of a test set with those of the training images, by name if both have names.
// Without it, a test folder that lacks one class would shift the numbers of all later classes.
#ifndef SR_TRAINER_DATA_CLASS_MATCH_H
#define SR_TRAINER_DATA_CLASS_MATCH_H

#include "trainer/data/data_split.h"

// *map gets the training class of each test class, in the arena.  NULL: no map is needed, because a
// split has no labels or several per image, or neither split has names.
// SR_ERR_CONFIG: a class with test images is no training class; the message names it.
SrStatus sr_class_match(const SrSplit *train, const SrSplit *test, SrArena *arena,
                        const int64_t **map);

#endif
