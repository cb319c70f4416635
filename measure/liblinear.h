// The door to liblinear (Fan et al., "LIBLINEAR: a library for large linear classification", JMLR 2008; Debian's
// liblinear-dev): binary linear classifiers on rows of features.  Everything with more classes is one of these a class.
//
// Bits do not depend on the number of threads: the primal solvers (a trust-region Newton method) draw nothing, and
// the coordinate-descent ones, which shuffle with the C library's rand(), run one after the other, each from the same
// seed.
#ifndef SR_MEASURE_LIBLINEAR_H
#define SR_MEASURE_LIBLINEAR_H

#include "measure/matrix.h"

typedef enum {
    SR_LINEAR_LOGISTIC,      // L2 penalty, logistic loss
    SR_LINEAR_SQUARED_HINGE, // L2 penalty, squared hinge loss
    SR_LINEAR_HINGE,         // L2 penalty, hinge loss; shuffles
    SR_LINEAR_L1,            // L1 penalty, squared hinge loss; shuffles
} SrLinearKind;

// Features as liblinear wants them: 16 bytes a number that is not zero.  With a constant 1 as last feature: the bias
// is penalised like the rest (intercept_scaling 1 of sklearn's LinearSVC).
typedef struct SrLinearRows SrLinearRows;
SrStatus sr_linear_rows_new(const SrMatrix *features, SrLinearRows **out);
void sr_linear_rows_free(SrLinearRows *rows);

// One binary problem.  y is over all rows: 1, -1, or 0 for rows that are left out.
typedef struct {
    const int8_t *y;        // (rows)
    double cost;            // C
    double positive_weight; // the cost of rows with y = 1 is this times C
    double *w;              // (d + 1), the bias last: filled
} SrLinearProblem;

// Trains them all, over the threads where the solver allows it.  tolerance: sklearn's tol.  A problem of one class
// gets w = 0 and the bias +1 or -1.
SrStatus sr_linear_train(const SrLinearRows *rows, SrLinearKind kind, double tolerance,
                         SrLinearProblem *problems, int n);

// scores (features->n, n): w . x + bias; w: n rows of (d + 1).
SrStatus sr_linear_scores(const SrMatrix *features, const double *w, int n, float *scores);

#endif
