// The MLP head with skip connections: blocks of Linear [-> BatchNorm] [-> ReLU] [-> Dropout].
//
// VISSL adds the input twice where the sizes allow it: once inside the block and once around it.
// Results depend on it, so it is kept.  State keys: "clf.<block>.mlp_res_block.<layer>.weight".
#include "heads/mlp_layers.h"

typedef struct {
    SrMlpLayers layers;
    SrInts dims;
} MlpRes;

#define FIELD(f) offsetof(MlpRes, f)
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
    const MlpRes *p = params;
    SrNodeId x;
    SR_TRY(sr_head_one_vector(b, "mlp_res", in, n_in, &x));
    SR_TRY(sr_head_check_dims(b, "mlp_res", &p->dims, x));
    SrMlpLayers layers = p->layers;
    layers.init_factor = settings->params_multiplier;
    sr_builder_push(b, "clf");
    out[0] = sr_mlp_residual_build(b, &layers, &p->dims, settings, x);
    sr_builder_pop(b);
    *n_out = 1;
    return sr_builder_status(b);
}

const SrHead sr_head_mlp_res = {
    .name = "mlp_res",
    .help = "Linear layers with skip connections",
    .options = options,
    .params_bytes = sizeof(MlpRes),
    .build = build,
};
