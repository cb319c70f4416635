// toy_loss: cross entropy without a key; tests/toy.sh adds it to a copy of the tree.
#include "kernels/losses/cross_entropy.h"
#include "losses/shared/label_terms.h"

static const SrOption options[] = {SR_OPTION_END};

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    (void)params;
    *state = NULL;
    SrCrossEntropyParams p = {.ignore_index = -1};
    return sr_label_terms_build(ctx, "cross_entropy", &p, false, loss);
}

const SrLoss sr_loss_toy_loss = {
    .name = "toy_loss",
    .help = "cross entropy",
    .subtree = "LOSS.toy_loss",
    .options = options,
    .needs_labels = true,
    .examples = sr_label_terms_examples,
    .n_examples = SR_COUNT(sr_label_terms_examples),
    .build = build,
};
