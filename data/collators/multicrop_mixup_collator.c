// multicrop_mixup_collator: multicrop_collator over blends of neighbours (VISSL; mixup,
// arXiv:1710.09412).  Images 2 m and 2 m + 1 become one, l x_2m + (1 - l) x_2m+1, with one l ~
// Beta(0.2, 0.2) for the batch.  Label, index and validity are those of 2 m, and a batch has half
// as many images as were loaded.  VISSL fails on an odd number; here the last image stays as it
// is.

#include "base/compiler.h"
#include "base/rng.h"
#include "data/collator.h"
#include "data/collators/mix.h"

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    if (p->made.n > 0)
        SR_FAIL(SR_ERR_CONFIG,
                "cannot blend the tensor '%s' that the transforms make of each image",
                p->made.v[0].name);
    p->merged = 2;
    return sr_batch_plan_list(p, "data");
}

static void fill(const void *params, const SrBatchPlan *plan, const SrCollateContext *ctx,
                 SrBatch *batch) {
    (void)params, (void)plan;
    SrRng rng =
        sr_rng(ctx->seed, SR_RNG_COLLATE, (uint64_t)ctx->epoch, (uint64_t)ctx->number, 0, 0);
    sr__mixup_neighbours(batch, sr_rng_beta(&rng, 0.2, 0.2));
}

const SrCollator sr_collator_multicrop_mixup_collator = {
    .name = "multicrop_mixup_collator",
    .help = "Blends pairs of images, then gives a list with one tensor per view.",
    .plan = plan,
    .fill = fill,
    .examples = &(SrCollatorExample){.sizes = {8, 8, 4}},
    .n_examples = 1,
};
