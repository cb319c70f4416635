// Out-of-sample predictions: stratified folds, one fit for each, softmax of the held-out rows.
#include "measure/probes/fold_predictions.h"

#include <math.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "measure/probes/chosen_probe.h"
#include "measure/probes/softmax_regression.h"

enum { BLOCK = 1024 }; // rows that are predicted together

// Gives each labelled row a part.  A class's rows are dealt out in random order, and each class
// goes on where the one before it ended, so that small classes do not all lie in part 0.
static SrStatus deal(const SrRowView *f, int classes, uint64_t seed, int8_t *part) {
    int64_t *member = sr_alloc((size_t)f->n * sizeof *member), dealt = 0;
    uint32_t *order = sr_alloc((size_t)f->n * sizeof *order);
    for (int c = 0; member && order && c < classes; c++) {
        uint32_t n = 0;
        SrRng rng = sr_rng(seed, SR_RNG_FOLDS, 0, (uint64_t)c, 0, 0);
        for (int64_t i = 0; i < f->n; i++)
            if (sr_row_view_label(f, i) == c)
                member[n++] = i;
        sr_rng_permutation(&rng, order, n);
        for (uint32_t i = 0; i < n; i++)
            part[member[order[i]]] = (int8_t)(dealt++ % SR_FOLDS);
    }
    bool enough = member && order;
    sr_free(member);
    sr_free(order);
    return enough ? SR_OK : sr_out_of_memory("the parts of a probe");
}

// Lists the labelled rows of one part, or those of the other parts.
static int64_t list(const SrRowView *f, const int8_t *part, int held_out, bool inside,
                    int64_t *row) {
    int64_t n = 0;
    for (int64_t i = 0; i < f->n; i++)
        if (sr_row_view_label(f, i) >= 0 && (part[i] == held_out) == inside)
            row[n++] = i;
    return n;
}

// Computes softmax(W x + b).  p: (classes).
static void predict(const float *x, int d, const double *w, int classes, float *p) {
    double top = -INFINITY, sum = 0;
    for (int k = 0; k < classes; k++) {
        const double *v = w + (int64_t)k * (d + 1); // (d + 1)
        double z = v[d];
        for (int j = 0; j < d; j++)
            z += v[j] * (double)x[j];
        p[k] = (float)z;
        top = fmax(top, (double)p[k]);
    }
    for (int k = 0; k < classes; k++)
        sum += exp((double)p[k] - top);
    for (int k = 0; k < classes; k++)
        p[k] = (float)(exp((double)p[k] - top) / sum);
}

typedef struct {
    int classes;
    double cost, *w; // w: (classes, d + 1)
    int64_t *row;    // (n) rows of a part, or of the others
    double *moments; // (2, d)
    float *space;    // (BLOCK, d)
} Work;

// Fits on the rows outside a part and predicts those inside.
static SrStatus judge_part(const SrRowView *f, const int8_t *part, int held_out, Work *w,
                           float *probability) {
    int64_t n = list(f, part, held_out, false, w->row);
    SrRowView fitted = sr_row_view_pick(f, w->row, n);
    SR_TRY(sr_row_view_moments(&fitted, w->moments, w->moments + f->d));
    fitted.mean = w->moments;
    fitted.scale = w->moments + f->d;
    SR_TRY(sr_softmax_train(&fitted, w->classes, w->cost, SR_CHOSEN_PROBE_MAX_ITER, w->w));
    SrRowView judged = fitted;
    judged.n = list(f, part, held_out, true, w->row);
    for (int64_t first = 0; first < judged.n; first += BLOCK) {
        int64_t m = SR_MIN(judged.n - first, BLOCK);
        const float *x = sr_row_view_at_once(&judged, first, m, w->space); // (m, d)
        for (int64_t i = 0; i < m; i++)
            predict(x + i * f->d, f->d, w->w, w->classes,
                    probability + w->row[first + i] * w->classes);
    }
    return SR_OK;
}

static SrStatus check(const SrRowView *f, int classes) {
    int64_t *count = sr_calloc((size_t)classes + 1, sizeof *count);
    int enough = 0;
    SR_TRY_MEMORY(count, "%d classes", classes);
    for (int64_t i = 0; i < f->n; i++)
        if (sr_row_view_label(f, i) >= 0)
            enough += ++count[sr_row_view_label(f, i)] == SR_FOLDS;
    sr_free(count);
    if (enough < 2)
        SR_FAIL(SR_ERR_CONFIG,
                "labels can be judged if at least two classes have %d images, but %d have; put "
                "the images of each class into a folder of its own",
                SR_FOLDS, enough);
    return SR_OK;
}

static SrStatus judge_all(const SrRowView *f, uint64_t seed, int8_t *part, Work *w,
                          float *probability) {
    SrChosenProbe chosen;
    SrStatus status = SR_OK;
    SrBar bar;
    SR_TRY(deal(f, w->classes, seed, part));
    if (w->cost <= 0) {
        SR_TRY(sr_chosen_probe_cost(f, &chosen));
        w->cost = chosen.cost;
    }
    sr_bar_begin(&bar, "probes", SR_FOLDS);
    for (int i = 0; status == SR_OK && i < SR_FOLDS; i++) {
        sr_bar_at(&bar, i);
        status = judge_part(f, part, i, w, probability);
    }
    sr_bar_end(&bar);
    return status;
}

SrStatus sr_fold_predictions(const SrRowView *rows, int classes, double cost, uint64_t seed,
                             float *probability) {
    size_t d = (size_t)rows->d, n = (size_t)rows->n;
    int8_t *part = sr_calloc(n, 1);
    Work w = {.classes = classes,
              .cost = cost,
              .w = sr_alloc((size_t)classes * (d + 1) * sizeof *w.w),
              .row = sr_alloc(n * sizeof *w.row),
              .moments = sr_alloc(2 * d * sizeof *w.moments),
              .space = sr_alloc(BLOCK * d * sizeof *w.space)};
    bool enough = part && w.w && w.row && w.moments && w.space;
    memset(probability, 0, n * (size_t)classes * sizeof *probability);
    SrStatus status =
        enough ? check(rows, classes) : sr_out_of_memory("a probe of %d classes", classes);
    if (status == SR_OK)
        status = judge_all(rows, seed, part, &w, probability);
    sr_free(part);
    sr_free(w.w);
    sr_free(w.row);
    sr_free(w.moments);
    sr_free(w.space);
    return status;
}
