// Out-of-sample predictions: stratified folds, one fit for each, softmax of the held-out rows.
#include "measure/probes/fold_predictions.h"

#include <math.h>
#include <string.h>

#include "base/bar.h"
#include "base/mem.h"
#include "base/rng.h"
#include "measure/probes/chosen_probe.h"
#include "measure/probes/softmax_regression.h"

// Gives each labelled row a part.  A class's rows are dealt out in random order, and each class
// goes on where the one before it ended, so that small classes do not all lie in part 0.
static SrStatus deal(const SrMatrix *f, int classes, uint64_t seed, int8_t *part) {
    int64_t *member = sr_alloc((size_t)f->n * sizeof *member), dealt = 0;
    uint32_t *order = sr_alloc((size_t)f->n * sizeof *order);
    for (int c = 0; member && order && c < classes; c++) {
        uint32_t n = 0;
        SrRng rng = sr_rng(seed, SR_RNG_FOLDS, 0, (uint64_t)c, 0, 0);
        for (int64_t i = 0; i < f->n; i++)
            if (f->label[i] == c)
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
static int64_t list(const SrMatrix *f, const int8_t *part, int held_out, bool inside,
                    int64_t *row) {
    int64_t n = 0;
    for (int64_t i = 0; i < f->n; i++)
        if (f->label[i] >= 0 && (part[i] == held_out) == inside)
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

// Fits on the rows outside a part and predicts those inside.
static SrStatus judge_part(const SrMatrix *f, const int8_t *part, int held_out, int classes,
                           double cost, int64_t *row, double *w, float *probability) {
    SrMatrix fitted = {0}, judged = {0};
    SrStatus status;
    int64_t n = list(f, part, held_out, false, row);
    SR_TRY_GOTO(sr_matrix_take(f, row, n, &fitted));
    n = list(f, part, held_out, true, row);
    SR_TRY_GOTO(sr_matrix_take(f, row, n, &judged));
    SR_TRY_GOTO(sr_matrix_standardize(&fitted, &judged));
    SR_TRY_GOTO(sr_softmax_train(&fitted, classes, cost, SR_CHOSEN_PROBE_MAX_ITER, w));
    for (int64_t i = 0; i < n; i++)
        predict(judged.x + i * f->d, f->d, w, classes, probability + row[i] * classes);
done:
    sr_matrix_deinit(&fitted);
    sr_matrix_deinit(&judged);
    return status;
}

static SrStatus check(const SrMatrix *f, int classes) {
    int64_t *count = sr_calloc((size_t)classes + 1, sizeof *count);
    int enough = 0;
    SR_TRY_MEMORY(count, "%d classes", classes);
    for (int64_t i = 0; i < f->n; i++)
        if (f->label[i] >= 0)
            enough += ++count[f->label[i]] == SR_FOLDS;
    sr_free(count);
    if (enough < 2)
        SR_FAIL(SR_ERR_CONFIG,
                "labels can be judged if at least two classes have %d images, but %d have; put "
                "the images of each class into a folder of its own",
                SR_FOLDS, enough);
    return SR_OK;
}

SrStatus sr_fold_predictions(const SrMatrix *rows, int classes, double cost, uint64_t seed,
                             float *probability) {
    SrStatus status;
    SrChosenProbe chosen = {.cost = cost};
    int8_t *part = sr_calloc((size_t)rows->n, 1);
    int64_t *row = sr_alloc((size_t)rows->n * sizeof *row);
    double *w = sr_alloc((size_t)classes * ((size_t)rows->d + 1) * sizeof *w);
    SrBar bar;
    sr_bar_begin(&bar, "probes", SR_FOLDS);
    if (!part || !row || !w) {
        status = sr_out_of_memory("a probe of %d classes", classes);
        goto done;
    }
    SR_TRY_GOTO(check(rows, classes));
    memset(probability, 0, (size_t)rows->n * (size_t)classes * sizeof *probability);
    SR_TRY_GOTO(deal(rows, classes, seed, part));
    if (cost <= 0)
        SR_TRY_GOTO(sr_chosen_probe(rows, rows, &chosen));
    for (int i = 0; i < SR_FOLDS; i++) {
        sr_bar_at(&bar, i);
        SR_TRY_GOTO(judge_part(rows, part, i, classes, chosen.cost, row, w, probability));
    }
done:
    sr_bar_end(&bar);
    sr_free(part);
    sr_free(row);
    sr_free(w);
    return status;
}
