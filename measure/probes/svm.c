// Support vector machines: options, judging, cross-validation and the last fit.  liblinear
// optimises.
#include "measure/probes/svm.h"

#include <math.h>
#include <string.h>

#include "base/bar.h"
#include "base/mem.h"
#include "measure/neighbours/average_precision.h"

#define MAX_COSTS 256

static SrStatus out_of_memory(void) { return sr_out_of_memory("support vector machines"); }

// ---- options ------------------------------------------------------------------------------------

static SrStatus kind_of(const SrSvmConfig *c, SrLinearKind *out) {
    if (c->penalty == 1 && c->loss == 1)
        SR_FAIL(SR_ERR_CONFIG,
                "SVM.penalty l1 does not work with SVM.loss hinge; use squared_hinge");
    *out = c->penalty == 1 ? SR_LINEAR_L1
           : c->loss == 1  ? SR_LINEAR_HINGE
                           : SR_LINEAR_SQUARED_HINGE;
    return SR_OK;
}

SrStatus sr_svm_check(const SrSvmConfig *config, const SrMatrix *train, const SrMatrix *test,
                      SrLinearKind *kind) {
    SR_TRY(kind_of(config, kind));
    if (train->d != test->d)
        SR_FAIL(SR_ERR_CONFIG,
                "test features have %d numbers per row, but training features have %d", test->d,
                train->d);
    if (!train->target != !test->target || train->n_targets != test->n_targets)
        SR_FAIL(SR_ERR_CONFIG, "training labels have %d columns, but test labels have %d",
                SR_MAX(train->n_targets, 1), SR_MAX(test->n_targets, 1));
    int classes = sr_matrix_classes(train);
    return classes > 1
               ? SR_OK
               : sr_fail(SR_ERR_CONFIG,
                         "the training features have labels of %d classes, expected at least 2",
                         classes);
}

SrStatus sr_svm_costs(const SrSvmConfig *c, SrArena *arena, double **costs, int *n) {
    int powers = 0, first = 0;
    if (c->cost_base > 0) {
        if (c->power_range.n != 2 || c->power_range.v[0] > c->power_range.v[1])
            SR_FAIL(SR_ERR_CONFIG, "SVM.costs.power_range: expected [first, one after the last]");
        first = c->power_range.v[0];
        powers = c->power_range.v[1] - first;
    }
    *n = 0;
    *costs = sr_arena_alloc(arena, (size_t)(c->costs.n + powers + 1) * sizeof **costs);
    if (!*costs)
        return out_of_memory();
    for (int i = 0; i < c->costs.n; i++)
        (*costs)[(*n)++] = c->costs.v[i];
    for (int k = 0; k < powers; k++)
        (*costs)[(*n)++] = pow(c->cost_base, first + k);
    return *n > 0 && *n <= MAX_COSTS
               ? SR_OK
               : sr_fail(SR_ERR_CONFIG, "SVM.costs has %d costs, expected 1 to %d", *n, MAX_COSTS);
}

static bool wanted(const SrSvmConfig *c, int class) {
    for (int i = 0; i < c->classes.n; i++)
        if (c->classes.v[i] == class)
            return true;
    return c->classes.n == 0;
}

void sr_svm_targets(const SrMatrix *f, int c, int8_t *y) {
    for (int64_t i = 0; i < f->n; i++) {
        if (f->target)
            y[i] = f->target[i * f->n_targets + c] == 1 ? 1 : -1;
        else
            y[i] = f->label[i] < 0 ? 0 : f->label[i] == c ? 1 : -1;
    }
}

// ---- judging ------------------------------------------------------------------------------------

