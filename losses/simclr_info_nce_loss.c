// SimCLR (Chen et al., "A simple framework for contrastive learning of visual representations",
// ICML 2020).  The two views of an image must find each other among the views of all images of
// the step. kernels/losses/nt_xent.c has the arithmetic.
//
// The loss sees the rows of all replicas; VISSL gathers them from all processes.
#include "losses/shared/simclr_terms.h"

// VISSL's effective batch size counts both views of every image of every replica.
static SrStatus infer(SrInfer *in) {
    SR_TRY(sr_infer_set_int(in, "buffer_params.world_size", in->world));
    return sr_infer_set_int(in, "buffer_params.effective_batch_size", 2 * in->batch * in->world);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    *state = NULL;
    return sr_simclr_terms_build(ctx, params, 2, false, loss);
}

static const SrOption options[] = {
    SR_SIMCLR_OPTION_ROWS,
    SR_OPTION_END,
};

const SrLoss sr_loss_simclr_info_nce_loss = {
    .name = "simclr_info_nce_loss",
    .help = "SimCLR: two views of an image against all others of the step",
    .subtree = "LOSS.simclr_info_nce_loss",
    .options = options,
    .params_bytes = sizeof(SrSimclrOptions),
    .examples = &(SrLossExample){.heads = "[[mlp, {dims: [32, 8]}]]",
                                 .options = "{buffer_params: {embedding_dim: 8}}",
                                 .sizes = {16, 16}},
    .n_examples = 1,
    .infer = infer,
    .build = build,
};
