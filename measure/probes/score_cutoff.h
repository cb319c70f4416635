// Finds where a ranking of suspicious rows ends, from the scores alone.
//
// Scores lie in (0, 1), and small ones are suspicious.  Their logits are taken to follow a logistic
// distribution in the bulk; it is fitted to two low quantiles.  The cut-off is the logit below
// which a sound score falls with probability `significance` * `share`.  This is SelfClean's
// automatic mode (Groeger et al., NeurIPS 2024, arXiv 2305.17048, section 3.3).
#ifndef SR_MEASURE_PROBES_SCORE_CUTOFF_H
#define SR_MEASURE_PROBES_SCORE_CUTOFF_H

#include "base/status.h"

#include <stdint.h>

typedef struct {
    double share;        // guessed upper bound of the share of faults: 0.01 in the paper; (0, 0.5)
    double significance; // expected share of false alarms among `share`: 0.05 in the paper
} SrCutoffOptions;

// Computes the cut-off: scores below it are faults.  Scores that are not inside (0, 1) do not take
// part in the fit.  *out: 0 if fewer than 20 scores are left, so that none is a fault.
SrStatus sr_score_cutoff(const SrCutoffOptions *options, const float *score, int64_t n,
                         double *out);

#endif
