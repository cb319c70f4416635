// Filling of cutmixup_collator with draws that the caller gives, so that a test can replay recorded
// ones.
#ifndef SR_DATA_COLLATORS_CUTMIXUP_COLLATOR_H
#define SR_DATA_COLLATORS_CUTMIXUP_COLLATOR_H

#include "data/collator.h"
#include "data/collators/mix.h"

// Mixes the images of a batch in place and fills its targets, (n, num_classes) for each view.
// params: the collator's options.
void sr__cutmixup_fill(const void *params, SrMixDraws draws, SrBatch *batch);

#endif
