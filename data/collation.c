// A collator's plan: from views to the tensors of a batch.  Not the collators (data/collators/), not
// the writing (loader.c).
#include <string.h>

#include "base/compiler.h"
#include "data/data.h"

SrStatus sr_batch_plan_input(SrBatchPlan *plan, const char *name, int first, int n) {
    for (int v = first + 1; v < first + n; v++)
        if (plan->h[v] != plan->h[first] || plan->w[v] != plan->w[first])
            SR_FAIL(SR_ERR_CONFIG,
                    "puts views into one tensor '%s', but view %d is %d x %d and view %d is %d x "
                    "%d; multicrop_collator takes several sizes",
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
    return ((int64_t)image * in->rows + plan->place[v].k) * in->h * in->w * 3;
}

SrStatus sr_collation_new(const char *name, const SrYaml *options, const char *where, int n_views,
                          const int h[64], const int w[64], SrArena *arena, SrCollation *out) {
    static const SrOption none[] = {SR_OPTION_END};
    const SrCollator *c;
    SrStatus status = sr_collator_find(name, &c);
    if (status != SR_OK)
        return sr_fail_prefix(status, "%s.COLLATE_FUNCTION", where);
    *out = (SrCollation){.collator = c, .plan = {.n_views = n_views}};
    memcpy(out->plan.h, h, (size_t)n_views * sizeof *h);
    memcpy(out->plan.w, w, (size_t)n_views * sizeof *w);
    out->params = sr_arena_alloc(arena, SR_MAX(c->params_bytes, 1));
    const char *place = sr_arena_printf(arena, "%s.COLLATE_FUNCTION_PARAMS", where);
    if (!out->params || !place)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for COLLATE_FUNCTION %s", name);
    const SrOption *table = c->options ? c->options : none;
    SR_TRY(sr_options_parse(table, options, place, arena, out->params));
    SR_TRY(sr_options_report(table, options, place, arena));
    status = c->plan(out->params, &out->plan);
    return status == SR_OK ? SR_OK : sr_fail_prefix(status, "%s.COLLATE_FUNCTION: %s", where, name);
}
