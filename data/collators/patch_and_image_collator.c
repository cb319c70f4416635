// patch_and_image_collator: gives the first view as `images` and the others as `patches`, where the
// patches of an image are consecutive (VISSL; PIRL, arXiv:1912.01991).
#include "data/collator.h"

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    if (p->n_views < 2)
        SR_FAIL(SR_ERR_CONFIG, "needs an image and its patches, but the transforms make 1 view; "
                               "add {name: ImgPilToPatchesAndImage}");
    SR_TRY(sr_batch_plan_input(p, "images", 0, 1));
    return sr_batch_plan_input(p, "patches", 1, p->n_views - 1);
}

const SrCollator sr_collator_patch_and_image_collator = {
    .name = "patch_and_image_collator",
    .help = "A crop of each image as `images`, its patches (N T, ...) as `patches`.",
    .plan = plan,
    .examples = &(SrCollatorExample){.sizes = {8, 4, 4}},
    .n_examples = 1,
};
