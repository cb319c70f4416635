// Softmax regression.  Loss and gradient come from single-precision products over parts of the
// rows, which are summed in double.  A part is walked in steps of so few rows that both products
// find them in the second-level cache.  L-BFGS finds the minimum (Liu and Nocedal, "On the limited
// memory BFGS method for large scale optimization", 1989).  The line search is the weak Wolfe
// bisection of Lewis and Overton ("Nonsmooth optimization via quasi-Newton methods", 2013,
// algorithm 2.6).
#include "measure/probes/softmax_regression.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"

enum {
    BLOCK = 8192, // rows that are read at once
    PART = 256,   // rows whose gradients are summed in single precision
    STEP = 64,    // rows of a product
    PARTS = BLOCK / PART
};
enum { HISTORY = 10, SEARCH_STEPS = 20 };
#define DECREASE 2.2e-9 // scipy's ftol: a relative decrease at or below it ends the search
#define ARMIJO 1e-4
#define CURVATURE 0.9
#define NEVER (-1e4) // the bias of a class without rows: its probability is 0 in single precision

// The share of a part of the rows in loss and gradient.
typedef struct {
    double loss;
    double *bias; // (classes) gradient of the biases
    float *g;     // (classes, d) gradient of the weights
    float *z;     // (STEP, classes) scores, then residuals
} Share;

typedef struct {
    const SrRowView *f;
    int classes;
    double ridge;       // penalty next to the mean loss: 1 / (C n); twice that for 2 classes
    const double *w;    // (classes, d + 1) point of evaluation
    float *wf;          // (d, classes) its weights in single precision
    float *space;       // (BLOCK, d) rows of a block; NULL: they lie in memory
    const float *x;     // (rows, d) the block's rows
    int64_t first;      // number of the block's first row
    int rows;           // of the block
    Share share[PARTS]; // of the block's parts
} Problem;

// ---- loss and gradient

// Replaces the scores z (n, classes) of rows `first` and up by p - [k = y], and returns the sum of
// their losses.
static double residuals(const Problem *p, int64_t first, int n, float *z) {
    int classes = p->classes, d = p->f->d;
    double loss = 0;
    for (int i = 0; i < n; i++, z += classes) {
        int64_t y = sr_row_view_label(p->f, first + i);
        float top = -FLT_MAX;
        double sum = 0;
        for (int k = 0; k < classes; k++) {
            z[k] += (float)p->w[(int64_t)k * (d + 1) + d];
            top = SR_MAX(top, z[k]);
        }
        double score = (double)z[y];
        for (int k = 0; k < classes; k++)
            sum += (double)(z[k] = expf(z[k] - top));
        loss += log(sum) + (double)top - score;
        for (int k = 0; k < classes; k++)
            z[k] = (float)((double)z[k] / sum);
        z[y] -= 1;
    }
    return loss;
}

static void compute_share(void *arg, int64_t part, int thread) {
    (void)thread;
    Problem *p = arg;
    Share *s = &p->share[part];
    int d = p->f->d, classes = p->classes, from = (int)part * PART;
    s->loss = 0;
    memset(s->bias, 0, (size_t)classes * sizeof *s->bias);
    for (int i = from; i < SR_MIN(from + PART, p->rows); i += STEP) {
        int n = SR_MIN(STEP, SR_MIN(from + PART, p->rows) - i);
        const float *x = p->x + (int64_t)i * d; // (n, d)
        sr_gemm_here(false, false, n, classes, d, 1, x, d, p->wf, classes, 0, s->z, classes);
        s->loss += residuals(p, p->first + i, n, s->z);
        sr_gemm_here(true, false, classes, d, n, 1, s->z, classes, x, d, i > from, s->g, d);
        for (int r = 0; r < n; r++)
            for (int k = 0; k < classes; k++)
                s->bias[k] += (double)s->z[r * classes + k];
    }
}

