// The collator of a split: found by its name, with its options and its plan for the views of a
// pipeline.
#ifndef SR_DATA_COLLATION_H
#define SR_DATA_COLLATION_H

#include "base/arena.h"
#include "data/collator.h"

// A collator with its options and its plan for the views of a pipeline.
typedef struct {
    const SrCollator *collator;
    void *params;
    SrBatchPlan plan;
} SrCollation;
// Views and extras that the transforms make of an image.
typedef struct {
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS]; // number of views, and their sizes in pixels
    int channels;                            // channels of the views; 0: 3
    SrExtras extras;
} SrCollateViews;
// Finds the collator, parses its options and makes its plan; all memory is the arena's.  options:
// a map; NULL: all defaults.  where: the split for messages ("DATA.TRAIN").
SrStatus sr_collation_new(const char *name, const SrYaml *options, const char *where,
                          const SrCollateViews *views, SrArena *arena, SrCollation *out);

#endif
