// moco_collator: the query's view and the key's, `data` and `data_momentum` (VISSL; MoCo,
// arXiv:1911.05722).
#include "data/collator.h"

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    if (p->n_views != 2)
        SR_FAIL(SR_ERR_CONFIG, "needs 2 views per image, but the transforms make %d", p->n_views);
    SR_TRY(sr_batch_plan_input(p, "data", 0, 1));
    return sr_batch_plan_input(p, "data_momentum", 1, 1);
}

const SrCollator sr_collator_moco_collator = {
    .name = "moco_collator",
    .help = "Two views per image: one for the query encoder, one for the momentum encoder.",
    .plan = plan,
    .examples = &(SrCollatorExample){.sizes = {8, 6}, .masks = true},
    .n_examples = 1,
};
