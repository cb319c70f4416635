// Binary linear classifiers on rows of features, trained by liblinear (Fan et al., "LIBLINEAR: a
// library for large linear classification", JMLR 2008; Debian's liblinear-dev).  Problems with more
// classes train one classifier per class.
//
// liblinear uses memory without looking whether it got it, so it works in child processes
// (measure/probes/children.h).  The bits of a result do not depend on their number.  The primal
// solvers, a trust-region Newton method, draw nothing.  The coordinate-descent solvers shuffle with
// the C library's rand(), from the same seed for each problem.
#ifndef SR_MEASURE_PROBES_LIBLINEAR_H
#define SR_MEASURE_PROBES_LIBLINEAR_H

#include "measure/matrix.h"

typedef enum {
    SR_LINEAR_LOGISTIC,      // L2 penalty, logistic loss
    SR_LINEAR_SQUARED_HINGE, // L2 penalty, squared hinge loss
    SR_LINEAR_HINGE,         // L2 penalty, hinge loss; shuffles
    SR_LINEAR_L1,            // L1 penalty, squared hinge loss; shuffles
} SrLinearKind;

// Features in liblinear's format: 16 bytes for each number that is not zero.  A constant 1 is the
// last feature, so the bias is penalised like the weights (intercept_scaling=1 of sklearn's
// LinearSVC).
typedef struct SrLinearRows SrLinearRows;
// Copies the features.  The caller frees *out.  SR_ERR_MEMORY: the copy does not fit in free
// memory.
SrStatus sr_linear_rows_new(const SrMatrix *features, SrLinearRows **out);
void sr_linear_rows_free(SrLinearRows *rows);

// One binary problem.  The caller owns y and w.
typedef struct {
    const int8_t *y;        // (rows) 1, -1; 0: the row is left out
    double cost;            // C
    double positive_weight; // factor on C for rows with y = 1
    double *w;              // (d + 1) result, the bias last
} SrLinearProblem;

// Trains all n problems, in as many processes as there are threads.  tolerance: sklearn's tol.  A
// problem whose rows have one class gets weights 0 and the bias 1 or -1.  SR_ERR_MEMORY: memory is
// out, in this process or in one of the children.
SrStatus sr_linear_train(const SrLinearRows *rows, SrLinearKind kind, double tolerance,
                         SrLinearProblem *problems, int n);

// Computes scores (features->n, n) = w . x + bias, in single precision.  w: (n, d + 1).
SrStatus sr_linear_scores(const SrMatrix *features, const double *w, int n, float *scores);

#endif
