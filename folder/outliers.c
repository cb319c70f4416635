// Outliers: neighbours, tree, cut-offs, and the distances between classes.
#include "folder/outliers.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "measure/clusters/spanning_tree.h"
#include "measure/neighbours/nearest_rows.h"
#include "measure/probes/score_cutoff.h"

#define SIGNIFICANCE 0.05
#define DEVIATIONS 3.0
#define ROBUST 1.4826 // standard deviation of a normal distribution / its median deviation

void sr_outliers_deinit(SrOutlierReport *report) {
    sr_free(report->v);
    sr_free(report->of_class);
    *report = (SrOutlierReport){0};
}

static SrStatus out_of_memory(int64_t n) {
    return sr_out_of_memory("the outliers of %lld images", (long long)n);
}

// ---- distances ----------------------------------------------------------------------------------

// Writes the distance of each row to its 10th neighbour, or to the last of fewer.
static SrStatus kth_distances(const SrRowView *rows, float *out) {
    int k = (int)SR_MIN((int64_t)SR_OUTLIER_NEIGHBOUR, rows->n - 1);
    for (int64_t i = 0; k < 1 && i < rows->n; i++)
        out[i] = NAN; // a row alone in its class
    if (k < 1)
        return SR_OK;
    float *distance = sr_alloc((size_t)rows->n * (size_t)k * sizeof *distance);
    SrStatus status = distance ? sr_nearest_rows(rows, k, NULL, distance) : out_of_memory(rows->n);
    for (int64_t i = 0; status == SR_OK && i < rows->n; i++)
        out[i] = distance[i * k + k - 1];
    sr_free(distance);
    return status;
}

// Does so inside one class.  member: (n) work space.
static SrStatus class_distances(const SrRowView *rows, int label, int64_t *member, float *out) {
    int64_t n = 0;
    for (int64_t i = 0; i < rows->n; i++)
        if (sr_row_view_label(rows, i) == label)
            member[n++] = i;
    if (n == 0)
        return SR_OK;
    const SrRowView part = sr_row_view_pick(rows, member, n);
    float *distance = sr_alloc((size_t)n * sizeof *distance);
    SrStatus status = distance ? kth_distances(&part, distance) : out_of_memory(n);
    for (int64_t i = 0; status == SR_OK && i < n; i++)
        out[member[i]] = distance[i];
    sr_free(distance);
    return status;
}

static SrStatus distances(const SrOutlierOptions *o, const SrRowView *rows, float *out) {
    if (!o->per_class)
        return kth_distances(rows, out);
    int classes = sr_row_view_classes(rows);
    if (classes < 1)
        SR_FAIL(SR_ERR_CONFIG, "--per-class needs one label for each image: put the images of "
                               "each class into a folder of its own");
    int64_t *member = sr_alloc((size_t)rows->n * sizeof *member);
    SrStatus status = member ? SR_OK : out_of_memory(rows->n);
    for (int64_t i = 0; i < rows->n; i++)
        out[i] = NAN;
    for (int c = 0; status == SR_OK && c < classes; c++)
        status = class_distances(rows, c, member, out);
    sr_free(member);
    return status;
}

// Euclidean lengths of the tree become 1 - cosine, which is half of their square.
static SrStatus leaves(const SrRowView *rows, float *out) {
    SrTreeEdge *edge = sr_alloc((size_t)rows->n * sizeof *edge);
    SrStatus status = edge ? sr_spanning_tree(rows, edge) : out_of_memory(rows->n);
    if (status == SR_OK)
        status = sr_leaf_distances(edge, rows->n, SR_OUTLIER_GROUP, out);
    for (int64_t i = 0; status == SR_OK && i < rows->n; i++)
        out[i] = fminf(out[i] * out[i] / 2, 2);
    sr_free(edge);
    return status;
}

// ---- cut-offs -----------------------------------------------------------------------------------

// A distance of 0 to 2 becomes a score of 1 to 0, small for the suspicious.
static float score_of(float distance) { return isnan(distance) ? NAN : 1 - distance / 2; }

// Marks the rows beyond the cut-off.  distance: (n); score: (n) work space.
static SrStatus mark(const SrOutlierOptions *o, const float *distance, float *score,
                     SrOutlierReport *r) {
    const SrCutoffOptions cut = {o->share, SIGNIFICANCE};
    double limit;
    for (int64_t i = 0; i < r->n; i++)
        score[i] = score_of(distance[i]);
    SR_TRY(sr_score_cutoff(&cut, score, r->n, &limit));
    for (int64_t i = 0; i < r->n; i++)
        r->v[i].found |= (double)score[i] < limit;
    return SR_OK;
}

