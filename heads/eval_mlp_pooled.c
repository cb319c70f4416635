// The probe of token sequences: a batch norm over the features of all tokens, then one MLP that
// every token shares.  Scores are token-major, one classifier output per token: (L, N, classes).
//
// State keys: "channel_bn.*", "clf.0.weight" (one clf, unlike eval_mlp's).
#include "heads/mlp_layers.h"
#include "kernels/norm/batch_norm.h"

typedef struct {
    int in_channels;
    SrInts dims;
    SrMlpLayers layers;
} EvalMlpPooled;

#define FIELD(f) offsetof(EvalMlpPooled, f)
static const SrOption options[] = {
    {"in_channels", SR_OPT_INT, FIELD(in_channels), "1", 1, 1 << 24,
     .help = "Number of features per token."},
    {"dims", SR_OPT_INTS, FIELD(dims), "[]", 1, 1 << 24,
     .help = "Sizes from a token's features to the classes."},
    {"use_bn", SR_OPT_BOOL, FIELD(layers.use_bn), "False",
     .help = "Batch norm after each Linear but the last."},
    {"use_relu", SR_OPT_BOOL, FIELD(layers.use_relu), "False",
     .help = "ReLU after each Linear but the last."},
    SR_OPTION_END,
};
#undef FIELD

// in: (N, L, D) -> (L, N, dims[last])
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    const EvalMlpPooled *p = params;
    SrBatchNormParams bn = {.eps = settings->bn_eps, .momentum = settings->bn_momentum};
    SrMlpLayers layers = p->layers;
    char text[SR_SHAPE_TEXT_BYTES];
    layers.use_bias = layers.bare_last = true;
    layers.init_factor = settings->params_multiplier;
    SR_TRY(sr_head_one_input(b, "eval_mlp_pooled", n_in));
    SrShape s = sr_build_shape(b, in[0]);
    if (s.rank != 3 || sr_shape_last(s) != p->in_channels)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "eval_mlp_pooled takes tokens of shape (N, L, %d) (in_channels), "
                               "not %s",
                               p->in_channels, sr_shape_text(s, text, sizeof text));
    SR_TRY(sr_head_check_dims(b, "eval_mlp_pooled", &p->dims, in[0]));
    SrNodeId x = sr_build(b, "batch_norm", "channel_bn", &bn, in[0]);
    sr_builder_push(b, "clf");
    x = sr_mlp_layers_build(b, &layers, &p->dims, settings, x);
    sr_builder_pop(b);
    out[0] = sr_build(b, "swap_tokens", "permute", NULL, x);
    *n_out = 1;
    return sr_builder_status(b);
}

static const SrHeadExample examples[] = {{"{in_channels: 8, dims: [8, 6, 4]}", true}};

const SrHead sr_head_eval_mlp_pooled = {
    .name = "eval_mlp_pooled",
    .help = "batch norm, then Linear layers on every token: scores (tokens, images, classes)",
    .options = options,
    .params_bytes = sizeof(EvalMlpPooled),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
