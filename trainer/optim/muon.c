// muon: momentum whose matrices are made orthogonal (Jordan et al., "Muon: an optimizer for hidden
// layers in neural networks", 2024).  Options and order of operations are those of
// torch.optim.Muon, whose defaults for momentum and nesterov are 0.95 and True.
//   m = mu * m + (1 - mu) * g
//   d = m                               (nesterov: (1 - mu) * g + mu * m)
//   x = d / (||d|| + eps)
//   ns_steps times: x = a * x + (b * y + c * y y) x with y = x x^T
//   p = p * (1 - lr * wd) - lr * factor * x
// torch.optim.Muon takes matrices alone.  Here a kernel of a convolution is a matrix with a row for
// each output.  The only singular value of a vector is its norm, so x needs no step for biases,
// weights of norms, and matrices of one row or column.
#include <math.h>
#include <stddef.h>

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

// The work space has x, the next x, and two square matrices of products.
static SrOptimWork work(const void *params, int rows, int columns) {
    const Muon *o = params;
    int64_t n = (int64_t)rows * columns, side = shorter_side(rows, columns);
    if (side == 1)
        return (SrOptimWork){2 * n, 0};
    return (SrOptimWork){2 * (n + side * side), 2 * o->ns_steps * side * (2 * n + side * side)};
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

// Makes the rows of x orthogonal, or its columns where these are fewer.  x, next: (rows, columns);
// y, sum: square matrices of the shorter side.  Returns x or next, whichever has the result.
static float *orthogonalize(const Muon *o, int rows, int columns, float *x, float *next, float *y,
                            float *sum) {
    bool wide = rows <= columns;
    int side = shorter_side(rows, columns), length = wide ? columns : rows;
    int64_t squared = (int64_t)side * side;
    float a = (float)o->ns_coefficients.v[0], b = (float)o->ns_coefficients.v[1],
          c = (float)o->ns_coefficients.v[2];
    for (int k = 0; k < o->ns_steps; k++) {
        sr_gemm(!wide, wide, side, side, length, 1, x, columns, x, columns, 0, y, side);
        sr_gemm(false, false, side, side, side, c, y, side, y, side, 0, sum, side);
        for (int64_t i = 0; i < squared; i++)
            sum[i] += b * y[i];
        for (int64_t i = 0; i < side; i++)
            sum[i * side + i] += a;
        if (wide)
            sr_gemm(false, false, rows, columns, side, 1, sum, side, x, columns, 0, next, columns);
        else
            sr_gemm(false, false, rows, columns, side, 1, x, columns, sum, side, 0, next, columns);
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
    int side = shorter_side(u->rows, u->columns);
    float *next = space + n, *y = next + n, *sum = y + (int64_t)side * side;
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
    if (side > 1)
        a.x = orthogonalize(o, u->rows, u->columns, a.x, next, y, sum);
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
