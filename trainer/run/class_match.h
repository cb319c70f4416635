// The classes of a test set beside those of the training images: matched by their names where both have names, so that
// a folder which lacks one class does not shift all behind it.
#ifndef SR_TRAINER_RUN_CLASS_MATCH_H
#define SR_TRAINER_RUN_CLASS_MATCH_H

#include "trainer/run/data_split.h"

// *map: the training class of each of the test's classes, in memory of `arena`; NULL where they need none (one side has
// no labels, or several an image; neither has names).  A class with test images that the training does not have:
// SR_ERR_CONFIG with its name.
SrStatus sr_class_match(const SrSplit *train, const SrSplit *test, SrArena *arena,
                        const int64_t **map);

#endif
