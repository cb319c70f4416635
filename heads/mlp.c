// The MLP head: Linear [-> BatchNorm] [-> ReLU] [-> Dropout], any number of times.  Also the linear
// classifier. Not the residual variant (mlp_res) and not the probe with a norm in front (eval_mlp).
//
// State keys are those of one torch Sequential named clf: "clf.0.weight", "clf.1.running_mean", ...
#include "heads/mlp_layers.h"

typedef struct {
    SrMlpLayers layers;
    SrInts dims;
} Mlp;

#define FIELD(f) offsetof(Mlp, f)
static const SrOption options[] = {
    {"dims", SR_OPT_INTS, FIELD(dims), "[]", 1, 1 << 24, NULL,
     "Sizes from input to output: [2048, 2048, 128]."},
    {"use_bn", SR_OPT_BOOL, FIELD(layers.use_bn), "False", 0, 0, NULL,
     "Batch norm after each Linear."},
    {"use_relu", SR_OPT_BOOL, FIELD(layers.use_relu), "False", 0, 0, NULL,
     "ReLU after each Linear (and its norm)."},
    {"use_dropout", SR_OPT_BOOL, FIELD(layers.use_dropout), "False", 0, 0, NULL,
     "Dropout of 0.5 after that."},
    {"use_bias", SR_OPT_BOOL, FIELD(layers.use_bias), "True", 0, 0, NULL,
     "The Linear layers have a bias."},
    {"skip_last_layer_relu_bn", SR_OPT_BOOL, FIELD(layers.bare_last), "True", 0, 0, NULL,
     "The last Linear stands alone."},
    SR_OPTION_END,
};
#undef FIELD

// in: (N, C) or (N, 1, 1, C) -> (N, dims[last])
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    const Mlp *p = params;
    SrNodeId x;
    SR_TRY(sr_head_one_vector(b, "mlp", in, n_in, &x));
    SR_TRY(sr_head_check_dims(b, "mlp", &p->dims, x));
    SrMlpLayers layers = p->layers;
    layers.init_factor = settings->params_multiplier;
    sr_builder_push(b, "clf");
    out[0] = sr_mlp_layers_build(b, &layers, &p->dims, settings, x);
    sr_builder_pop(b);
    *n_out = 1;
    return sr_builder_status(b);
}

const SrHead sr_head_mlp = {
    .name = "mlp",
    .help = "Linear layers with optional batch norm, ReLU and dropout",
    .options = options,
    .params_bytes = sizeof(Mlp),
    .build = build,
};
