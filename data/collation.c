// Makes a collator's plan: places the views and extras of images in the tensors of a batch.  The
// collators are in data/collators/; loader.c writes the batches.
#include <string.h>

#include "base/compiler.h"
#include "data/data.h"

SrStatus sr_batch_plan_input(SrBatchPlan *plan, const char *name, int first, int n) {
    for (int v = first + 1; v < first + n; v++)
        if (plan->h[v] != plan->h[first] || plan->w[v] != plan->w[first])
            SR_FAIL(SR_ERR_CONFIG,
                    "puts views into one tensor '%s', but view %d is %d x %d and view %d is %d x "
                    "%d; use multicrop_collator for views of several sizes",
                    name, v, plan->h[v], plan->w[v], first, plan->h[first], plan->w[first]);
    for (int k = 0; k < n; k++) {
        plan->place[first + k].input = plan->n_inputs;
        plan->place[first + k].k = k;
    }
    plan->input[plan->n_inputs++] = (SrBatchInput){name, plan->h[first], plan->w[first], n};
    return SR_OK;
}

SrStatus sr_batch_plan_list(SrBatchPlan *plan, const char *name) {
    for (int v = 0; v < plan->n_views; v++)
        SR_TRY(sr_batch_plan_input(plan, name, v, 1));
    return SR_OK;
}

int64_t sr_batch_offset(const SrBatchPlan *plan, int v, int image) {
    const SrBatchInput *in = &plan->input[plan->place[v].input];
    return ((int64_t)image * in->rows + plan->place[v].k) * in->h * in->w *
           sr_channels(plan->channels);
}

int sr_batch_plan_images(const SrBatchPlan *plan, int images) {
    int merged = SR_MAX(plan->merged, 1);
    return (images + merged - 1) / merged;
}

// ---- extras

SrStatus sr_extras_add(SrExtras *extras, const SrBatchExtra *extra) {
    if (extras->n == SR_MAX_EXTRAS)
        SR_FAIL(SR_ERR_CONFIG, "a batch has more than %d tensors besides its pixels",
                SR_MAX_EXTRAS);
    extras->v[extras->n++] = *extra;
    return SR_OK;
}

int sr_extras_find(const SrExtras *extras, const char *name, int view) {
    for (int i = 0; i < extras->n; i++)
        if (extras->v[i].view == view && strcmp(extras->v[i].name, name) == 0)
            return i;
    return -1;
}

size_t sr_batch_extra_bytes(const SrBatchExtra *extra) {
    return (size_t)sr_shape_count(extra->shape) * sr_dtype_bytes(extra->dtype);
}

SrStatus sr_batch_plan_take(SrBatchPlan *plan, int made) {
    SrBatchExtra extra = plan->made.v[made];
    int view = extra.view;
    extra.view = plan->place[view].input;
    extra.from = made;
    if (plan->input[extra.view].rows != 1)
        SR_FAIL(SR_ERR_CONFIG,
                "puts several views into one tensor '%s', but the transforms make a tensor '%s' of "
                "each; multicrop_collator keeps them apart",
                plan->input[extra.view].name, extra.name);
    return sr_extras_add(&plan->extras, &extra);
}

void sr_one_hot(const int64_t *classes, int n, int n_targets, int64_t *out) {
    memset(out, 0, (size_t)n_targets * sizeof *out);
    for (int i = 0; i < n; i++)
        if (classes[i] >= 0 && classes[i] < n_targets)
            out[classes[i]] = 1;
}

// ---- the whole

static SrStatus make_plan(SrCollation *out) {
    SrBatchPlan *plan = &out->plan;
    SR_TRY(out->collator->plan(out->params, plan));
    for (int i = 0; !out->collator->plans_extras && i < plan->made.n; i++)
        SR_TRY(sr_batch_plan_take(plan, i));
    return SR_OK;
}

SrStatus sr_collation_new(const char *name, const SrYaml *options, const char *where,
                          const SrCollateViews *views, SrArena *arena, SrCollation *out) {
    static const SrOption none[] = {SR_OPTION_END};
    const SrCollator *c;
    SrStatus status = sr_collator_find(name, &c);
    if (status != SR_OK)
        return sr_fail_prefix(status, "%s.COLLATE_FUNCTION", where);
    *out = (SrCollation){
        .collator = c,
        .plan = {.n_views = views->n, .channels = views->channels, .made = views->extras}};
    memcpy(out->plan.h, views->h, (size_t)views->n * sizeof *views->h);
    memcpy(out->plan.w, views->w, (size_t)views->n * sizeof *views->w);
    out->params = sr_arena_alloc(arena, SR_MAX(c->params_bytes, 1));
    const char *place = sr_arena_printf(arena, "%s.COLLATE_FUNCTION_PARAMS", where);
    SR_TRY_MEMORY(out->params && place, "COLLATE_FUNCTION %s", name);
    const SrOption *table = c->options ? c->options : none;
    SR_TRY(sr_options_parse(table, options, place, arena, out->params));
    SR_TRY(sr_options_report(table, options, place, arena));
    status = make_plan(out);
    return status == SR_OK ? SR_OK : sr_fail_prefix(status, "%s.COLLATE_FUNCTION: %s", where, name);
}
