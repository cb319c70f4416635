// The linear probe: a batch norm over the channels of a pooled map, flattening in PyTorch's order,
// then an MLP (usually one Linear).  Zhang et al., "Colorful image colorization" (ECCV 2016), 6.2.
//
// State keys: "channel_bn.*", then "clf.clf.0.weight", because an mlp head is nested under "clf".
#include "heads/mlp_layers.h"
#include "kernels/norm/batch_norm.h"

typedef struct {
    int in_channels;
    SrInts dims;
    SrMlpLayers layers;
    bool use_residual;
} EvalMlp;

#define FIELD(f) offsetof(EvalMlp, f)
static const SrOption options[] = {
    {"in_channels", SR_OPT_INT, FIELD(in_channels), "1", 1, 1 << 24,
     .help = "Number of channels of the feature."},
    {"dims", SR_OPT_INTS, FIELD(dims), "[]", 1, 1 << 24,
     .help = "Sizes from the flattened feature (channels x height x width) to the classes."},
    {"use_bn", SR_OPT_BOOL, FIELD(layers.use_bn), "False",
     .help = "Batch norm after each Linear but the last."},
    {"use_relu", SR_OPT_BOOL, FIELD(layers.use_relu), "False",
     .help = "ReLU after each Linear but the last."},
    {"use_residual", SR_OPT_BOOL, FIELD(use_residual), "False",
     .help = "Use an MLP with skip connections (mlp_res)."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus check(SrBuilder *b, const EvalMlp *p, SrNodeId x) {
    SrShape s = sr_build_shape(b, x);
    char text[SR_SHAPE_TEXT_BYTES];
    if (s.rank != 2 && s.rank != 4)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "eval_mlp takes features of shape (N, C) or (N, H, W, C), not %s",
                               sr_shape_text(s, text, sizeof text));
    if (sr_shape_last(s) == p->in_channels)
        return SR_OK;
    bool flattened = s.rank == 2 && sr_shape_last(s) % p->in_channels == 0;
    return sr_builder_fail(b, SR_ERR_CONFIG,
                           "eval_mlp: in_channels is %d, but its input has %d channels%s",
                           p->in_channels, sr_shape_last(s),
                           flattened ? "; a map that was flattened has none, so set "
                                       "MODEL.FEATURE_EVAL_SETTINGS.SHOULD_FLATTEN_FEATS to False"
                                     : "");
}

// in: (N, C) or (N, H, W, C) -> (N, dims[last])
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    const EvalMlp *p = params;
    SrBatchNormParams bn = {.eps = settings->bn_eps, .momentum = settings->bn_momentum};
    SrMlpLayers layers = p->layers;
    layers.use_bias = layers.bare_last = true;
    layers.init_factor = settings->params_multiplier;
    SR_TRY(sr_head_one_input(b, "eval_mlp", n_in));
    SR_TRY(check(b, p, in[0]));
    SrNodeId x = sr_build(b, "batch_norm", "channel_bn", &bn, in[0]);
    if (sr_build_shape(b, x).rank == 4)
        x = sr_build(b, "flatten", "flatten", NULL, x);
    SR_TRY(sr_head_check_dims(b, "eval_mlp", &p->dims, x));
    sr_builder_push(b, "clf.clf");
    out[0] = p->use_residual ? sr_mlp_residual_build(b, &layers, &p->dims, settings, x)
                             : sr_mlp_layers_build(b, &layers, &p->dims, settings, x);
    sr_builder_pop(b);
    *n_out = 1;
    return sr_builder_status(b);
}

static const SrHeadExample examples[] = {{"{in_channels: 8, dims: [8, 6, 4]}", false}};

const SrHead sr_head_eval_mlp = {
    .name = "eval_mlp",
    .help = "batch norm over channels, then Linear layers: the probe of a frozen trunk",
    .options = options,
    .params_bytes = sizeof(EvalMlp),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