// Adds the block's gradient to g and returns its loss.
static double add_block(Problem *p, double *g) {
    int d = p->f->d, parts = (p->rows + PART - 1) / PART;
    double loss = 0;
    p->x = sr_row_view_at_once(p->f, p->first, p->rows, p->space);
    sr_parallel_for(parts, compute_share, p);
    for (int i = 0; i < parts; i++) {
        const Share *s = &p->share[i];
        loss += s->loss;
        for (int k = 0; k < p->classes; k++) {
            double *row = g + (int64_t)k * (d + 1); // (d + 1)
            for (int j = 0; j < d; j++)
                row[j] += (double)s->g[(int64_t)k * d + j];
            row[d] += s->bias[k];
        }
    }
    return loss;
}

// Returns the mean loss plus penalty at w.  g: (classes, d + 1) the gradient.
static double evaluate(Problem *p, const double *w, double *g) {
    int d = p->f->d;
    int64_t n = p->f->n;
    double value = 0, penalty = 0;
    p->w = w;
    memset(g, 0, (size_t)p->classes * ((size_t)d + 1) * sizeof *g);
    for (int k = 0; k < p->classes; k++)
        for (int j = 0; j < d; j++)
            p->wf[(int64_t)j * p->classes + k] = (float)w[(int64_t)k * (d + 1) + j];
    for (p->first = 0; p->first < n; p->first += BLOCK) {
        p->rows = (int)SR_MIN(n - p->first, BLOCK);
        value += add_block(p, g);
    }
    for (int64_t i = 0; i < (int64_t)p->classes * (d + 1); i++) {
        double weight = i % (d + 1) < d ? w[i] : 0;
        g[i] = g[i] / (double)n + p->ridge * weight;
        penalty += weight * weight;
    }
    return value / (double)n + p->ridge * penalty / 2;
}

// ---- L-BFGS

typedef struct {
    int64_t n;                                     // numbers of a vector
    int kept, next;                                // pairs in the history; place of the next one
    double *s[HISTORY], *y[HISTORY], rho[HISTORY]; // steps, changes of the gradient, 1 / s . y
    double *w, *g, *trial, *trial_g, *direction;   // (n)
    double value;
} Minimiser;

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add(double *to, double factor, const double *a, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        to[i] += factor * a[i];
}

// Computes direction = -H g by the two loops of L-BFGS.  The first direction has length 1.
static void choose_direction(Minimiser *m) {
    double alpha[HISTORY], *p = m->direction, scale;
    for (int64_t i = 0; i < m->n; i++)
        p[i] = -m->g[i];
    for (int j = 1; j <= m->kept; j++) {
        int i = (m->next - j + HISTORY) % HISTORY;
        alpha[i] = m->rho[i] * dot(m->s[i], p, m->n);
        add(p, -alpha[i], m->y[i], m->n);
    }
    if (m->kept) {
        int last = (m->next + HISTORY - 1) % HISTORY;
        scale = 1 / (m->rho[last] * dot(m->y[last], m->y[last], m->n));
    } else {
        scale = 1 / fmax(sqrt(dot(m->g, m->g, m->n)), 1e-30);
    }
    for (int64_t i = 0; i < m->n; i++)
        p[i] *= scale;
    for (int j = m->kept; j >= 1; j--) {
        int i = (m->next - j + HISTORY) % HISTORY;
        add(p, alpha[i] - m->rho[i] * dot(m->y[i], p, m->n), m->s[i], m->n);
    }
}

// Searches along the direction and fills trial and trial_g.  Returns false if it finds no lower
// point, which single precision may not resolve.
static bool search(Problem *p, Minimiser *m, double *value) {
    double slope = dot(m->g, m->direction, m->n), low = 0, high = 0, t = 1;
    for (int i = 0; slope < 0 && i < SEARCH_STEPS; i++) {
        memcpy(m->trial, m->w, (size_t)m->n * sizeof *m->w);
        add(m->trial, t, m->direction, m->n);
        *value = evaluate(p, m->trial, m->trial_g);
        if (!(*value <= m->value + ARMIJO * t * slope))
            high = t;
        else if (dot(m->trial_g, m->direction, m->n) < CURVATURE * slope)
            low = t;
        else
            return true;
        t = high > 0 ? (low + high) / 2 : 2 * t;
    }
    return false;
}

