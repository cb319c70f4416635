// toy_collate: one view per image, shown upside down; tests/toy.sh adds it to a copy of the tree.
#include "data/collator.h"

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    if (p->n_views != 1)
        SR_FAIL(SR_ERR_CONFIG, "needs 1 view per image, but the transforms make %d", p->n_views);
    return sr_batch_plan_input(p, "data", 0, 1);
}

// Each image's first and last pixel change places.
static void fill(const void *params, const SrBatchPlan *p, const SrCollateContext *ctx,
                 SrBatch *batch) {
    (void)params, (void)ctx;
    int n = p->input[0].h * p->input[0].w * 3;
    for (int i = 0; i < batch->batch; i++) {
        float *x = batch->view[0] + (int64_t)i * n, first = x[0]; // (h, w, 3)
        x[0] = x[n - 3];
        x[n - 3] = first;
    }
}

const SrCollator sr_collator_toy_collate = {
    .name = "toy_collate",
    .help = "One view per image, with two of its pixels exchanged.",
    .plan = plan,
    .fill = fill,
    .examples = &(SrCollatorExample){.sizes = {8}},
    .n_examples = 1,
};
