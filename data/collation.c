// Makes a collator's plan for the views of a pipeline.  The collators are in data/collators/.
#include "data/collation.h"

#include <string.h>

#include "base/compiler.h"

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