// Moves to the trial point and adds the difference to the history.
static void take_step(Minimiser *m, double value) {
    double *s = m->s[m->next], *y = m->y[m->next], *swap;
    for (int64_t i = 0; i < m->n; i++) {
        s[i] = m->trial[i] - m->w[i];
        y[i] = m->trial_g[i] - m->g[i];
    }
    m->rho[m->next] = 1 / dot(s, y, m->n); // above 0, by the curvature condition of the search
    m->next = (m->next + 1) % HISTORY;
    m->kept = SR_MIN(m->kept + 1, HISTORY);
    memcpy(m->w, m->trial, (size_t)m->n * sizeof *m->w);
    swap = m->g;
    m->g = m->trial_g;
    m->trial_g = swap;
    m->value = value;
}

static void minimise(Problem *p, Minimiser *m, int max_iter) {
    m->value = evaluate(p, m->w, m->g);
    for (int i = 0; i < max_iter; i++) {
        double value, before = m->value;
        choose_direction(m);
        if (!search(p, m, &value))
            return;
        take_step(m, value);
        if (before - value <= DECREASE * fmax(fmax(fabs(before), fabs(value)), 1))
            return;
    }
}

// ---- memory

static void start(const SrRowView *f, int classes, double *w) {
    memset(w, 0, (size_t)classes * ((size_t)f->d + 1) * sizeof *w);
    for (int k = 0; k < classes; k++)
        w[(int64_t)k * (f->d + 1) + f->d] = NEVER;
    for (int64_t i = 0; i < f->n; i++)
        w[sr_row_view_label(f, i) * (f->d + 1) + f->d] = 0;
}

// Gives each part its memory.
static void divide(Problem *p, int parts, double *bias, float *g, float *z) {
    int64_t classes = p->classes, weights = classes * p->f->d;
    for (int i = 0; i < parts; i++)
        p->share[i] =
            (Share){.bias = bias + i * classes, .g = g + i * weights, .z = z + i * STEP * classes};
}

SrStatus sr_softmax_train(const SrRowView *rows, int classes, double cost, int max_iter,
                          double *w) {
    size_t d = (size_t)rows->d, n = (size_t)classes * (d + 1);
    size_t parts = (size_t)((SR_MIN(rows->n, BLOCK) + PART - 1) / PART);
    Problem p = {
        .f = rows, .classes = classes, .ridge = (classes == 2 ? 2 : 1) / (cost * (double)rows->n)};
    Minimiser m = {.n = (int64_t)n, .w = w};
    double *vectors = sr_calloc(n, (2 * HISTORY + 4) * sizeof *vectors), *at = vectors;
    double *bias = sr_alloc(parts * (size_t)classes * sizeof *bias);
    float *g = sr_alloc(parts * (size_t)classes * d * sizeof *g);
    float *z = sr_alloc(parts * STEP * (size_t)classes * sizeof *z);
    p.wf = sr_alloc((size_t)classes * d * sizeof *p.wf);
    bool enough =
        vectors && bias && g && z && p.wf && sr_row_view_space(rows, BLOCK, &p.space) == SR_OK;
    if (enough) {
        double **kept[] = {&m.g, &m.trial, &m.trial_g, &m.direction};
        for (int i = 0; i < SR_COUNT(kept); i++, at += n)
            *kept[i] = at;
        for (int i = 0; i < HISTORY; i++, at += 2 * n) {
            m.s[i] = at;
            m.y[i] = at + n;
        }
        divide(&p, (int)parts, bias, g, z);
        start(rows, classes, w);
        minimise(&p, &m, max_iter);
    }
    sr_free(vectors);
    sr_free(bias);
    sr_free(g);
    sr_free(z);
    sr_free(p.wf);
    sr_free(p.space);
    return enough ? SR_OK : sr_out_of_memory("a classifier of %d classes", classes);
}
