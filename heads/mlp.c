// The MLP head: Linear [-> BatchNorm] [-> ReLU] [-> Dropout], any number of times; with one
// Linear it is the linear classifier.  heads/mlp_res.c has skip connections, and heads/eval_mlp.c
// puts a norm in front.
//
// State keys are those of one torch Sequential named clf: "clf.0.weight", "clf.1.running_mean", ...
#include "heads/mlp_layers.h"

// in: (N, C) or (N, 1, 1, C) -> (N, dims[last])
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    *n_out = 1;
    return sr_mlp_clf_build(b, "mlp", params, settings, sr_mlp_layers_build, in, n_in, &out[0]);
}

static const SrHeadExample examples[] = {{"{dims: [8, 6, 4]}", false}};

const SrHead sr_head_mlp = {
    .name = "mlp",
    .help = "Linear layers with optional batch norm, ReLU and dropout",
    .options = sr_mlp_options,
    .params_bytes = sizeof(SrMlpParams),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
