// A linear probe whose penalty is chosen without looking at the test: logistic regression (logreg.h) of several costs on
// four fifths of the training rows, judged on the other fifth; the best is fitted once more on all of them.  Of more
// than SR_CHOSEN_PROBE_ROWS rows about so many, drawn at random, take part in the choice.
//
// A probe of one fixed penalty compares features unfairly: raw pixels want thousands of times the penalty of a
// pooled layer, and with less they look weaker than they are.
#ifndef SR_MEASURE_CHOSEN_PROBE_H
#define SR_MEASURE_CHOSEN_PROBE_H

#include "measure/matrix.h"

#define SR_CHOSEN_PROBE_FOLD 5      // one row in so many is held out
#define SR_CHOSEN_PROBE_MAX_ITER 50 // of each fit
#define SR_CHOSEN_PROBE_ROWS 10000

typedef struct {
    double cost;     // C of scikit-learn, one of 1e-5, 1e-4 ... 1
    double held_out; // per cent of the rows held out, at that cost
    double test;     // per cent of the test rows, of the fit on all training rows
} SrChosenProbe;

// One label an image.  Changes neither side.
SrStatus sr_chosen_probe(const SrMatrix *train, const SrMatrix *test, SrChosenProbe *out);

#endif
