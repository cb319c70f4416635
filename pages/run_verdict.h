// Judges the training of a run: figures of its trunk compared with those that cost nothing.
#ifndef SR_PAGES_RUN_VERDICT_H
#define SR_PAGES_RUN_VERDICT_H

#include "pages/run_history.h"

typedef enum {
    SR_VERDICT_NONE,    // the run was not evaluated, or its images have no labels
    SR_VERDICT_HELPED,  // better than the untrained trunk, raw pixels and the commonest class
    SR_VERDICT_PIXELS,  // better than the untrained trunk, and no better than one of the others
    SR_VERDICT_NOTHING, // no better than the untrained trunk
} SrVerdict;

// Returns the verdict and writes it with its figures to `out`; writes nothing for SR_VERDICT_NONE.
// The linear probe of the best layer decides, as in the table of layers; without it kNN does.
// Better means by more than two standard errors.
SrVerdict sr_run_verdict(const SrHistory *history, SrText *out);

#endif
