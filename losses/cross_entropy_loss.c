// CrossEntropyLoss: torch.nn.CrossEntropyLoss for a model with one output.
#include "kernels/losses/cross_entropy.h"
#include "losses/shared/label_terms.h"

static const SrOption options[] = {
    {"ignore_index", SR_OPT_INT64, offsetof(SrCrossEntropyParams, ignore_index), "-1",
     .help = "Images with this label are ignored."},
    SR_OPTION_END,
};

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    *state = NULL;
    if (ctx->outputs.n != 1)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "CrossEntropyLoss needs a model with one output, but this one has "
                               "%d; use cross_entropy_multiple_output_single_target",
                               ctx->outputs.n);
    return sr_label_terms_build(ctx, "cross_entropy", params, false, loss);
}

const SrLoss sr_loss_cross_entropy_loss = {
    .name = "CrossEntropyLoss",
    .help = "cross entropy of the one output with the image's label",
    .subtree = "LOSS.CrossEntropyLoss",
    .options = options,
    .params_bytes = sizeof(SrCrossEntropyParams),
    .needs_labels = true,
    .rows_are_independent = true,
    .examples = sr_label_terms_examples,
    .n_examples = SR_COUNT(sr_label_terms_examples),
    .build = build,
};
