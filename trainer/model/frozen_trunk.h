// A trunk that never moves, running apart from what learns above it: cut down to the features that
// the heads read, batch norms folded, no gradients.
#ifndef SR_TRAINER_MODEL_FROZEN_TRUNK_H
#define SR_TRAINER_MODEL_FROZEN_TRUNK_H

#include "graph/extract.h"
#include "trainer/model/model.h"

typedef struct {
    SrOutputGraph whole;            // the graph of the whole trunk, as the model built it
    int batch, n;                   // images a run, features
    const SrMachine *machine;       // the model's, which outlives this
    bool bf16;                      // AMP_PARAMS.USE_AMP of the model
    SrShape shape[SR_HEAD_MAX_OUT]; // of each feature, (batch, ...)
    SrExtraction
        folded; // `whole` cut down to the features, norms folded: what the plan is compiled of
    SrPlan *plan;
} SrFrozenTrunk;

// The graph alone: shapes are known, and the parameters are in the model's table.
SrStatus sr_frozen_trunk_build(SrModel *model, int batch, int h, int w, SrFrozenTrunk *out);
// Once the parameters have the values they will keep.
SrStatus sr_frozen_trunk_compile(SrFrozenTrunk *trunk);
void sr_frozen_trunk_close(SrFrozenTrunk *trunk); // a zeroed one is fine

// images: (n, h, w, 3), n <= batch.  Rows of outputs beyond n mean nothing.
void sr_frozen_trunk_run(SrFrozenTrunk *trunk, const float *images, int n);
const float *sr_frozen_trunk_output(SrFrozenTrunk *trunk, int i); // shape[i]
// Numbers of feature i an image.
int64_t sr_frozen_trunk_row(const SrFrozenTrunk *trunk, int i);

#endif
