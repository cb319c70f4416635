// Runs the golden case collators: view k of sample s is filled with the number 100 * s + k, so that
// the outputs show the layout.
//
// The case holds tensors NAME.<key>, or NAME.<key><i> for one of a list, and NAME.label, data_idx
// and data_valid. VISSL repeats the last three for each row; sslrun has one per image, and row r
// belongs to image r mod N. MoCo's have shape (N, 2).
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/text.h"
#include "data/collation.h"
#include "data/collator.h"
#include "tests/golden/golden.h"

typedef struct {
    SrGoldenCase *c;
    SrCollation collation;
    int batch;
} Run;

// Returns "simclr_collator.data0", or the name without a number if the key has one tensor.
static const char *part(const Run *r, const char *key, int i) {
    const char *name = r->collation.collator->name;
    const char *numbered = sr_arena_printf(r->c->arena, "%s.%s%d", name, key, i);
    return numbered && golden_tensor(r->c, numbered)
               ? numbered
               : sr_arena_printf(r->c->arena, "%s.%s", name, key);
}

// Makes a batch as the loader does, with views filled like those of the case.
static SrStatus fill(const Run *r, float *input[SR_MAX_VIEWS]) {
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

// Compares the inputs of one key with one tensor. Where VISSL makes one tensor of several inputs,
// its rows are view-major.
static SrStatus compare_inputs(const Run *r, float *input[SR_MAX_VIEWS]) {
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
    int64_t repeated = t->shape.rank > 1 ? t->shape.d[1] : 1; // MoCo has (N, 2)
    for (int64_t i = 0; i < n; i++)
        ours[i] = reference[i / repeated % r->batch * repeated];
    return golden_compare(r->c, name, ours, n, 1e-7);
}

// Reads the numbers of images and views and the sizes of views from the collator's tensors: the
// value of a row says which image and view it is.
static SrStatus read_views(SrGoldenCase *c, const char *name, SrCollateViews *views, int *batch) {
    for (int i = 0; i < c->tensors->n; i++) {
        const SrNamedTensor *t = &c->tensors->tensors[i];
        const int *d = t->tensor.shape.d; // (rows, C, H, W)
        if (!sr_text_starts(t->name, name) || t->tensor.shape.rank != 4)
            continue;
        int64_t n = 0;
        const float *values = golden_floats(c, t->name, &n);
        for (int row = 0; values && row < d[0]; row++) {
            int value = (int)values[(int64_t)row * (n / d[0])], v = value % 100;
            if (v >= SR_MAX_VIEWS)
                SR_FAIL(SR_ERR_RUN, "%s: view %d is more than a batch has", t->name, v);
            *batch = SR_MAX(*batch, value / 100 + 1);
            views->n = SR_MAX(views->n, v + 1);
            views->h[v] = d[2];
            views->w[v] = d[3];
        }
    }
    return SR_OK;
}

// Compares one collator; does nothing if the case has no tensor of it.
static SrStatus run_collator(SrGoldenCase *c, const char *name) {
    Run r = {.c = c};
    float *input[SR_MAX_VIEWS];
    SrCollateViews views = {.n = 0};
    const char *prefix = sr_arena_printf(c->arena, "%s.", name);
    SR_TRY(read_views(c, prefix ? prefix : name, &views, &r.batch));
    if (views.n == 0)
        return SR_OK;
    SR_TRY(sr_collation_new(name, NULL, "DATA.TRAIN", &views, c->arena, &r.collation));
    SR_TRY(fill(&r, input));
    SR_TRY(compare_inputs(&r, input));
    SR_TRY(compare_numbers(&r, "label"));
    return compare_numbers(&r, "data_valid");
}

static SrStatus run(SrGoldenCase *c) {
    static const char *const names[] = {"default_collate",          "simclr_collator",
                                        "multicrop_collator",       "moco_collator",
                                        "patch_and_image_collator", "siamese_collator"};
    for (int i = 0; i < SR_COUNT(names); i++)
        SR_TRY(run_collator(c, names[i]));
    return SR_OK;
}

const SrGolden sr_golden_collators = {.prefixes = {"collators"}, .run = run};
