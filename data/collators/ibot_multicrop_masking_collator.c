// ibot_multicrop_masking_collator: the largest views are `global_views`, with the masks that
// MaskedImageModeling made of them, all others `local_views` (VISSL; iBOT, arXiv:2111.07832).
#include "base/compiler.h"
#include "data/collator.h"

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    int side = 0, masks = 0;
    for (int v = 0; v < p->n_views; v++)
        side = SR_MAX(side, p->h[v]);
    for (int v = 0; v < p->n_views; v++)
        SR_TRY(sr_batch_plan_input(p, p->h[v] == side ? "global_views" : "local_views", v, 1));
    for (int i = 0; i < p->made.n; i++) {
        if (p->h[p->made.v[i].view] != side)
            continue;
        SR_TRY(sr_batch_plan_take(p, i));
        masks++;
    }
    if (masks == 0)
        SR_FAIL(SR_ERR_CONFIG, "needs masks of the largest views; add {name: MaskedImageModeling} "
                               "at the end of the transforms");
    return SR_OK;
}

const SrCollator sr_collator_ibot_multicrop_masking_collator = {
    .name = "ibot_multicrop_masking_collator",
    .help = "The largest views and their masks as `global_views`, the others as `local_views`.",
    .plan = plan,
    .plans_extras = true,
    .examples = &(SrCollatorExample){.sizes = {8, 8, 4}, .masks = true},
    .n_examples = 1,
};
