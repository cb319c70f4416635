// targets_one_hot_default_collator: default_collate with a column per class for the labels (VISSL).
//
// VISSL reads lists of the classes that an image has and of those that it has not.  Here
// LABEL_PATHS holds such labels as columns of 1, 0 and -1 already.  An image with one class gets
// 1 at the class and 0 elsewhere.
#include <stddef.h>

#include "data/collator.h"

typedef struct {
    int num_classes;
} Params;

static const SrOption options[] = {
    {"num_classes", SR_OPT_INT, offsetof(Params, num_classes), "1000", 1, 1 << 24,
     .help = "Number of columns of the labels."},
    SR_OPTION_END,
};

static SrStatus plan(const void *params, SrBatchPlan *p) {
    if (p->n_views != 1)
        SR_FAIL(SR_ERR_CONFIG, "needs 1 view per image, but the transforms make %d", p->n_views);
    p->n_targets = ((const Params *)params)->num_classes;
    return sr_batch_plan_input(p, "data", 0, 1);
}

const SrCollator sr_collator_targets_one_hot_default_collator = {
    .name = "targets_one_hot_default_collator",
    .help = "One view per image, and labels with one column per class.",
    .options = options,
    .params_bytes = sizeof(Params),
    .plan = plan,
    .examples = &(SrCollatorExample){.options = "{num_classes: 3}", .sizes = {8}, .masks = true},
    .n_examples = 1,
};
