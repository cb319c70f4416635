// muon: momentum whose matrices are made orthogonal (Jordan et al., "Muon: an optimizer for hidden
// layers in neural networks", 2024).  The options and the rule are those of torch.optim.Muon, whose
// defaults for momentum and nesterov are 0.95 and True.
//   m = mu * m + (1 - mu) * g
//   d = m                               (nesterov: (1 - mu) * g + mu * m)
//   x = d / (||d|| + eps)
//   ns_steps times: x = q x with q = a + b y + c y y and y = x x^T
//   p = p * (1 - lr * wd) - lr * factor * x
// torch.optim.Muon takes matrices alone.  Here a kernel of a convolution is a matrix with a row for
// each output.  The only singular value of a vector is its norm, so x needs no step for biases,
// weights of norms, and matrices of one row or column.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"
#include "trainer/optim/momentum.h"
#include "trainer/optim/norms.h"
#include "trainer/optim/optimizer.h"

enum { ORIGINAL, MATCH_RMS_ADAMW }; // values of adjust_lr_fn

typedef struct {
    double momentum, eps;
    bool nesterov;
    SrDoubles ns_coefficients; // (3) a, b, c
    int ns_steps;
    int adjust_lr_fn;
} Muon;

#define FIELD(f) offsetof(Muon, f)
static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.9", 0, 1, .help = "Momentum, below 1."},
    {"nesterov", SR_OPT_BOOL, FIELD(nesterov), "False", .help = "Use Nesterov's momentum."},
    {"eps", SR_OPT_FLOAT, FIELD(eps), "1e-8", 0, 1, .help = "Number added to the denominator."},
    {"ns_coefficients", SR_OPT_FLOATS, FIELD(ns_coefficients), "[3.4445, -4.775, 2.0315]",
     .help = "Coefficients of x, x^3 and x^5 in a step of Newton and Schulz."},
    {"ns_steps", SR_OPT_INT, FIELD(ns_steps), "5", 1, 99,
     .help = "Number of steps of Newton and Schulz."},
    {"adjust_lr_fn", SR_OPT_ENUM, FIELD(adjust_lr_fn), "original",
     .choices = "original|match_rms_adamw",
     .help =
         "Factor on the rate of a matrix with A rows and B columns.  original: "
         "sqrt(max(1, A / B)).  match_rms_adamw: 0.2 sqrt(max(A, B)), with which updates are as "
         "large as adamw's."},
    SR_OPTION_END,
};
#undef FIELD

static int n_states(const void *params) {
    (void)params;
    return 1;
}

static SrStatus check(const void *params) {
    const Muon *o = params;
    if (o->ns_coefficients.n != 3)
        SR_FAIL(SR_ERR_CONFIG,
                "OPTIMIZER.ns_coefficients has %d numbers, but muon needs three, as "
                "in [3.4445, -4.775, 2.0315]",
                o->ns_coefficients.n);
    return sr__momentum_check("muon", o->momentum, o->nesterov);
}

// ---- the direction

static int shorter_side(int rows, int columns) { return rows < columns ? rows : columns; }

// Returns the number of steps of Newton and Schulz that one product x x^T serves.  Its rounding
// errors, near 1e-7, grow by a^2 in each step.  They may grow 268,000 (e^12.5) times, which is five
// steps with the default a, so that they stay below 0.03.
static int steps_of_a_square(const Muon *o) {
    double growth = 2 * log(fabs(o->ns_coefficients.v[0]));
    if (growth * o->ns_steps <= 12.5)
        return o->ns_steps;
    return growth < 12.5 ? (int)(12.5 / growth) : 1;
}

enum {
    PANEL = 64, // columns of a symmetric product that are computed together
    TILE = 16,  // rows and columns of it that are copied together: a cache line each
};

