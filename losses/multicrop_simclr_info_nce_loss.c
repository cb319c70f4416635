// SimCLR with more than two views (VISSL's multicrop_simclr_info_nce_loss).  Every other view of an
// image is a positive of its own.  The negatives are the views of the other images of the same
// replica.  Caron et al. (NeurIPS 2020, arXiv:2006.09882, section 4.3) compare it with SwAV.
//
// VISSL takes no negatives from other processes.  This loss does the same, so the loss of a replica
// depends on its own rows alone.
#include "losses/shared/simclr_terms.h"

static SrStatus infer(SrInfer *in) {
    SR_TRY(sr_infer_set_int(in, "buffer_params.world_size", in->world));
    // VISSL counts images here, and views in simclr_info_nce_loss.
    SR_TRY(sr_infer_set_int(in, "buffer_params.effective_batch_size", in->batch * in->world));
    SR_TRY(sr_infer_crops(in));
    return sr_infer_force_collator(in, "multicrop_collator");
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const SrSimclrOptions *o = params;
    *state = NULL;
    return sr_simclr_terms_build(ctx, o, o->op.num_crops, false, loss);
}

static const SrOption options[] = {
    SR_SIMCLR_OPTION_ROWS,
    SR_SIMCLR_OPTION_NUM_CROPS,
    SR_OPTION_END,
};

const SrLoss sr_loss_multicrop_simclr_info_nce_loss = {
    .name = "multicrop_simclr_info_nce_loss",
    .help = "SimCLR over several crops of an image",
    .subtree = "LOSS.multicrop_simclr_info_nce_loss",
    .options = options,
    .params_bytes = sizeof(SrSimclrOptions),
    .rows_are_independent = true,
    .rows_are_compared = true,
    .examples = &(SrLossExample){.heads = "[[mlp, {dims: [32, 8]}]]",
                                 .options = "{buffer_params: {embedding_dim: 8}}",
                                 .sizes = {16, 16, 8}},
    .n_examples = 1,
    .infer = infer,
    .build = build,
};
