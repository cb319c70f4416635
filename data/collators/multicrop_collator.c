// multicrop_collator: a list of tensors, one per view, of any sizes (VISSL; SwAV,
// arXiv:2006.09882).
#include "data/collator.h"

static const SrOption options[] = {
    {"create_multidimensional_tensor", SR_OPT_IGNORED, 0, "False",
     .help = "views of several sizes are never padded into one tensor"},
    SR_OPTION_END,
};

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    return sr_batch_plan_list(p, "data");
}

const SrCollator sr_collator_multicrop_collator = {
    .name = "multicrop_collator",
    .help = "A list with one tensor per view, which holds that view of all images.",
    .options = options,
    .plan = plan,
    .examples = &(SrCollatorExample){.sizes = {8, 8, 4}, .masks = true},
    .n_examples = 1,
};
