// Wrong labels: out-of-sample predictions, confident learning, ratio of distances, one ranking.
#include "folder/mislabeled.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "measure/neighbours/nearest_rows.h"
#include "measure/probes/fold_predictions.h"
#include "measure/probes/score_cutoff.h"

#define SIGNIFICANCE 0.05

enum {
    NEIGHBOURS = 3, // of each kind, whose mean distances the ratio compares
    PROBE = 2,      // weights in the doubt: the probe has learned from all images, and the ratio
    RATIO = 1       // rests on six of them
};

void sr_mislabeled_deinit(SrMislabelReport *report) {
    sr_label_noise_deinit(&report->noise);
    sr_free(report->v);
    *report = (SrMislabelReport){0};
}

static int by_doubt(const void *a, const void *b) {
    const SrMislabel *x = a, *y = b;
    if (x->doubt != y->doubt)
        return x->doubt < y->doubt ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

// Work space of one call.
typedef struct {
    float *probability;          // (n, classes)
    float *same, *other, *ratio; // (n)
} Work;

static SrStatus work_init(Work *w, int64_t n, int classes) {
    size_t rows = (size_t)n;
    *w = (Work){.probability = sr_calloc(rows * (size_t)classes, sizeof *w->probability),
                .same = sr_alloc(rows * sizeof *w->same),
                .other = sr_alloc(rows * sizeof *w->other),
                .ratio = sr_alloc(rows * sizeof *w->ratio)};
    SR_TRY_MEMORY(w->probability && w->same && w->other && w->ratio, "the labels of %lld images",
                  (long long)n);
    return SR_OK;
}

static void work_deinit(Work *w) {
    sr_free(w->probability);
    sr_free(w->same);
    sr_free(w->other);
    sr_free(w->ratio);
}

static SrMislabel judge(const Work *w, const SrLabelNoise *noise, const SrRowView *rows, int64_t i,
                        double cutoff) {
    const float *p = w->probability + i * noise->classes; // (classes)
    int given = (int)sr_row_view_label(rows, i), best = (int)noise->best[i];
    double of_given = (double)p[given], ratio = (double)w->ratio[i];
    return (SrMislabel){.row = i,
                        .given = given,
                        .suggested = best,
                        .confidence = (double)p[best],
                        .given_probability = of_given,
                        .ratio = w->ratio[i],
                        .doubt =
                            1 - (PROBE * of_given + RATIO * (isnan(ratio) ? of_given : ratio)) /
                                    (PROBE + RATIO),
                        .found = noise->wrong[i] || ratio < cutoff};
}

static SrStatus fill(const SrMislabelOptions *o, const SrRowView *rows, Work *w,
                     SrMislabelReport *out) {
    const SrCutoffOptions cut = {o->share, SIGNIFICANCE};
    int classes = sr_row_view_classes(rows);
    double cutoff;
    SR_TRY(sr_fold_predictions(rows, classes, 0, o->seed, w->probability));
    SR_TRY(sr_label_noise(w->probability, rows->label, rows->n, classes, &out->noise));
    SR_TRY(sr_nearest_by_class(rows, NEIGHBOURS, w->same, w->other));
    sr_label_ratio(w->same, w->other, rows->n, true, w->ratio);
    SR_TRY(sr_score_cutoff(&cut, w->ratio, rows->n, &cutoff));
    for (int64_t i = 0; i < rows->n; i++)
        if (sr_row_view_label(rows, i) >= 0) {
            out->v[out->n] = judge(w, &out->noise, rows, i, cutoff);
            out->found += out->v[out->n++].found;
        }
    qsort(out->v, (size_t)out->n, sizeof *out->v, by_doubt);
    return SR_OK;
}

SrStatus sr_mislabeled(const SrMislabelOptions *options, const SrRowView *rows,
                       SrMislabelReport *out) {
    Work w = {0};
    *out = (SrMislabelReport){0};
    if (sr_row_view_classes(rows) < 2)
        SR_FAIL(SR_ERR_CONFIG, "wrong labels can be found where each image has one label of two "
                               "or more: put the images of each class into a folder of its own");
    SrStatus status = work_init(&w, rows->n, sr_row_view_classes(rows));
    out->v = sr_calloc((size_t)rows->n, sizeof *out->v);
    if (status == SR_OK && !out->v)
        status = sr_out_of_memory("labels");
    if (status == SR_OK)
        status = fill(options, rows, &w, out);
    work_deinit(&w);
    return status;
}