// A row without a direction is no picture of anything, so it comes first.
static int by_suspicion(const void *a, const void *b) {
    const SrOutlier *x = a, *y = b;
    bool bad_x = isnan(x->distance), bad_y = isnan(y->distance);
    if (bad_x != bad_y)
        return bad_x ? -1 : 1;
    if (!bad_x && x->distance != y->distance)
        return x->distance < y->distance ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static SrStatus judge(const SrOutlierOptions *o, const SrRowView *rows, float *distance,
                      float *leaf, float *score, SrOutlierReport *r) {
    SR_TRY(distances(o, rows, distance));
    for (int64_t i = 0; i < r->n; i++)
        leaf[i] = NAN;
    if (!o->no_tree)
        SR_TRY(leaves(rows, leaf));
    for (int64_t i = 0; i < r->n; i++)
        r->v[i] = (SrOutlier){i, distance[i], leaf[i], false};
    SR_TRY(mark(o, distance, score, r));
    if (!o->no_tree)
        SR_TRY(mark(o, leaf, score, r));
    for (int64_t i = 0; i < r->n; i++)
        r->found += r->v[i].found;
    qsort(r->v, (size_t)r->n, sizeof *r->v, by_suspicion);
    return SR_OK;
}

// ---- classes ------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int64_t n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static int farthest_first(const void *a, const void *b) {
    const SrOddClass *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? 1 : -1;
    return x->label - y->label;
}

// Finds each class's median distance to other classes.  value: (n) work space.
static void measure_classes(const SrRowView *rows, int classes, const float *other, double *value,
                            SrOutlierReport *r) {
    for (int c = 0; c < classes; c++) {
        int64_t n = 0;
        for (int64_t i = 0; i < rows->n; i++)
            if (sr_row_view_label(rows, i) == c && !isnan(other[i]))
                value[n++] = (double)other[i];
        if (n > 0)
            r->of_class[r->n_classes++] = (SrOddClass){c, n, median(value, n), false};
    }
}

// Marks classes that lie farther from the others than the classes usually do.
static void mark_classes(double *value, SrOutlierReport *r) {
    if (r->n_classes < 4)
        return; // the deviation of three classes says nothing
    for (int c = 0; c < r->n_classes; c++)
        value[c] = r->of_class[c].distance;
    double middle = median(value, r->n_classes);
    for (int c = 0; c < r->n_classes; c++)
        value[c] = fabs(r->of_class[c].distance - middle);
    double deviation = ROBUST * median(value, r->n_classes);
    for (int c = 0; c < r->n_classes; c++)
        r->of_class[c].found = r->of_class[c].distance > middle + DEVIATIONS * deviation;
    qsort(r->of_class, (size_t)r->n_classes, sizeof *r->of_class, farthest_first);
}

static SrStatus judge_classes(const SrRowView *rows, float *same, float *other,
                              SrOutlierReport *r) {
    int classes = sr_row_view_classes(rows);
    if (classes < 2)
        return SR_OK;
    double *value = sr_alloc((size_t)SR_MAX(rows->n, (int64_t)classes) * sizeof *value);
    r->of_class = sr_calloc((size_t)classes, sizeof *r->of_class);
    SrStatus status =
        value && r->of_class ? sr_nearest_by_class(rows, 1, same, other) : out_of_memory(rows->n);
    if (status == SR_OK) {
        measure_classes(rows, classes, other, value, r);
        mark_classes(value, r);
    }
    sr_free(value);
    return status;
}

SrStatus sr_outliers(const SrOutlierOptions *options, const SrRowView *rows, SrOutlierReport *out) {
    size_t n = (size_t)rows->n;
    *out = (SrOutlierReport){.n = rows->n};
    if (rows->n < 3)
        SR_FAIL(SR_ERR_CONFIG, "outliers need at least 3 images, but there are %lld",
                (long long)rows->n);
    float *space = sr_alloc(3 * n * sizeof *space);
    out->v = sr_calloc(n, sizeof *out->v);
    SrStatus status = space && out->v ? judge(options, rows, space, space + n, space + 2 * n, out)
                                      : out_of_memory(rows->n);
    if (status == SR_OK)
        status = judge_classes(rows, space, space + n, out);
    sr_free(space);
    return status;
}
