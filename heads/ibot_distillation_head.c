// VISSL's head of a student that learns from an iBOT model's embeddings: hidden layers over every token, then one linear
// layer for the class token and one for the patches (or the same one).  Nothing is normalised to length 1 and there are
// no prototypes.
//
// One norm module stands behind every hidden layer: its weights are shared and its running statistics move once a use.
// VISSL saves it under the name of each place, and with shared_head the last layer twice; here they stand under the
// first name, mlp.1 and to_class_out.
#include <stdio.h>

#include "heads/mlp_layers.h"
#include "kernels/batch_norm.h"
#include "kernels/layer_norm.h"
#include "kernels/linear.h"
#include "kernels/select_tokens.h"

typedef struct {
    int in_dim, out_dim, patch_out_dim, norm, act, last_norm, num_layers, hidden_dim;
    bool shared_head;
} IbotDistillationHead;

enum { NORM_NONE, NORM_BN, NORM_LN };

#define FIELD(f) offsetof(IbotDistillationHead, f)
static const SrOption options[] = {
    {"in_dim", SR_OPT_INT, FIELD(in_dim), "384", 1, 1 << 24, NULL, "Features of a token."},
    {"out_dim", SR_OPT_INT, FIELD(out_dim), "8192", 1, 1 << 24, NULL,
     "Numbers of the class token's output."},
    {"patch_out_dim", SR_OPT_INT, FIELD(patch_out_dim), "0", 0, 1 << 24, NULL,
     "Numbers of a patch's; 0: out_dim."},
    {"norm", SR_OPT_ENUM, FIELD(norm), "none", 0, 0, "none|bn|ln", "Norm behind hidden layers."},
    {"act", SR_OPT_ENUM, FIELD(act), "gelu", 0, 0, "gelu|relu|silu", "Activation behind it."},
    {"last_norm", SR_OPT_ENUM, FIELD(last_norm), "none", 0, 0, "none", "Norm of the outputs."},
    {"num_layers", SR_OPT_INT, FIELD(num_layers), "3", 2, 16, NULL,
     "Linear layers, the last one included."},
    {"hidden_dim", SR_OPT_INT, FIELD(hidden_dim), "2048", 1, 1 << 20, NULL, "Size between them."},
    {"shared_head", SR_OPT_BOOL, FIELD(shared_head), "False", 0, 0, NULL,
     "Patches go through the class token's last layer."},
    SR_OPTION_END,
};
#undef FIELD

static SrNodeId linear(SrBuilder *b, const char *leaf, int out, SrNodeId x) {
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_TRUNCATED_NORMAL, 0.02});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build(b, "linear", leaf, &(SrLinearParams){.out_features = out, .bias = true}, x);
}

static SrNodeId norm(SrBuilder *b, const IbotDistillationHead *p, const SrHeadSettings *settings,
                     SrNodeId x) {
    SrBatchNormParams bn = {.eps = settings->bn_eps, .momentum = settings->bn_momentum};
    if (p->norm == NORM_BN)
        return sr_build(b, "batch_norm", "1", &bn, x);
    return p->norm == NORM_LN ? sr_build(b, "layer_norm", "1", &(SrLayerNormParams){.eps = 1e-5}, x)
                              : x;
}

// Layers are numbered over norms and activations, as in torch's Sequential.
static SrNodeId hidden(SrBuilder *b, const IbotDistillationHead *p, const SrHeadSettings *settings,
                       SrNodeId x) {
    static const char *const acts[] = {"gelu", "relu", "silu"};
    int each = p->norm == NORM_NONE ? 2 : 3;
    sr_builder_push(b, "mlp");
    for (int i = 0; i < p->num_layers - 1; i++) {
        char leaf[16];
        snprintf(leaf, sizeof leaf, "%d", each * i);
        x = norm(b, p, settings, linear(b, leaf, p->hidden_dim, x));
        snprintf(leaf, sizeof leaf, "%d", each * i + each - 1);
        x = sr_build(b, acts[p->act], leaf, NULL, x);
    }
    sr_builder_pop(b);
    return x;
}

// in: (N, D) -> [class]; (N, 1 + L, D) -> [class (N, out_dim), patches (N, L, patch_out_dim)]
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    const IbotDistillationHead *p = params;
    int patch_out = p->patch_out_dim > 0 ? p->patch_out_dim : p->out_dim;
    SR_TRY(sr_head_one_input(b, "ibot_distillation_head", n_in));
    SrShape s = sr_build_shape(b, in[0]);
    if (s.rank > 3 || sr_shape_last(s) != p->in_dim || (s.rank == 3 && s.d[1] < 2))
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "ibot_distillation_head: in_dim is %d; expected (N, %d), or (N, 1 + "
                               "patches, %d)",
                               p->in_dim, p->in_dim, p->in_dim);
    if (p->shared_head && patch_out != p->out_dim)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "ibot_distillation_head: shared_head needs patch_out_dim 0 or %d "
                               "(out_dim), not %d",
                               p->out_dim, patch_out);
    SrNodeId x = hidden(b, p, settings, in[0]), first = x;
    SrSelectTokensParams class_token = {.count = 1, .squeeze = true},
                         patches = {.begin = 1, .count = s.d[1] - 1};
    if (s.rank == 3)
        first = sr_build(b, "select_tokens", "getitem", &class_token, x);
    out[0] = linear(b, "to_class_out", p->out_dim, first);
    *n_out = s.rank - 1;
    if (s.rank == 3)
        out[1] = linear(b, p->shared_head ? "to_class_out" : "to_patch_out", patch_out,
                        sr_build(b, "select_tokens", "getitem", &patches, x));
    return sr_builder_status(b);
}

static const char *output(const void *params, int i) {
    (void)params;
    return i == 0 ? sr_head_scores(0) : "patch_scores";
}

static const SrHeadExample examples[] = {
    {"{in_dim: 8, hidden_dim: 6, out_dim: 5, norm: bn, act: relu}", false},
    {"{in_dim: 8, hidden_dim: 6, out_dim: 5, patch_out_dim: 4, norm: ln}", true},
    {"{in_dim: 8, hidden_dim: 6, out_dim: 5, shared_head: True, act: silu}", true}};

const SrHead sr_head_ibot_distillation_head = {
    .name = "ibot_distillation_head",
    .help = "hidden layers over tokens, outputs of the class token and of patches",
    .options = options,
    .params_bytes = sizeof(IbotDistillationHead),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .output = output,
};
