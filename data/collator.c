// The list of collators, and what collators plan with: places of views and extras in the tensors of
// a batch.
#include "data/collator.h"

#include <string.h>

#include "base/compiler.h"
#include "base/plugin/plugin.h"
#include "data/image.h"
#include "gen/collator.def"

SR_REGISTRY(SrCollator, collator, collator, "collator")

SrStatus sr_batch_plan_input(SrBatchPlan *plan, const char *name, int first, int n) {
    SR_ASSERT(first >= 0 && n > 0 && first + n <= plan->n_views && plan->n_inputs < SR_MAX_VIEWS);
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
    SR_ASSERT(v >= 0 && v < plan->n_views && plan->place[v].input < plan->n_inputs);
    const SrBatchInput *in = &plan->input[plan->place[v].input];
    SR_ASSERT(plan->place[v].k >= 0 && plan->place[v].k < in->rows && image >= 0);
    return ((int64_t)image * in->rows + plan->place[v].k) * in->h * in->w *
           sr_channels(plan->channels);
}

int sr_batch_plan_images(const SrBatchPlan *plan, int images) {
    int merged = SR_MAX(plan->merged, 1);
    return (images + merged - 1) / merged;
}

SrStatus sr_batch_plan_take(SrBatchPlan *plan, int made) {
    SR_ASSERT(made >= 0 && made < plan->made.n);
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
