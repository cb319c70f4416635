// Golden case collators: sample s, view k is filled with 100 * s + k; the outputs show the layout.
//
// Tensors NAME.<key> or NAME.<key><i> (one of a list), and NAME.label, data_idx, data_valid.  Those are
// one an image with us, of row r the image r mod N; MoCo's are (N, 2).
#include <stdio.h>
#include <string.h>

#include "data/data.h"
#include "tests/golden/golden.h"

typedef struct {
    SrGoldenCase *c;
    SrCollation collation;
    int batch;
} Run;

// "simclr_collator.data0", or without a number where there is one tensor.
static const char *part(const Run *r, const char *key, int i) {
    const char *name = r->collation.collator->name;
    const char *numbered = sr_arena_printf(r->c->arena, "%s.%s%d", name, key, i);
    return numbered && golden_tensor(r->c, numbered)
               ? numbered
               : sr_arena_printf(r->c->arena, "%s.%s", name, key);
}

// A batch of a loader whose views are filled like the case's.
static SrStatus fill(const Run *r, float *input[64]) {
    const SrBatchPlan *plan = &r->collation.plan;
    for (int i = 0; i < plan->n_inputs; i++) {
        const SrBatchInput *in = &plan->input[i];
        size_t floats = (size_t)(r->batch * in->rows * in->h * in->w * 3);
        input[i] = sr_arena_alloc(r->c->arena, floats * sizeof **input);
        if (!input[i])
            SR_FAIL(SR_ERR_MEMORY, "out of memory for a batch");
    }
    for (int image = 0; image < r->batch; image++)
        for (int v = 0; v < plan->n_views; v++)
            for (int p = 0; p < plan->h[v] * plan->w[v] * 3; p++)
                input[plan->place[v].input][sr_batch_offset(plan, v, image) + p] =
                    (float)(100 * image + v);
    return SR_OK;
}

// Inputs of one key are compared with one tensor: view-major where VISSL makes one tensor of them.
static SrStatus compare_inputs(const Run *r, float *input[64]) {
    const SrBatchPlan *plan = &r->collation.plan;
    const char *one = NULL;
    int64_t at = 0, n = 0;
    float *values = NULL;
    for (int i = 0, nth = 0; i < plan->n_inputs; i++) {
        const SrBatchInput *in = &plan->input[i];
        nth = i > 0 && !strcmp(in->name, plan->input[i - 1].name) ? nth + 1 : 0;
        int64_t count = (int64_t)r->batch * in->rows * in->h * in->w * 3;
        if (at == n) {
            one = part(r, in->name, nth);
            const float *reference = golden_floats(r->c, one, &n);
            at = 0;
            values = sr_arena_alloc(r->c->arena, (size_t)SR_MAX(n, 1) * sizeof *values);
            if (!reference || !values)
                SR_FAIL(SR_ERR_RUN, "%s: no tensor %s", r->c->name, one);
        }
        if (at + count > n)
            SR_FAIL(SR_ERR_RUN, "%s: %s has fewer rows than the plan", r->c->name, one);
        memcpy(values + at, input[i], (size_t)count * sizeof *values);
        at += count;
        if (at == n)
            SR_TRY(golden_compare(r->c, one, values, n, 1e-7));
    }
    return at == n ? SR_OK
                   : sr_fail(SR_ERR_RUN, "%s: %s has more rows than the plan", r->c->name, one);
}

static SrStatus compare_numbers(const Run *r, const char *key) {
    const char *name = part(r, key, 0);
    const SrTensor *t = golden_tensor(r->c, name);
    int64_t n;
    const float *reference = golden_floats(r->c, name, &n);
    float *ours = sr_arena_alloc(r->c->arena, (size_t)(n + 1) * sizeof *ours);
    if (!t || !reference || !ours || n < r->batch)
        SR_FAIL(SR_ERR_RUN, "%s: no tensor %s", r->c->name, name);
    int64_t repeated = t->shape.rank > 1 ? t->shape.d[1] : 1; // MoCo: (N, 2)
    for (int64_t i = 0; i < n; i++)
        ours[i] = reference[i / repeated % r->batch * repeated];
    return golden_compare(r->c, name, ours, n, 1e-7);
}

// The case's own batches: 3 images of 2 x 2 pixels in as many views.
static SrStatus run_collator(SrGoldenCase *c, const char *name, int n_views) {
    Run r = {.c = c, .batch = 3};
    float *input[64];
    SrCollateViews views = {.n = n_views};
    for (int v = 0; v < n_views; v++)
        views.h[v] = views.w[v] = 2;
    SR_TRY(sr_collation_new(name, NULL, "DATA.TRAIN", &views, c->arena, &r.collation));
    SR_TRY(fill(&r, input));
    SR_TRY(compare_inputs(&r, input));
    SR_TRY(compare_numbers(&r, "label"));
    return compare_numbers(&r, "data_valid");
}

static SrStatus run(SrGoldenCase *c) {
    SR_TRY(run_collator(c, "simclr_collator", 2));
    SR_TRY(run_collator(c, "multicrop_collator", 2));
    SR_TRY(run_collator(c, "moco_collator", 2));
    SR_TRY(run_collator(c, "patch_and_image_collator", 4));
    return run_collator(c, "siamese_collator", 4);
}

const SrGolden sr_golden_collators = {.prefixes = {"collators"}, .run = run};
