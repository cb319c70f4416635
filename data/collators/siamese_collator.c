// siamese_collator: gives one tensor in which the views of an image are consecutive (VISSL; jigsaw,
// arXiv:1603.09246).  The head siamese_concat_view joins their features again.
#include "data/collator.h"

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    return sr_batch_plan_input(p, "data", 0, p->n_views);
}

const SrCollator sr_collator_siamese_collator = {
    .name = "siamese_collator",
    .help = "One tensor (N T, ...): the T views of image 0, then those of image 1; N labels.",
    .plan = plan,
    .examples = &(SrCollatorExample){.sizes = {4, 4, 4}},
    .n_examples = 1,
};