// The work space has x, the next x, and four square matrices.  Half of a symmetric product is
// computed.
static SrOptimWork work(const void *params, int rows, int columns) {
    const Muon *o = params;
    int64_t n = (int64_t)rows * columns, side = shorter_side(rows, columns);
    if (side == 1)
        return (SrOptimWork){2 * n, 0};
    int64_t squares = (o->ns_steps - 1) / steps_of_a_square(o) + 1;
    int64_t products = 4 * o->ns_steps - 3 * squares; // of two square matrices
    return (SrOptimWork){2 * n + 4 * side * side,
                         side * (3 * squares * n + products * side * side)};
}

typedef struct {
    const SrOptimUpdate *update;
    float *value, *momentum, *x;
    const float *grad;
    float *squares; // (rows) sums over a row of d, in the memory of the next x
    float scale, keep, step;
} Muons;

// Moves a row of the momentum, and writes its direction d to x.
static void momentum_body(void *arg, int64_t row, int thread) {
    (void)thread;
    Muons *a = arg;
    const Muon *o = a->update->params;
    int64_t n = a->update->columns;
    float mu = (float)o->momentum, rest = (float)(1 - o->momentum);
    float *restrict m = a->momentum + row * n, *restrict x = a->x + row * n;
    const float *restrict g = a->grad + row * n;
    SR_SIMD
    for (int64_t i = 0; i < n; i++) {
        m[i] = mu * m[i] + rest * g[i];
        x[i] = o->nesterov ? rest * g[i] + mu * m[i] : m[i];
    }
    a->squares[row] = (float)sr__sum_squares(x, n);
}

static void scale_body(void *arg, int64_t row, int thread) {
    (void)thread;
    Muons *a = arg;
    int64_t n = a->update->columns;
    float *restrict x = a->x + row * n;
    SR_SIMD
    for (int64_t i = 0; i < n; i++)
        x[i] *= a->scale;
}

static void update_body(void *arg, int64_t row, int thread) {
    (void)thread;
    Muons *a = arg;
    int64_t n = a->update->columns;
    float *restrict p = a->value + row * n;
    const float *restrict x = a->x + row * n;
    SR_SIMD
    for (int64_t i = 0; i < n; i++)
        p[i] = a->keep * p[i] - a->step * x[i];
}

typedef struct {
    float *c; // (side, side)
    int64_t side;
} Square;

// Copies TILE rows of the lower triangle to the columns above the diagonal.
static void mirror_body(void *arg, int64_t tile, int thread) {
    (void)thread;
    const Square *a = arg;
    int64_t side = a->side, start = tile * TILE, end = SR_MIN(start + TILE, side);
    for (int64_t column = 0; column < end; column += TILE)
        for (int64_t i = start; i < end; i++)
            for (int64_t j = column; j < SR_MIN(column + TILE, i); j++)
                a->c[j * side + i] = a->c[i * side + j];
}

// Computes c (side, side) = op(A) op(B), a product that is known to be symmetric, from its lower
// triangle.  op(A) is (side, length).
static void symmetric_product(bool ta, bool tb, int side, int length, const float *a, int lda,
                              const float *b, int ldb, float *c) {
    for (int64_t j = 0; j < side; j += PANEL) {
        int left = side - (int)j;
        sr_gemm(ta, tb, left, SR_MIN(PANEL, left), length, 1, a + (ta ? j : j * lda), lda,
                b + (tb ? j * ldb : j), ldb, 0, c + j * side + j, side);
    }
    sr_parallel_for((side + TILE - 1) / TILE, mirror_body, &(Square){c, side});
}

static void square_product(int side, const float *a, const float *b, float *c) {
    symmetric_product(false, false, side, side, a, side, b, side, c);
}

// Computes q = a + b y + c y y, all of them (side, side).
static void polynomial(const Muon *o, int side, const float *y, float *q) {
    float a = (float)o->ns_coefficients.v[0], b = (float)o->ns_coefficients.v[1],
          c = (float)o->ns_coefficients.v[2];
    square_product(side, y, y, q);
    for (int64_t i = 0; i < (int64_t)side * side; i++)
        q[i] = b * y[i] + c * q[i];
    for (int64_t i = 0; i < side; i++)
        q[i * side + i] += a;
}