static SrStatus judge_class(const SrMatrix *f, const float *scores, int c, int classes,
                            double *ap) {
    float *score = sr_alloc((size_t)f->n * sizeof *score + 1);
    int8_t *relevant = sr_alloc((size_t)f->n + 1);
    SrStatus status = score && relevant ? SR_OK : out_of_memory();
    for (int64_t i = 0; status == SR_OK && i < f->n; i++) {
        score[i] = scores[i * classes + c];
        relevant[i] = f->target         ? f->target[i * f->n_targets + c]
                      : f->label[i] < 0 ? (int8_t)-1
                                        : (int8_t)(f->label[i] == c);
    }
    if (status == SR_OK)
        status = sr_average_precision(score, relevant, f->n, SR_AP_ENVELOPE, ap);
    sr_free(score);
    sr_free(relevant);
    return status;
}

// Computes the accuracy; among equal scores the smaller class is predicted.
static double accuracy_of(const SrMatrix *f, const float *scores, const double *chosen,
                          int classes) {
    int64_t hits = 0, judged = 0;
    for (int64_t i = 0; i < f->n; i++) {
        int best = -1;
        for (int c = 0; c < classes; c++)
            if (chosen[c] >= 0 &&
                (best < 0 || scores[i * classes + c] > scores[i * classes + best]))
                best = c;
        judged += f->label[i] >= 0;
        hits += f->label[i] >= 0 && f->label[i] == best;
    }
    return judged ? 100.0 * (double)hits / (double)judged : 0;
}

SrStatus sr_svm_judge(const SrMatrix *test, const float *scores, const double *chosen, int classes,
                      double *ap, double *mean_ap, double *accuracy) {
    double sum = 0;
    int n = 0;
    for (int c = 0; c < classes; c++) {
        double value = -1;
        if (chosen[c] >= 0)
            SR_TRY(judge_class(test, scores, c, classes, &value));
        sum += value >= 0 ? value : 0;
        n += value >= 0;
        if (ap)
            ap[c] = value;
    }
    *mean_ap = n ? sum / n : 0;
    *accuracy = test->target ? -1 : accuracy_of(test, scores, chosen, classes);
    return SR_OK;
}

// ---- cross-validation ---------------------------------------------------------------------------

// Assigns folds as sklearn's StratifiedKFold does without shuffling.  Images sorted by class, in
// the order of first appearance, are dealt out in turn.  That gives the number of images that a
// fold gets of each class.  The images of a class then fill the folds in their own order.  fold:
// (n), -1 for rows with y = 0.
static void stratify(const int8_t *y, int64_t n, int folds, int *fold) {
    int64_t count[2] = {0, 0}, quota[2][100] = {{0}}; // index 0: the class seen first
    int8_t first = 0;
    for (int64_t i = 0; i < n; i++) {
        first = first ? first : y[i];
        count[0] += y[i] && y[i] == first;
        count[1] += y[i] && y[i] != first;
    }
    for (int64_t i = 0; i < count[0] + count[1]; i++)
        quota[i >= count[0]][i % folds]++;
    int at[2] = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        fold[i] = -1;
        if (!y[i])
            continue;
        int k = y[i] != first;
        while (quota[k][at[k]] == 0)
            at[k]++;
        quota[k][at[k]]--;
        fold[i] = at[k];
    }
}

// Memory for comparing the costs of one class.
typedef struct {
    int8_t *y, *part;         // (n); (folds, n) with 0 for the fold's own rows
    int *fold;                // (n)
    float *score;             // (n, n_costs * folds)
    double *w;                // (n_costs * folds, d + 1)
    SrLinearProblem *problem; // (n_costs * folds), cost by cost
} Validation;

static SrStatus validation_init(Validation *v, const SrMatrix *f, int folds, int n_costs) {
    size_t n = (size_t)f->n, problems = (size_t)n_costs * (size_t)folds;
    v->y = sr_alloc(n);
    v->part = sr_alloc(n * (size_t)folds);
    v->fold = sr_alloc(n * sizeof *v->fold);
    v->score = sr_alloc(n * problems * sizeof *v->score);
    v->w = sr_alloc(problems * ((size_t)f->d + 1) * sizeof *v->w);
    v->problem = sr_calloc(problems, sizeof *v->problem);
    return v->y && v->part && v->fold && v->score && v->w && v->problem ? SR_OK : out_of_memory();
}

