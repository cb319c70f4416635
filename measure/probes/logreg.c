// Logistic regression: draws of training images, standardised columns, one training per lambda.
#include "measure/probes/logreg.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "measure/probes/softmax_regression.h"
#include "measure/probes/svm_low_shot.h"

#define TOLERANCE 1e-4

static SrStatus out_of_memory(void) { return sr_out_of_memory("logistic regression"); }

// Copies the labelled rows, or `per_class` random rows of each class if that is above 0.
static SrStatus choose_rows(const SrLowShotConfig *config, const SrMatrix *f, uint64_t seed,
                            int sample, SrMatrix *out) {
    int classes = sr_matrix_classes(f);
    size_t n = (size_t)f->n;
    int8_t *has = sr_calloc(n, 1), *y = sr_calloc(n, 1);
    uint32_t *order = sr_alloc(n * sizeof *order);
    int64_t *row = sr_alloc(n * sizeof *row), chosen = 0;
    SrStatus status = has && y && order && row ? SR_OK : out_of_memory();
    SrLowShotDraw draw = {seed, sample, config->per_class};
    for (int c = 0; status == SR_OK && c < classes && config->per_class > 0; c++) {
        sr_svm_targets(f, c, has);
        sr_low_shot_draw(&draw, c, has, f->n, 1, config->per_class, order, y);
    }
    for (int64_t i = 0; status == SR_OK && i < f->n; i++)
        if (config->per_class > 0 ? y[i] == 1 : f->target || f->label[i] >= 0)
            row[chosen++] = i;
    if (status == SR_OK)
        status = sr_matrix_take(f, row, chosen, out);
    sr_free(has);
    sr_free(y);
    sr_free(order);
    sr_free(row);
    return status;
}

// Memory of one draw.
typedef struct {
    SrMatrix train, test;
    SrLinearRows *rows; // NULL: one softmax for all classes
    int classes;
    double *w, *chosen;       // (classes, d + 1); (classes) zeros, so that all classes are judged
    int8_t *y;                // (classes, train.n)
    float *scores;            // (the larger of train.n and test.n, classes)
    SrLinearProblem *problem; // (classes)
} Draw;

static SrStatus draw_init(Draw *d, const SrLowShotConfig *config, uint64_t seed, int sample,
                          const SrMatrix *train, const SrMatrix *test) {
    SrLowShotConfig all = {.per_class = 0};
    d->classes = sr_matrix_classes(train);
    SR_TRY(choose_rows(config, train, seed, sample, &d->train));
    SR_TRY(choose_rows(&all, test, seed, sample, &d->test));
    SR_TRY(sr_matrix_standardize(&d->train, &d->test));
    if (config->one_vs_rest || train->target)
        SR_TRY(sr_linear_rows_new(&d->train, &d->rows));
    size_t classes = (size_t)d->classes;
    d->w = sr_alloc(classes * ((size_t)train->d + 1) * sizeof *d->w);
    d->chosen = sr_calloc(classes, sizeof *d->chosen);
    d->y = sr_alloc(classes * (size_t)d->train.n);
    d->scores = sr_alloc((size_t)SR_MAX(d->train.n, d->test.n) * classes * sizeof *d->scores);
    d->problem = sr_calloc(classes, sizeof *d->problem);
    return d->w && d->chosen && d->y && d->scores && d->problem ? SR_OK : out_of_memory();
}

static void draw_deinit(Draw *d) {
    sr_matrix_deinit(&d->train);
    sr_matrix_deinit(&d->test);
    sr_linear_rows_free(d->rows);
    sr_free(d->w);
    sr_free(d->chosen);
    sr_free(d->y);
    sr_free(d->scores);
    sr_free(d->problem);
}

static SrStatus score_side(Draw *d, const SrMatrix *side, double *out) {
    double mean_ap, accuracy;
    SR_TRY(sr_linear_scores(side, d->w, d->classes, d->scores));
    SR_TRY(sr_svm_judge(side, d->scores, d->chosen, d->classes, NULL, &mean_ap, &accuracy));
    *out = accuracy >= 0 ? accuracy : 100 * mean_ap;
    return SR_OK;
}

static SrStatus fit_one_vs_rest(Draw *d, double cost) {
    for (int c = 0; c < d->classes; c++) {
        int8_t *y = d->y + c * d->train.n;
        sr_svm_targets(&d->train, c, y);
        d->problem[c] = (SrLinearProblem){y, cost, 1.0, d->w + (int64_t)c * (d->train.d + 1)};
    }
    return sr_linear_train(d->rows, SR_LINEAR_LOGISTIC, TOLERANCE, d->problem, d->classes);
}

// Adds one draw to the result.  test_std holds the sum of squares until finish().
static SrStatus fit(Draw *d, int max_iter, SrLogregResult *r) {
    const SrRowView rows = sr_row_view(&d->train);
    double train, test, cost = (double)d->train.n / r->lambda;
    SR_TRY(d->rows ? fit_one_vs_rest(d, cost)
                   : sr_softmax_train(&rows, d->classes, cost, max_iter, d->w));
    SR_TRY(score_side(d, &d->train, &train));
    SR_TRY(score_side(d, &d->test, &test));
    r->train += train;
    r->test += test;
    r->test_std += test * test;
    r->images = d->train.n;
    r->n++;
    return SR_OK;
}

static void finish(SrLogregResult *r) {
    r->train /= r->n;
    r->test /= r->n;
    r->test_std = sqrt(fmax(r->test_std / r->n - r->test * r->test, 0));
}

SrStatus sr_logreg(const SrLowShotConfig *config, uint64_t seed, const SrMatrix *train,
                   const SrMatrix *test, SrArena *arena, SrLogregResult **out, int *n) {
    SrSvmConfig plain = {.loss = 0};
    SrLinearKind kind;
    SR_TRY(sr_svm_check(&plain, train, test, &kind));
    *n = config->lambdas.n;
    int draws = config->per_class > 0 ? config->seeds.n : 1;
    *out = sr_arena_alloc(arena, (size_t)(*n + 1) * sizeof **out);
    if (!*out)
        return out_of_memory();
    if (*n < 1 || draws < 1)
        SR_FAIL(SR_ERR_CONFIG, "LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION: LAMBDA and SEEDS need at "
                               "least one entry each");
    for (int i = 0; i < *n; i++)
        (*out)[i] = (SrLogregResult){.lambda = config->lambdas.v[i]};
    for (int s = 0; s < draws; s++) {
        Draw d = {.rows = NULL};
        SrStatus status =
            draw_init(&d, config, seed, config->seeds.n ? config->seeds.v[s] : 0, train, test);
        for (int i = 0; status == SR_OK && i < *n; i++)
            status = fit(&d, config->max_iter, *out + i);
        draw_deinit(&d);
        SR_TRY(status);
    }
    for (int i = 0; i < *n; i++)
        finish(*out + i);
    return SR_OK;
}
