// Cholesky's factor and its inverse, by rows.
#include "kernels/core/cholesky.h"

#include <math.h>
#include <stdint.h>

static const double smallest = 1e-30;

void sr__cholesky(double *A, int n) {
    for (int64_t r = 0; r < n; r++) {
        for (int64_t c = 0; c <= r; c++) {
            double s = A[r * n + c];
            for (int64_t k = 0; k < c; k++)
                s -= A[r * n + k] * A[c * n + k];
            A[r * n + c] = r == c ? sqrt(fmax(s, smallest)) : s / A[c * n + c];
        }
        for (int64_t c = r + 1; c < n; c++)
            A[r * n + c] = 0;
    }
}

void sr__lower_inverse(const double *L, double *W, int n) {
    for (int64_t c = 0; c < n; c++)
        for (int64_t r = 0; r < n; r++) {
            double s = r == c;
            for (int64_t k = c; k < r; k++)
                s -= L[r * n + k] * W[k * n + c];
            W[r * n + c] = r < c ? 0 : s / L[r * n + r];
        }
}
