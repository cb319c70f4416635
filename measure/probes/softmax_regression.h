// Logistic regression of all classes at once: softmax, cross entropy and an L2 penalty.  This is
// what scikit-learn's LogisticRegression fits with lbfgs, and so VISSL's low_shot_test.  The
// other form, one class against the rest, is in measure/probes/liblinear.h.
//
// Minimises  C sum_i -log softmax(W x_i + b)[y_i] + |W|^2 / 2.  The bias is not penalised.
// For two classes scikit-learn fits one vector.  Two opposite vectors under twice the penalty
// have the same minimum, and are fitted here.
#ifndef SR_MEASURE_PROBES_SOFTMAX_REGRESSION_H
#define SR_MEASURE_PROBES_SOFTMAX_REGRESSION_H

#include "measure/row_view.h"

// Trains w (classes, d + 1), the bias last.  rows: read by blocks, once per iteration; each has a
// label from 0 to classes - 1.  cost: C.  A class without rows never wins.  Ends at scikit-learn's
// relative decrease of the loss, or after max_iter iterations.  The bits of w do not depend on the
// number of threads.
SrStatus sr_softmax_train(const SrRowView *rows, int classes, double cost, int max_iter, double *w);

#endif
