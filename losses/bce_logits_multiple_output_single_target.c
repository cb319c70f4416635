// Binary cross entropy of every output with the same targets, summed over outputs.  This is VISSL's
// loss for images with several labels (OpenImages, VOC).  kernels/losses/bce_logits.c has the
// arithmetic.
#include "losses/shared/label_terms.h"

typedef struct {
    bool normalize;
} BceLogits;

#define FIELD(f) offsetof(BceLogits, f)
static const SrOption options[] = {
    {"reduction", SR_OPT_IGNORED, 0, "none", .choices = SR_REFUSED,
     .help = "the loss is always the sum over classes of each class's mean, as in VISSL"},
    {"world_size", SR_OPT_IGNORED, 0, "1",
     .help = "the number of replicas of the run is used (DISTRIBUTED.REPLICAS)"},
    {"normalize_output", SR_OPT_BOOL, FIELD(normalize), "False",
     .help = "Divide each row of logits by its length."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(SrInfer *in) { return sr_infer_set_int(in, "world_size", in->world); }

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    *state = NULL;
    return sr_label_terms_build(ctx, "bce_logits", NULL, ((const BceLogits *)params)->normalize,
                                loss);
}

const SrLoss sr_loss_bce_logits_multiple_output_single_target = {
    .name = "bce_logits_multiple_output_single_target",
    .help = "binary cross entropy of each output with the image's labels, summed over outputs",
    .subtree = "LOSS.bce_logits_multiple_output_single_target",
    .options = options,
    .params_bytes = sizeof(BceLogits),
    .needs_labels = true,
    .rows_are_independent = true,
    .examples = sr_label_terms_examples,
    .n_examples = SR_COUNT(sr_label_terms_examples),
    .infer = infer,
    .build = build,
};