// Returns the product of the q of some steps that begin with y, one of the four matrices in space,
// whose first is y.  Polynomials of y commute, so every product here is symmetric, and the next y
// is q y q: x itself, which is much longer, takes no part.
static float *product_of_steps(const Muon *o, int steps, int side, float *space) {
    int64_t squared = (int64_t)side * side;
    float *y = space, *q = y + squared, *all = q + squared, *free = all + squared;
    for (int k = 0; k < steps; k++) {
        polynomial(o, side, y, q);
        if (k == 0) {
            memcpy(all, q, sizeof(float) * (size_t)squared);
        } else {
            square_product(side, q, all, free);
            float *old = all;
            all = free;
            free = old;
        }
        if (k + 1 < steps) {
            square_product(side, q, y, free);
            square_product(side, free, q, y);
        }
    }
    return all;
}

// Makes the rows of x orthogonal, or its columns where these are fewer.  x, next: (rows, columns);
// space: four square matrices of the shorter side.  Returns x or next, whichever has the result.
static float *orthogonalize(const Muon *o, int rows, int columns, float *x, float *next,
                            float *space) {
    bool wide = rows <= columns;
    int side = shorter_side(rows, columns), length = wide ? columns : rows;
    int steps = steps_of_a_square(o);
    for (int done = 0; done < o->ns_steps; done += steps) {
        symmetric_product(!wide, wide, side, length, x, columns, x, columns, space);
        const float *q = product_of_steps(o, SR_MIN(steps, o->ns_steps - done), side, space);
        if (wide)
            sr_gemm(false, false, rows, columns, side, 1, q, side, x, columns, 0, next, columns);
        else
            sr_gemm(false, false, rows, columns, side, 1, x, columns, q, side, 0, next, columns);
        float *old = x;
        x = next;
        next = old;
    }
    return x;
}

static double lr_factor(const Muon *o, double rows, double columns) {
    return o->adjust_lr_fn == ORIGINAL ? sqrt(fmax(1, rows / columns))
                                       : 0.2 * sqrt(fmax(rows, columns));
}

static void update_whole(const SrOptimUpdate *u, float *value, const float *grad,
                         float *const *state, float *space) {
    const Muon *o = u->params;
    int64_t n = (int64_t)u->rows * u->columns;
    float *next = space + n;
    Muons a = {.update = u,
               .value = value,
               .momentum = state[0],
               .x = space,
               .grad = grad,
               .squares = next,
               .keep = (float)(1 - u->lr * u->weight_decay),
               .step = (float)(u->lr * lr_factor(o, u->rows, u->columns))};
    sr_parallel_for(u->rows, momentum_body, &a);
    double squares = 0;
    for (int r = 0; r < u->rows; r++)
        squares += a.squares[r];
    a.scale = (float)(1 / (sqrt(squares) + o->eps));
    sr_parallel_for(u->rows, scale_body, &a);
    if (shorter_side(u->rows, u->columns) > 1)
        a.x = orthogonalize(o, u->rows, u->columns, a.x, next, next + n);
    sr_parallel_for(u->rows, update_body, &a);
}

static const char *const examples[] = {
    "{momentum: 0.95, nesterov: True}",
    "{adjust_lr_fn: match_rms_adamw, ns_steps: 4, ns_coefficients: [2, -1.5, 0.5]}", NULL};

const SrOptimizer sr_optimizer_muon = {
    .name = "muon",
    .help = "Momentum whose matrices are made orthogonal (Newton-Schulz).",
    .options = options,
    .params_bytes = sizeof(Muon),
    .examples = examples,
    .state_names = {"momentum_buffer"},
    .n_states = n_states,
    .check = check,
    .update_whole = update_whole,
    .work = work,
};
