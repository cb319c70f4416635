// What the evaluation of a run says about its training: figures of the trained trunk next to those that cost nothing.
#ifndef SR_PAGES_RUN_VERDICT_H
#define SR_PAGES_RUN_VERDICT_H

#include "pages/run_history.h"

typedef enum {
    SR_VERDICT_NONE,    // the run was not evaluated, or its images have no labels
    SR_VERDICT_HELPED,  // better than the untrained trunk, raw pixels and the commonest class
    SR_VERDICT_PIXELS,  // better than the untrained trunk, and no better than one of the others
    SR_VERDICT_NOTHING, // no better than the untrained trunk
} SrVerdict;

// The verdict, and in `out` what it rests on, in a sentence or two; nothing for SR_VERDICT_NONE.  The linear probe of the
// best layer decides, as in the table of layers, else kNN.  Better means by more than two standard errors.
SrVerdict sr_run_verdict(const SrHistory *history, SrText *out);

#endif
