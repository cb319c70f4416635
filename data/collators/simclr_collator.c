// simclr_collator: gives all images of the first view, then all of the second (VISSL).  Each view
// is an input of its own, because the model passes views of one size through the trunk together
// anyway.
#include "data/collator.h"

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    for (int v = 1; v < p->n_views; v++)
        if (p->h[v] != p->h[0] || p->w[v] != p->w[0])
            SR_FAIL(SR_ERR_CONFIG,
                    "puts all views into one tensor, but view %d is %d x %d and view 0 is %d x %d; "
                    "use multicrop_collator for views of several sizes",
                    v, p->h[v], p->w[v], p->h[0], p->w[0]);
    return sr_batch_plan_list(p, "data");
}

const SrCollator sr_collator_simclr_collator = {
    .name = "simclr_collator",
    .help = "All views of one size in one tensor, first view of all images first.",
    .plan = plan,
    .examples = &(SrCollatorExample){.sizes = {8, 8}, .masks = true},
    .n_examples = 1,
};
