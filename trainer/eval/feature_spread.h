// Compares a trunk before and after training on images without labels: in how many directions its
// features spread, how evenly, and how many nearest neighbours stayed.  These figures show damage,
// such as features that collapse; they cannot show that features got better.  model_comparison.h
// judges with labels.
#ifndef SR_TRAINER_EVAL_FEATURE_SPREAD_H
#define SR_TRAINER_EVAL_FEATURE_SPREAD_H

#include "measure/representation.h"
#include "trainer/eval/baselines.h"

enum { SR_SPREAD_NEIGHBOURS = 10, SR_SPREAD_IMAGES = 2000 };

typedef struct {
    SrRepresentation row[SR_ROW_COUNT]; // features of the configured layer; pixels
    // Share of each image's SR_SPREAD_NEIGHBOURS nearest images that are the same before and
    // after, from 0 to 1; -1: there are too few images.
    double kept;
    int64_t images; // on which `kept` was measured
} SrFeatureSpread;

// Measures at most SR_SPREAD_IMAGES training images.  Changes nothing in the models, whose
// parameters have their values.
SrStatus sr_feature_spread(const SrConfig *config, SrModel *trained, SrModel *started,
                           SrFeatureSpread *out);
// True: the features spread in less than half as many directions as before.
bool sr_feature_spread_narrower(const SrFeatureSpread *spread);
void sr_feature_spread_text(const SrFeatureSpread *spread, SrText *out); // a table and a sentence
void sr_feature_spread_json(const SrFeatureSpread *spread, SrText *out); // one line

#endif
