// Rows of several views of each image, (V N, D), view-major: row v N + n is view v of image n.
#ifndef SR_KERNELS_LOSSES_VIEWS_VIEWS_H
#define SR_KERNELS_LOSSES_VIEWS_VIEWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/plugin/option.h"
#include "base/status.h"
#include "base/tensor.h"

typedef struct {   // frobenius_log, sliced_wasserstein, view_agreement
    int num_views; // views per image
} SrViewsParams;

// Row of an option table, for a struct with `int num_views`.
#define SR_VIEWS_ROW(Params)                                                   \
    {                                                                          \
        "num_views", SR_OPT_INT, offsetof(Params, num_views), "2", 1, 1 << 16, \
            .help = "Number of views per image."                               \
    }

// infer of a loss over such rows: a scalar.  SR_ERR_CONFIG, which names `op`: other shapes.
SrStatus sr__views_infer(const char *op, const SrShape *x, int n_in, int views, SrShape *y);
// Returns the mean over the first `views` views at one place of x's first view.
//   part  numbers of a view, N D
double sr__views_mean(const float *x, int views, int64_t part, int64_t at);

#define SR_VIEWS_MIN_DEVIATION 1e-6
// Writes mean and deviation of each view's columns, (V, D) each.  The deviation is divided by N and
// at least SR_VIEWS_MIN_DEVIATION.
void sr__views_moments(SrTensor x, int views, float *mean, float *deviation);

#endif
