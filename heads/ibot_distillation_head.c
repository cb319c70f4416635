// VISSL's head for a student that learns from an iBOT model's embeddings: hidden layers over every
// token, then one linear layer for the class token and one for the patches, which may be shared.
// Outputs are not normalised, and the head has no prototypes.
//
// All hidden layers share one norm module: its weights are common, and each use updates its running
// statistics once.  VISSL saves the module under the name of each use, and a shared last layer
// twice.  This program saves them once, under the first name: mlp.1 and to_class_out.
#include "heads/projection.h"
#include "kernels/tokens/select_tokens.h"

typedef struct {
    SrProjection projection; // without a bottleneck
    int out_dim, patch_out_dim, last_norm;
    bool shared_head;
} IbotDistillationHead;

#define FIELD(f) offsetof(IbotDistillationHead, f)
static const SrOption options[] = {
    {"in_dim", SR_OPT_INT, FIELD(projection.in_dim), "384", 1, 1 << 24,
     .help = "Number of features per token."},
    {"out_dim", SR_OPT_INT, FIELD(out_dim), "8192", 1, 1 << 24,
     .help = "Width of the class token's output."},
    {"patch_out_dim", SR_OPT_INT, FIELD(patch_out_dim), "0", 0, 1 << 24,
     .help = "Width of a patch's output; 0: out_dim."},
    {"norm", SR_OPT_ENUM, FIELD(projection.norm), "none", .choices = SR_PROJECTION_NORMS,
     .help = "Norm after each hidden layer; syncbn is bn with statistics shared as "
             "MODEL.SYNC_BN_CONFIG says."},
    {"act", SR_OPT_ENUM, FIELD(projection.act), "gelu", .choices = SR_PROJECTION_ACTS,
     .help = "Activation after that norm."},
    {"last_norm", SR_OPT_ENUM, FIELD(last_norm), "none", .choices = "none",
     .help = "Norm of the outputs."},
    {"num_layers", SR_OPT_INT, FIELD(projection.num_layers), "3", 2, 16,
     .help = "Number of linear layers, the last one included."},
    {"hidden_dim", SR_OPT_INT, FIELD(projection.hidden_dim), "2048", 1, 1 << 20,
     .help = "Width of the hidden layers."},
    {"shared_head", SR_OPT_BOOL, FIELD(shared_head), "False",
     .help = "Patches share the class token's last layer."},
    SR_OPTION_END,
};
#undef FIELD

// in: (N, D) -> [class]; (N, 1 + L, D) -> [class (N, out_dim), patches (N, L, patch_out_dim)]
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    (void)settings;
    const IbotDistillationHead *p = params;
    SrProjection projection = p->projection;
    int in_dim = projection.in_dim;
    int patch_out = p->patch_out_dim > 0 ? p->patch_out_dim : p->out_dim;
    SR_TRY(sr_head_one_input(b, "ibot_distillation_head", n_in));
    SrShape s = sr_build_shape(b, in[0]);
    if (s.rank > 3 || sr_shape_last(s) != in_dim || (s.rank == 3 && s.d[1] < 2))
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "ibot_distillation_head: in_dim is %d; expected (N, %d), or (N, 1 + "
                               "patches, %d)",
                               in_dim, in_dim, in_dim);
    if (p->shared_head && patch_out != p->out_dim)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "ibot_distillation_head: shared_head needs patch_out_dim 0 or %d "
                               "(out_dim), not %d",
                               p->out_dim, patch_out);
    projection.one_norm = true;
    SrNodeId x = sr_head_hidden_layers(b, &projection, in[0]), first = x;
    SrSelectTokensParams class_token = {.count = 1, .squeeze = true},
                         patches = {.begin = 1, .count = s.d[1] - 1};
    if (s.rank == 3)
        first = sr_build(b, "select_tokens", "getitem", &class_token, x);
    out[0] = sr_head_transformer_linear(b, "to_class_out", p->out_dim, first);
    *n_out = s.rank - 1;
    if (s.rank == 3)
        out[1] = sr_head_transformer_linear(b, p->shared_head ? "to_class_out" : "to_patch_out",
                                            patch_out,
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
    .help = "hidden layers on every token, with outputs for the class token and for patches",
    .options = options,
    .params_bytes = sizeof(IbotDistillationHead),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .output = output,
};
