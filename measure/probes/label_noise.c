// Confident learning: thresholds, confident counts, calibrated joint, rows to look at.
#include "measure/probes/label_noise.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"

void sr_label_noise_deinit(SrLabelNoise *r) {
    sr_free(r->threshold);
    sr_free(r->confident);
    sr_free(r->joint);
    sr_free(r->best);
    sr_free(r->wrong);
    *r = (SrLabelNoise){0};
}

static SrStatus noise_init(SrLabelNoise *r, int64_t n, int classes) {
    size_t k = (size_t)classes;
    *r = (SrLabelNoise){.classes = classes,
                        .threshold = sr_calloc(k, sizeof *r->threshold),
                        .confident = sr_calloc(k * k, sizeof *r->confident),
                        .joint = sr_calloc(k * k, sizeof *r->joint),
                        .best = sr_alloc((size_t)n * sizeof *r->best),
                        .wrong = sr_calloc((size_t)n, 1)};
    SR_TRY_MEMORY(r->threshold && r->confident && r->joint && r->best && r->wrong,
                  "the noise of %d classes", classes);
    return SR_OK;
}

// count: (classes) rows of each label.
static void thresholds(const float *p, const int64_t *label, int64_t n, SrLabelNoise *r,
                       int64_t *count) {
    for (int64_t i = 0; i < n; i++) {
        if (label[i] < 0)
            continue;
        count[label[i]]++;
        r->threshold[label[i]] += (double)p[i * r->classes + label[i]];
    }
    for (int c = 0; c < r->classes; c++)
        r->threshold[c] = count[c] ? r->threshold[c] / (double)count[c] : INFINITY;
}

// Counts each row for the most probable class among those whose threshold it reaches.
static void count_confident(const float *p, const int64_t *label, int64_t n, SrLabelNoise *r) {
    int k = r->classes;
    for (int64_t i = 0; i < n; i++) {
        const float *q = p + i * k; // (classes)
        int sure = -1, best = 0;
        for (int c = 0; c < k; c++) {
            if ((double)q[c] >= r->threshold[c] && (sure < 0 || q[c] > q[sure]))
                sure = c;
            best = q[c] > q[best] ? c : best;
        }
        r->best[i] = label[i] < 0 ? -1 : best;
        if (label[i] >= 0 && sure >= 0)
            r->confident[label[i] * k + sure]++;
    }
}

// A label without a confident row keeps all of its share on the diagonal.
static void calibrate(const int64_t *count, SrLabelNoise *r) {
    int k = r->classes;
    double all = 0;
    for (int i = 0; i < k; i++)
        all += (double)count[i];
    for (int i = 0; i < k; i++) {
        double sum = 0, share = all > 0 ? (double)count[i] / all : 0;
        for (int j = 0; j < k; j++)
            sum += (double)r->confident[i * k + j];
        for (int j = 0; j < k; j++) {
            double part = sum > 0 ? (double)r->confident[i * k + j] / sum : i == j;
            r->joint[i * k + j] = part * share;
            r->noise += i == j ? 0 : part * share;
        }
    }
}

typedef struct {
    double margin; // p[j] - p[i]
    int64_t row;
} Candidate;

static int by_margin(const void *a, const void *b) {
    const Candidate *x = a, *y = b;
    if (x->margin != y->margin)
        return x->margin < y->margin ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

// Marks the rows of label i that are most clearly of class j, as many as the joint says.
static void mark_pair(const float *p, const int64_t *label, int64_t n, double all, int i, int j,
                      SrLabelNoise *r, Candidate *candidate) {
    int k = r->classes;
    int64_t found = 0, most = (int64_t)nearbyint(r->joint[i * k + j] * all);
    for (int64_t row = 0; most > 0 && row < n; row++)
        if (label[row] == i)
            candidate[found++] = (Candidate){(double)p[row * k + j] - (double)p[row * k + i], row};
    qsort(candidate, (size_t)found, sizeof *candidate, by_margin);
    for (int64_t c = 0; c < SR_MIN(found, most); c++)
        if (candidate[c].margin > 0)
            r->wrong[candidate[c].row] = 1;
}

SrStatus sr_label_noise(const float *probability, const int64_t *label, int64_t n, int classes,
                        SrLabelNoise *out) {
    int64_t *count = sr_calloc((size_t)classes, sizeof *count);
    Candidate *candidate = sr_alloc((size_t)n * sizeof *candidate);
    SrStatus status = noise_init(out, n, classes);
    if (!count || !candidate)
        status = sr_out_of_memory("the noise of %lld labels", (long long)n);
    if (status == SR_OK) {
        double all = 0;
        thresholds(probability, label, n, out, count);
        count_confident(probability, label, n, out);
        calibrate(count, out);
        for (int c = 0; c < classes; c++)
            all += (double)count[c];
        for (int i = 0; i < classes; i++)
            for (int j = 0; j < classes; j++)
                if (i != j)
                    mark_pair(probability, label, n, all, i, j, out, candidate);
    }
    sr_free(count);
    sr_free(candidate);
    return status;
}

void sr_label_ratio(const float *same, const float *other, int64_t n, bool squared, float *ratio) {
    for (int64_t i = 0; i < n; i++) {
        double s = (double)same[i], o = (double)other[i];
        if (!squared) {
            s *= s;
            o *= o;
        }
        ratio[i] = s + o > 0 ? (float)(o / (s + o)) : isnan(s + o) ? NAN : 0.5f;
    }
}
