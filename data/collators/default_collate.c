// default_collate: torch.utils.data.default_collate, for one view per image.
#include "data/collator.h"

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    if (p->n_views != 1)
        SR_FAIL(SR_ERR_CONFIG, "needs 1 view per image, but the transforms make %d", p->n_views);
    return sr_batch_plan_input(p, "data", 0, 1);
}

const SrCollator sr_collator_default_collate = {
    .name = "default_collate",
    .help = "One view per image: a tensor (N, ...) and N labels.",
    .plan = plan,
    .examples = &(SrCollatorExample){.sizes = {8}, .masks = true},
    .n_examples = 1,
};
