// DCL: SimCLR without the positive in the denominator (Yeh et al., "Decoupled contrastive
// learning", ECCV 2022, arXiv:2110.06848, equation 6).  The gradient of a pair then does not
// shrink when the pair is already close, so DCL needs neither large batches nor a queue.  With
// more than two views, every other view of an image is a positive of its own, as in multi-crop
// SimCLR.
#include "losses/shared/simclr_terms.h"

static SrStatus infer(SrInfer *in) { return sr_infer_crops(in); }

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const SrSimclrOptions *o = params;
    *state = NULL;
    return sr_simclr_terms_build(ctx, o, o->op.num_crops, true, loss);
}

static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, offsetof(SrSimclrOptions, op.temperature), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the cosines."},
    {"embedding_dim", SR_OPT_INT, offsetof(SrSimclrOptions, embedding_dim), "128", 1, 1 << 24,
     .help = "Size of an embedding; must equal the size of the head's output."},
    SR_SIMCLR_OPTION_NUM_CROPS,
    SR_OPTION_END,
};

static const SrLossExample examples[] = {
    {"{embedding_dim: 8}", "[[mlp, {dims: [32, 8]}]]", .sizes = {16, 16}},
    {"{embedding_dim: 8}", "[[mlp, {dims: [32, 8]}]]", .sizes = {16, 16, 8}}};

const SrLoss sr_loss_dcl_loss = {
    .name = "dcl_loss",
    .help = "DCL: SimCLR with only negatives in the denominator",
    .subtree = "LOSS.dcl_loss",
    .options = options,
    .params_bytes = sizeof(SrSimclrOptions),
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .infer = infer,
    .build = build,
};