static void validation_deinit(Validation *v) {
    sr_free(v->y);
    sr_free(v->part);
    sr_free(v->fold);
    sr_free(v->score);
    sr_free(v->w);
    sr_free(v->problem);
}

// Computes the average precision of problem p on fold k, the rows that it was not trained on.
static SrStatus validate_fold(Validation *v, int64_t n, int p, int problems, int k, double *ap) {
    float *score = sr_alloc((size_t)n * sizeof *score);
    int8_t *relevant = sr_alloc((size_t)n);
    SrStatus status = score && relevant ? SR_OK : out_of_memory();
    for (int64_t i = 0; status == SR_OK && i < n; i++) {
        score[i] = v->score[i * problems + p];
        relevant[i] = v->fold[i] != k ? (int8_t)-1 : (int8_t)(v->y[i] > 0);
    }
    if (status == SR_OK)
        status = sr_average_precision(score, relevant, n, SR_AP_STEPS, ap);
    sr_free(score);
    sr_free(relevant);
    return status;
}

static SrStatus validate_class(Validation *v, const SrSvmConfig *c, const SrLinearRows *rows,
                               const SrMatrix *f, SrLinearKind kind, const double *cost,
                               int n_costs, double *ap) {
    int problems = n_costs * c->folds;
    stratify(v->y, f->n, c->folds, v->fold);
    for (int k = 0; k < c->folds; k++)
        for (int64_t i = 0; i < f->n; i++)
            v->part[k * f->n + i] = v->fold[i] == k ? 0 : v->y[i];
    for (int p = 0; p < problems; p++)
        v->problem[p] = (SrLinearProblem){v->part + p % c->folds * f->n, cost[p / c->folds],
                                          SR_SVM_POSITIVE_WEIGHT, v->w + (int64_t)p * (f->d + 1)};
    SR_TRY(sr_linear_train(rows, kind, SR_SVM_TOLERANCE, v->problem, problems));
    SR_TRY(sr_linear_scores(f, v->w, problems, v->score));
    for (int i = 0; i < n_costs; i++) {
        double sum = 0;
        int n = 0;
        for (int k = 0; k < c->folds; k++) {
            double value;
            SR_TRY(validate_fold(v, f->n, i * c->folds + k, problems, k, &value));
            sum += value >= 0 ? value : 0;
            n += value >= 0;
        }
        ap[i] = n ? sum / n : -1;
    }
    return SR_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

static int best_of(const double *value, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (value[i] > value[best])
            best = i;
    return best;
}

// Chooses the cost of each class; shared: one cost for all classes.
static void choose_costs(SrSvmResult *r, bool shared) {
    double mean[MAX_COSTS] = {0};
    for (int c = 0; shared && c < r->classes; c++)
        for (int i = 0; r->chosen[c] >= 0 && i < r->n_costs; i++)
            mean[i] += r->crossval_ap[c * r->n_costs + i];
    for (int c = 0; c < r->classes; c++) {
        const double *ap = shared ? mean : r->crossval_ap + c * r->n_costs;
        if (r->chosen[c] >= 0)
            r->chosen[c] = r->cost[best_of(ap, r->n_costs)];
    }
}

static SrStatus refit(const SrLinearRows *rows, const SrMatrix *f, SrLinearKind kind,
                      SrSvmResult *r) {
    int8_t *y = sr_alloc((size_t)f->n * (size_t)r->classes);
    SrLinearProblem *problem = sr_calloc((size_t)r->classes, sizeof *problem);
    SrStatus status = y && problem ? SR_OK : out_of_memory();
    int n = 0;
    for (int c = 0; status == SR_OK && c < r->classes; c++) {
        if (r->chosen[c] < 0)
            continue;
        sr_svm_targets(f, c, y + c * f->n);
        problem[n++] = (SrLinearProblem){y + c * f->n, r->chosen[c], SR_SVM_POSITIVE_WEIGHT,
                                         r->w + (int64_t)c * (f->d + 1)};
    }
    if (status == SR_OK)
        status = sr_linear_train(rows, kind, SR_SVM_TOLERANCE, problem, n);
    sr_free(y);
    sr_free(problem);
    return status;
}

static SrStatus test_result(const SrMatrix *test, SrSvmResult *r) {
    float *scores = sr_alloc((size_t)test->n * (size_t)r->classes * sizeof *scores);
    if (!scores)
        return out_of_memory();
    SrStatus status = sr_linear_scores(test, r->w, r->classes, scores);
    if (status == SR_OK)
        status =
            sr_svm_judge(test, scores, r->chosen, r->classes, r->ap, &r->mean_ap, &r->accuracy);
    sr_free(scores);
    return status;
}

static SrStatus result_init(const SrSvmConfig *config, const SrMatrix *train, SrArena *arena,
                            SrSvmResult *out) {
    int classes = sr_matrix_classes(train);
    *out = (SrSvmResult){.classes = classes};
    SR_TRY(sr_svm_costs(config, arena, &out->cost, &out->n_costs));
    size_t n = (size_t)classes;
    out->crossval_ap = sr_arena_alloc(arena, n * (size_t)out->n_costs * sizeof(double));
    out->chosen = sr_arena_alloc(arena, n * sizeof(double));
    out->ap = sr_arena_alloc(arena, n * sizeof(double));
    out->w = sr_arena_alloc(arena, n * ((size_t)train->d + 1) * sizeof(double));
    if (!out->crossval_ap || !out->chosen || !out->ap || !out->w)
        return out_of_memory();
    for (int c = 0; c < classes; c++)
        out->chosen[c] = wanted(config, c) ? out->cost[0] : -1;
    for (int i = 0; i < classes * out->n_costs; i++)
        out->crossval_ap[i] = -1;
    memset(out->w, 0, n * ((size_t)train->d + 1) * sizeof(double));
    return SR_OK;
}

SrStatus sr_svm(const SrSvmConfig *config, SrMatrix *train, SrMatrix *test, SrArena *arena,
                SrSvmResult *out) {
    SrLinearRows *rows = NULL;
    SrLinearKind kind = SR_LINEAR_SQUARED_HINGE;
    Validation v = {.y = NULL};
    SrBar bar;
    SrStatus status;
    SR_TRY(sr_svm_check(config, train, test, &kind));
    SR_TRY(result_init(config, train, arena, out));
    if (config->normalize) {
        sr_matrix_normalize(train, SR_SVM_NORM_PLUS);
        sr_matrix_normalize(test, SR_SVM_NORM_PLUS);
    }
    SR_TRY_GOTO(sr_linear_rows_new(train, &rows));
    if (out->n_costs > 1) {
        SR_TRY_GOTO(validation_init(&v, train, config->folds, out->n_costs));
        sr_bar_begin(&bar, "classes validated", out->classes);
        for (int c = 0; c < out->classes; c++) {
            sr_bar_at(&bar, c);
            if (out->chosen[c] < 0)
                continue;
            sr_svm_targets(train, c, v.y);
            SR_TRY_GOTO(validate_class(&v, config, rows, train, kind, out->cost, out->n_costs,
                                       out->crossval_ap + c * out->n_costs));
        }
        sr_bar_end(&bar);
        choose_costs(out, !train->target);
    }
    SR_TRY_GOTO(refit(rows, train, kind, out));
    SR_TRY_GOTO(test_result(test, out));
done:
    validation_deinit(&v);
    sr_linear_rows_free(rows);
    return status;
}
