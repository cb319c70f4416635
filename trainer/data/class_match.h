// Matches the classes of a test set with those of the training images, by name if both have names.
// Without it, a test folder that lacks one class would shift the numbers of all later classes.
#ifndef SR_TRAINER_DATA_CLASS_MATCH_H
#define SR_TRAINER_DATA_CLASS_MATCH_H

#include "base/arena.h"
#include "data/dataset.h"

// Labels of one side.  All pointers are borrowed.
typedef struct {
    const SrDataset *source;
    const void *set;  // open set of that source
    const char *path; // path of the images, for messages.  "": none
    int classes;      // 0: no labels
    bool made;        // transforms make the labels, which have no names then
} SrClassSide;

// *map gets the training class of each test class, in the arena.  NULL: no map is needed, because a
// side has no labels, made ones or several per image, or neither side has names.
// SR_ERR_CONFIG: a class with test images is no training class; the message names it.
SrStatus sr_class_match(const SrClassSide *train, const SrClassSide *test, SrArena *arena,
                        const int64_t **map);

#endif
