// Computes statistics and differences in pieces of PIECE elements, so that no tensor is held twice.
#include "formats/stats.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "formats/weights/weights.h"

enum { PIECE = 1024 };

void sr_tensor_stats(const SrTensor *t, SrTensorStats *out) {
    double x[PIECE], sum = 0, squares = 0, mean = 0, spread = 0;
    int64_t n = sr_shape_count(t->shape), finite = 0;
    *out = (SrTensorStats){.n = n, .min = INFINITY, .max = -INFINITY};
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t piece = SR_MIN(n - at, PIECE);
        sr_weights_doubles(t, at, piece, x);
        for (int64_t i = 0; i < piece; i++) {
            if (!isfinite(x[i])) {
                *(isnan(x[i]) ? &out->nan : &out->infinite) += 1;
                continue;
            }
            finite++;
            sum += x[i];
            squares += x[i] * x[i];
            double delta = x[i] - mean; // Welford's update: no cancellation when the mean is large
            mean += delta / (double)finite;
            spread += delta * (x[i] - mean);
            out->zeros += x[i] == 0;
            out->min = fmin(out->min, x[i]);
            out->max = fmax(out->max, x[i]);
        }
    }
    if (finite == 0) {
        out->min = out->max = 0;
        return;
    }
    out->mean = sum / (double)finite;
    out->deviation = sqrt(spread / (double)finite);
    out->norm = sqrt(squares);
}

void sr_tensor_diff(const SrTensor *a, const SrTensor *b, SrTensorDiff *out) {
    double x[PIECE], y[PIECE], dot = 0, xx = 0, yy = 0, scale = 0;
    int64_t n = sr_shape_count(a->shape);
    size_t bytes = (size_t)n * sr_dtype_bytes(a->dtype);
    *out = (SrTensorDiff){.cosine = 1};
    out->same_bits = a->dtype == b->dtype && (bytes == 0 || memcmp(a->data, b->data, bytes) == 0);
    if (out->same_bits)
        return;
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t piece = SR_MIN(n - at, PIECE);
        sr_weights_doubles(a, at, piece, x);
        sr_weights_doubles(b, at, piece, y);
        for (int64_t i = 0; i < piece; i++) {
            bool equal = x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
            double d = equal ? 0 : fabs(x[i] - y[i]);
            out->largest = fmax(out->largest, isnan(d) ? INFINITY : d);
            if (!isfinite(x[i]) || !isfinite(y[i]))
                continue;
            scale = fmax(scale, fabs(x[i]));
            dot += x[i] * y[i];
            xx += x[i] * x[i];
            yy += y[i] * y[i];
        }
    }
    out->relative = out->largest == 0 ? 0 : out->largest / scale;
    if (xx > 0 || yy > 0)
        out->cosine = xx > 0 && yy > 0 ? dot / (sqrt(xx) * sqrt(yy)) : 0;
}

bool sr_tensor_close(const SrTensor *a, const SrTensor *b, double rtol, double atol) {
    double x[PIECE], y[PIECE];
    int64_t n = sr_shape_count(a->shape);
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t piece = SR_MIN(n - at, PIECE);
        sr_weights_doubles(a, at, piece, x);
        sr_weights_doubles(b, at, piece, y);
        for (int64_t i = 0; i < piece; i++) {
            bool equal = x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
            if (!equal && !(fabs(x[i] - y[i]) <= atol + rtol * fabs(y[i])))
                return false;
        }
    }
    return true;
}
