// Linear probe with a chosen penalty: the held-out rows, the search over costs, the last fit.
#include "measure/probes/chosen_probe.h"

#include "base/mem.h"
#include "base/rng.h"
#include "measure/probes/logreg.h"

static const double costs[] = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};

static int64_t count_labelled(const SrMatrix *f) {
    int64_t n = 0;
    for (int64_t i = 0; i < f->n; i++)
        n += f->label[i] >= 0;
    return n;
}

// lambda is relative to the rows that logistic regression fits, which are the labelled ones.
static SrStatus fit(const SrMatrix *train, const SrMatrix *test, double cost, double *accuracy) {
    SrArena arena = SR_ARENA_INIT;
    double lambda = (double)count_labelled(train) / cost;
    SrLowShotConfig config = {.lambdas = {.v = &lambda, .n = 1},
                              .max_iter = SR_CHOSEN_PROBE_MAX_ITER};
    SrLogregResult *r;
    int n;
    SrStatus status = sr_logreg(&config, 0, train, test, &arena, &r, &n);
    if (status == SR_OK)
        *accuracy = r[0].test;
    sr_arena_deinit(&arena);
    return status;
}

// Draws the rows of the choice.  The draw depends on the row's index alone, so that two layers of
// the same images are compared on the same rows.
static bool takes_part(const SrRowView *f, int64_t i) {
    SrRng rng = sr_rng(0, SR_RNG_SUBSET, 0, (uint64_t)i, 0, 0);
    return f->n <= SR_CHOSEN_PROBE_ROWS ||
           sr_rng_uniform(&rng) * (double)f->n < (double)SR_CHOSEN_PROBE_ROWS;
}

// Takes the rows that are held out, or the others.  The second row of each class and every fifth
// row after it are held out, so that the fit sees every class.
static SrStatus part(const SrRowView *f, bool held_out, SrMatrix *out) {
    int64_t *row = sr_alloc((size_t)f->n * sizeof *row), n = 0;
    int64_t *seen = sr_calloc((size_t)sr_row_view_classes(f) + 1, sizeof *seen); // rows of each
    SrStatus status = row && seen ? SR_OK : sr_out_of_memory("a probe");
    for (int64_t i = 0; status == SR_OK && i < f->n; i++) {
        int64_t label = sr_row_view_label(f, i);
        if (label >= 0 && takes_part(f, i) &&
            (seen[label]++ % SR_CHOSEN_PROBE_FOLD == 1) == held_out)
            row[n++] = i;
    }
    if (status == SR_OK)
        status = sr_row_view_take(f, row, n, out);
    sr_free(row);
    sr_free(seen);
    return status;
}

// Starts with the strongest penalty, which converges soonest.  Two consecutive costs that are no
// better end the search.
static SrStatus choose(const SrMatrix *fitted, const SrMatrix *judged, SrChosenProbe *out) {
    out->held_out = -1;
    for (int i = 0, worse = 0; i < SR_COUNT(costs) && worse < 2; i++) {
        double accuracy;
        SR_TRY(fit(fitted, judged, costs[i], &accuracy));
        worse = accuracy > out->held_out ? 0 : worse + 1;
        if (worse > 0)
            continue;
        out->held_out = accuracy;
        out->cost = costs[i];
    }
    return SR_OK;
}

SrStatus sr_chosen_probe_cost(const SrRowView *rows, SrChosenProbe *out) {
    SrMatrix fitted = {0}, judged = {0};
    SrStatus status;
    *out = (SrChosenProbe){0};
    SR_TRY_GOTO(part(rows, false, &fitted));
    SR_TRY_GOTO(part(rows, true, &judged));
    SR_TRY_GOTO(choose(&fitted, &judged, out));
done:
    sr_matrix_deinit(&fitted);
    sr_matrix_deinit(&judged);
    return status;
}

SrStatus sr_chosen_probe(const SrMatrix *train, const SrMatrix *test, SrChosenProbe *out) {
    const SrRowView rows = sr_row_view(train);
    SR_TRY(sr_chosen_probe_cost(&rows, out));
    return fit(train, test, out->cost, &out->test);
}
