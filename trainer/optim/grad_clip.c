// Gradient clipping by the norm over all gradients together (Pascanu et al., "On the difficulty of
// training recurrent neural networks", 2013; torch.nn.utils.clip_grad_norm_).
//
// Each gradient is cut into pieces whose number depends on its size alone.  Partial sums are
// added in the order of the pieces, so the bits do not depend on threads.
#include "trainer/optim/grad_clip.h"

#include <math.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "trainer/optim/norms.h"

enum { MIN_PIECE = 16384, MAX_PIECES = 256 };

typedef struct {
    float *grad; // (n)
    int64_t n, piece;
    double power; // power of the norm
    float factor; // factor on gradients, in scale_body
    double partial[MAX_PIECES];
} Work;

// Returns the sum of |x|^power over x (n).  power INFINITY: the largest |x|, or NaN if x has one.
static double reduce(const float *x, int64_t n, double power) {
    if (power == 2)
        return sr__sum_squares(x, n);
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isinf(power))
            total += pow(fabs((double)x[i]), power);
        else if (!(fabs((double)x[i]) <= total)) // also true of NaN, which then stays
            total = isnan(total) ? total : fabs((double)x[i]);
    }
    return total;
}

static void reduce_body(void *arg, int64_t i, int thread) {
    (void)thread;
    Work *w = arg;
    int64_t from = i * w->piece;
    w->partial[i] = reduce(w->grad + from, SR_MIN(w->piece, w->n - from), w->power);
}

static void scale_body(void *arg, int64_t i, int thread) {
    (void)thread;
    const Work *w = arg;
    float *restrict g = w->grad + i * w->piece;
    int64_t n = SR_MIN(w->piece, w->n - i * w->piece);
    SR_SIMD
    for (int64_t k = 0; k < n; k++)
        g[k] *= w->factor;
}

// Cuts a gradient and returns the number of pieces, at most MAX_PIECES, so that their sums fit in
// Work.
static int64_t cut(Work *w, const SrParam *p) {
    w->grad = p->grad;
    w->n = sr_shape_count(p->shape);
    w->piece = SR_MAX((int64_t)MIN_PIECE, (w->n + MAX_PIECES - 1) / MAX_PIECES);
    return (w->n + w->piece - 1) / w->piece;
}

// Adds a part, or takes the maximum for power INFINITY.  NaN must win there, and fmax would drop
// it.
static double combine(double total, double part, double power) {
    if (!isinf(power))
        return total + part;
    return isnan(total) || isnan(part) ? NAN : fmax(total, part);
}

double sr_grad_clip(SrParams *params, const bool *skip, double norm_type, double max_norm) {
    Work w = {.power = norm_type};
    double total = 0;
    int count = sr_params_count(params);
    for (int i = 0; i < count; i++) {
        const SrParam *p = sr_params_at(params, i);
        if (!p->trainable || p->merged || !p->grad || (skip && skip[i]))
            continue;
        int64_t pieces = cut(&w, p);
        sr_parallel_for(pieces, reduce_body, &w);
        for (int64_t k = 0; k < pieces; k++)
            total = combine(total, w.partial[k], norm_type);
    }
    double norm = isinf(norm_type) ? total : pow(total, 1 / norm_type);
    double factor = max_norm / (norm + 1e-6);
    if (!isfinite(norm) || factor >= 1)
        return norm;
    w.factor = (float)factor;
    for (int i = 0; i < count; i++) {
        const SrParam *p = sr_params_at(params, i);
        if (p->trainable && !p->merged && p->grad && !(skip && skip[i]))
            sr_parallel_for(cut(&w, p), scale_body, &w);
    }
    return norm;
}
