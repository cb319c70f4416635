// Logistic regression of all classes at once: softmax, cross entropy, an L2 penalty (what scikit-learn's
// LogisticRegression fits with lbfgs, and so VISSL's low_shot_test).  One class against the rest is liblinear.h.
//
// Minimises  C sum_i -log softmax(W x_i + b)[y_i] + |W|^2 / 2;  the bias is not penalised.  Of two classes scikit-learn
// fits one vector: the same minimum is that of two opposite ones under twice the penalty, which is what is done.
#ifndef SR_MEASURE_SOFTMAX_REGRESSION_H
#define SR_MEASURE_SOFTMAX_REGRESSION_H

#include "measure/matrix.h"

// features: labels 0 .. classes - 1, none missing.  cost: C.  w (classes, d + 1), the bias last: filled; classes that
// no row has never win.  Ends at scikit-learn's relative decrease, or after max_iter iterations.  The same bits for
// any number of threads.
SrStatus sr_softmax_train(const SrMatrix *features, int classes, double cost, int max_iter,
                          double *w);

#endif
