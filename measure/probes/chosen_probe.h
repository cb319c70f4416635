// Linear probe whose penalty is chosen without looking at the test rows.  Logistic regression
// (measure/probes/logreg.h) is fitted with several costs on four fifths of the training rows, and
// judged on the fifth that is held out.  The best cost is fitted again on all training rows.  If
// there are more than SR_CHOSEN_PROBE_ROWS rows, about that many, drawn at random, take part in the
// choice.
//
// A probe with one fixed penalty compares features unfairly.  Raw pixels need a penalty that is
// thousands of times that of a pooled layer, and look weaker than they are with less.
#ifndef SR_MEASURE_PROBES_CHOSEN_PROBE_H
#define SR_MEASURE_PROBES_CHOSEN_PROBE_H

#include "measure/row_view.h"

#define SR_CHOSEN_PROBE_FOLD 5      // one row of each 5 is held out
#define SR_CHOSEN_PROBE_MAX_ITER 50 // iterations of each fit
#define SR_CHOSEN_PROBE_ROWS 10000  // most rows of the choice, on average

typedef struct {
    double cost;     // C of scikit-learn, one of 1e-5, 1e-4, ..., 1
    double held_out; // accuracy on the rows held out, at that cost, in per cent
    double test;     // accuracy on the test rows after the fit on all training rows, in per cent
} SrChosenProbe;

// Fits and judges the probe.  Images have one label each; neither matrix changes.  SR_ERR_CONFIG:
// no class has two rows that take part, or there are fewer than two classes.
SrStatus sr_chosen_probe(const SrMatrix *train, const SrMatrix *test, SrChosenProbe *out);

// Chooses the cost alone and fills `cost` and `held_out`.
SrStatus sr_chosen_probe_cost(const SrRowView *rows, SrChosenProbe *out);

#endif
