// Support vector machines on a few images per class: draws, training, statistics over the draws.
#include "measure/probes/svm_low_shot.h"

#include "measure/probes/svm.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

#define NEGATIVES 19 // negatives per positive if images have several labels (VISSL's rule for VOC)

typedef struct {
    const SrSvmConfig *config;
    uint64_t seed;
    SrMatrix *train, *test;
    SrLinearRows *rows;
    SrLinearKind kind;
    int classes;
    uint32_t *order; // (train->n) images of one class
    int8_t *has;     // (train->n) one class's targets
    int8_t *y;       // (classes, train->n) of one draw
    double *w;       // (classes, d + 1)
    float *scores;   // (test->n, classes)
    double *chosen;  // (classes)
} LowShot;

static SrStatus out_of_memory(void) { return sr_out_of_memory("low-shot classifiers"); }

// Runs the first steps of a Fisher-Yates shuffle.
void sr_low_shot_draw(const SrLowShotDraw *d, int class, const int8_t *has, int64_t n, int8_t sign,
                      int want, uint32_t *order, int8_t *y) {
    uint32_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (has[i] == sign)
            order[count++] = (uint32_t)i;
    SrRng rng = sr_rng(d->seed, SR_RNG_LOW_SHOT, (uint64_t)d->sample, (uint64_t) class,
                       (uint32_t)d->k, sign > 0);
    for (uint32_t i = 0; i < count && (int64_t)i < want; i++) {
        uint32_t j = i + sr_rng_below(&rng, count - i), t = order[j];
        order[j] = order[i];
        order[i] = t;
        y[t] = sign;
    }
}

// Draws the images.  With one label per image, all classes train on the same images.  With several
// labels, each class has its own.
static void draw_targets(LowShot *l, int sample, int k) {
    int64_t n = l->train->n;
    SrLowShotDraw d = {l->seed, sample, k};
    memset(l->y, 0, (size_t)(n * l->classes));
    for (int c = 0; c < l->classes; c++) {
        sr_svm_targets(l->train, c, l->has);
        sr_low_shot_draw(&d, c, l->has, n, 1, k, l->order, l->y + c * n);
        if (l->train->target)
            sr_low_shot_draw(&d, c, l->has, n, -1, NEGATIVES * k, l->order, l->y + c * n);
    }
    for (int64_t i = 0; !l->train->target && i < n; i++) {
        int64_t label = l->train->label[i];
        bool taken = label >= 0 && l->y[label * n + i] == 1;
        for (int c = 0; taken && c < l->classes; c++)
            l->y[c * n + i] = c == label ? 1 : -1;
    }
}

// Trains and judges one draw at one cost.  *out: accuracy or mean AP, in per cent.
static SrStatus measure(LowShot *l, double cost, double *out) {
    SrLinearProblem *problem = sr_calloc((size_t)l->classes, sizeof *problem);
    double mean_ap = 0, accuracy = 0;
    if (!problem)
        return out_of_memory();
    for (int c = 0; c < l->classes; c++) {
        problem[c] = (SrLinearProblem){l->y + c * l->train->n, cost, SR_SVM_POSITIVE_WEIGHT,
                                       l->w + (int64_t)c * (l->train->d + 1)};
        l->chosen[c] = cost;
    }
    SrStatus status = sr_linear_train(l->rows, l->kind, SR_SVM_TOLERANCE, problem, l->classes);
    sr_free(problem);
    SR_TRY(status);
    SR_TRY(sr_linear_scores(l->test, l->w, l->classes, l->scores));
    SR_TRY(sr_svm_judge(l->test, l->scores, l->chosen, l->classes, NULL, &mean_ap, &accuracy));
    *out = accuracy >= 0 ? accuracy : 100 * mean_ap;
    return SR_OK;
}

static void add(SrLowShotResult *r, double value) {
    r->min = r->n ? fmin(r->min, value) : value;
    r->max = r->n ? fmax(r->max, value) : value;
    r->mean += value;
    r->std += value * value;
    r->n++;
}

// Computes numpy's standard deviation, which divides by n, not n - 1.
static void finish(SrLowShotResult *r) {
    r->mean /= r->n;
    r->std = sqrt(fmax(r->std / r->n - r->mean * r->mean, 0));
}

// Loops over costs inside a draw, so that each draw is made once.
static SrStatus run(LowShot *l, const double *cost, int n_costs, SrLowShotResult *out) {
    const SrInts *ks = &l->config->low_shot_k, *draws = &l->config->low_shot_draws;
    for (int a = 0; a < ks->n; a++) {
        SrLowShotResult *r = out + a * n_costs;
        for (int i = 0; i < n_costs; i++)
            r[i] = (SrLowShotResult){.k = ks->v[a], .cost = cost[i]};
        for (int s = 0; s < draws->n; s++) {
            draw_targets(l, draws->v[s], ks->v[a]);
            for (int i = 0; i < n_costs; i++) {
                double value = 0;
                SR_TRY(measure(l, cost[i], &value));
                add(&r[i], value);
            }
        }
        for (int i = 0; i < n_costs; i++)
            finish(&r[i]);
    }
    return SR_OK;
}

static SrStatus low_shot_init(LowShot *l) {
    size_t n = (size_t)l->train->n, classes = (size_t)l->classes;
    l->order = sr_alloc(n * sizeof *l->order);
    l->has = sr_alloc(n);
    l->y = sr_alloc(n * classes);
    l->w = sr_alloc(classes * ((size_t)l->train->d + 1) * sizeof *l->w);
    l->scores = sr_alloc((size_t)l->test->n * classes * sizeof *l->scores);
    l->chosen = sr_alloc(classes * sizeof *l->chosen);
    if (!l->order || !l->has || !l->y || !l->w || !l->scores || !l->chosen)
        return out_of_memory();
    return sr_linear_rows_new(l->train, &l->rows);
}

static void low_shot_deinit(LowShot *l) {
    sr_free(l->order);
    sr_free(l->has);
    sr_free(l->y);
    sr_free(l->w);
    sr_free(l->scores);
    sr_free(l->chosen);
    sr_linear_rows_free(l->rows);
}

SrStatus sr_svm_low_shot(const SrSvmConfig *config, uint64_t seed, SrMatrix *train, SrMatrix *test,
                         SrArena *arena, SrLowShotResult **out, int *n) {
    LowShot l = {.config = config, .seed = seed, .train = train, .test = test};
    double *cost;
    int n_costs;
    SrStatus status;
    l.classes = sr_matrix_classes(train);
    SR_TRY(sr_svm_check(config, train, test, &l.kind));
    SR_TRY(sr_svm_costs(config, arena, &cost, &n_costs));
    if (config->low_shot_k.n < 1 || config->low_shot_draws.n < 1)
        SR_FAIL(SR_ERR_CONFIG,
                "SVM.low_shot: k_values and sample_inds need at least one entry each");
    *n = config->low_shot_k.n * n_costs;
    *out = sr_arena_alloc(arena, (size_t)*n * sizeof **out);
    if (!*out)
        return out_of_memory();
    if (config->normalize) {
        sr_matrix_normalize(train, SR_SVM_NORM_PLUS);
        sr_matrix_normalize(test, SR_SVM_NORM_PLUS);
    }
    SR_TRY_GOTO(low_shot_init(&l));
    SR_TRY_GOTO(run(&l, cost, n_costs, *out));
done:
    low_shot_deinit(&l);
    return status;
}
