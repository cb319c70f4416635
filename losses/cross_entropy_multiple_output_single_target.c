// Cross entropy of every output with the same labels, summed over outputs.  This is VISSL's loss
// for linear evaluation and fine-tuning.  kernels/losses/cross_entropy.c has the arithmetic.
//
// Labels are class indices, or distributions if the collator mixes images.  With label smoothing,
// VISSL computes target vectors and then ignores `weight` and `ignore_index`; here both keep their
// meaning, as in torch.
#include "kernels/losses/cross_entropy.h"
#include "losses/shared/label_terms.h"

typedef struct {
    SrCrossEntropyParams op;
    bool normalize;
} CrossEntropy;

#define FIELD(f) offsetof(CrossEntropy, f)
static const SrOption options[] = {
    {"weight", SR_OPT_FLOATS, FIELD(op.weight), "null", 0, 1e10,
     .help = "Weight of each class in the mean; null: all 1."},
    {"reduction", SR_OPT_IGNORED, 0, "mean",
     .help = "the loss is always the mean over images, in VISSL too"},
    {"ignore_index", SR_OPT_INT64, FIELD(op.ignore_index), "-1",
     .help = "Images with this label are ignored."},
    {"normalize_output", SR_OPT_BOOL, FIELD(normalize), "False",
     .help = "Divide each row of scores by its length."},
    {"temperature", SR_OPT_FLOAT, FIELD(op.temperature), "1.0", 1e-10, 1e10,
     .help = "Temperature that divides the scores."},
    {"label_smoothing", SR_OPT_FLOAT, FIELD(op.label_smoothing), "0.0", 0, 1,
     .help = "Label smoothing: share of a target that is spread over all classes."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const CrossEntropy *p = params;
    *state = NULL;
    return sr_label_terms_build(ctx, "cross_entropy", &p->op, p->normalize, loss);
}

const SrLoss sr_loss_cross_entropy_multiple_output_single_target = {
    .name = "cross_entropy_multiple_output_single_target",
    .help = "cross entropy of each output with the image's label, summed over outputs",
    .subtree = "LOSS.cross_entropy_multiple_output_single_target",
    .options = options,
    .params_bytes = sizeof(CrossEntropy),
    .needs_labels = true,
    .rows_are_independent = true,
    .examples = sr_label_terms_examples,
    .n_examples = SR_COUNT(sr_label_terms_examples),
    .build = build,
};
