// The MLP head with skip connections: blocks of Linear [-> BatchNorm] [-> ReLU] [-> Dropout].
//
// VISSL adds the input twice where the sizes allow it: once inside the block and once around it.
// This program does so too, because results depend on it.
// State keys: "clf.<block>.mlp_res_block.<layer>.weight".
#include "heads/mlp_layers.h"

// in: (N, C) or (N, 1, 1, C) -> (N, dims[last])
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    *n_out = 1;
    return sr_mlp_clf_build(b, "mlp_res", params, settings, sr_mlp_residual_build, in, n_in,
                            &out[0]);
}

static const SrHeadExample examples[] = {{"{dims: [8, 6, 4]}", false}};

const SrHead sr_head_mlp_res = {
    .name = "mlp_res",
    .help = "Linear layers with skip connections",
    .options = sr_mlp_options,
    .params_bytes = sizeof(SrMlpParams),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
