// Runs a trunk that never learns in a plan of its own, separate from the heads that learn.  The
// plan computes only the features that the heads read, with batch norms folded and without
// gradients.
#ifndef SR_TRAINER_MODEL_FROZEN_TRUNK_H
#define SR_TRAINER_MODEL_FROZEN_TRUNK_H

#include "graph/extract.h"
#include "trainer/model/model.h"

typedef struct {
    SrOutputGraph whole;            // the whole trunk, as the model built it
    int batch, n;                   // images per run, number of features
    const SrMachine *machine;       // the model's, which must outlive this struct
    bool bf16;                      // AMP_PARAMS.USE_AMP of the model
    SrShape shape[SR_HEAD_MAX_OUT]; // (batch, ...) of each feature
    // `whole` cut down to the features, with norms folded; the plan is compiled from it
    SrExtraction folded;
    SrPlan *plan;
} SrFrozenTrunk;

// Builds the graph: afterwards shapes are known, and the model's table has the parameters.
SrStatus sr_frozen_trunk_build(SrModel *model, int batch, int h, int w, SrFrozenTrunk *out);
// Compiles the plan.  The parameters must have their final values: folding copies them.
SrStatus sr_frozen_trunk_compile(SrFrozenTrunk *trunk);
void sr_frozen_trunk_close(SrFrozenTrunk *trunk); // legal for a zeroed struct

// Computes the features of images (n, h, w, 3), n <= batch.  Output rows from n on are undefined.
void sr_frozen_trunk_run(SrFrozenTrunk *trunk, const float *images, int n);
const float *sr_frozen_trunk_output(SrFrozenTrunk *trunk, int i); // shape[i], the plan's
// Returns the floats per image in feature i.
int64_t sr_frozen_trunk_row(const SrFrozenTrunk *trunk, int i);

#endif
