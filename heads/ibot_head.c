// iBOT's head: DINO's head for the class token, and the shared projection with its own or shared
// prototypes for the patches.  Zhou et al., "iBOT: image BERT pre-training with online tokenizer"
// (ICLR 2022), 3.2.
//
// With shared_head VISSL saves the prototypes twice, as prototypes0 and prototypes1.  This program
// saves one tensor, prototypes0.
#include "heads/projection.h"
#include "kernels/tokens/select_tokens.h"

typedef struct {
    SrProjection projection;
    int out_dim, patch_out_dim, num_registers;
    int last_norm; // index among one choice
    bool normalize_last_layer, shared_head;
} IbotHead;

#define FIELD(f) offsetof(IbotHead, f)
static const SrOption options[] = {
    {"in_dim", SR_OPT_INT, FIELD(projection.in_dim), "384", 1, 1 << 24,
     .help = "Number of features per token."},
    {"out_dim", SR_OPT_INT, FIELD(out_dim), "8192", 1, 1 << 24,
     .help = "Number of prototypes of the class token."},
    {"patch_out_dim", SR_OPT_INT, FIELD(patch_out_dim), "0", 0, 1 << 24,
     .help = "Number of prototypes of the patches; 0: out_dim."},
    {"norm", SR_OPT_ENUM, FIELD(projection.norm), "none", .choices = SR_PROJECTION_NORMS,
     .help = "Norm between the layers, the same for class token and patches; syncbn is bn with "
             "statistics shared as MODEL.SYNC_BN_CONFIG says."},
    {"act", SR_OPT_ENUM, FIELD(projection.act), "gelu", .choices = SR_PROJECTION_ACTS,
     .help = "Activation between the layers."},
    {"last_norm", SR_OPT_ENUM, FIELD(last_norm), "none", .choices = "none",
     .help = "Norm of the scores."},
    {"normalize_last_layer", SR_OPT_BOOL, FIELD(normalize_last_layer), "True",
     .help = "Prototypes always have length 1."},
    {"num_layers", SR_OPT_INT, FIELD(projection.num_layers), "3", 1, 16,
     .help = "Number of linear layers of the projection."},
    {"hidden_dim", SR_OPT_INT, FIELD(projection.hidden_dim), "2048", 1, 1 << 20,
     .help = "Width of the hidden layers."},
    {"bottleneck_dim", SR_OPT_INT, FIELD(projection.bottleneck_dim), "256", 1, 1 << 20,
     .help = "Width of the last layer."},
    {"shared_head", SR_OPT_BOOL, FIELD(shared_head), "False",
     .help = "Patches share the class token's prototypes."},
    {"num_registers", SR_OPT_INT, FIELD(num_registers), "0", 0, 1024,
     .help = "Number of tokens between class token and patches, which get no scores: registers, "
             "DINOv3's storage tokens (not in VISSL)."},
    SR_OPTION_END,
};
#undef FIELD

// x: (N, 1 + registers + L, D) -> class scores (N, out_dim), patch scores (N, L, patch_out_dim)
static SrStatus tokens(SrBuilder *b, const IbotHead *p, SrNodeId x, SrNodeId out[SR_HEAD_MAX_OUT],
                       int *n_out) {
    int length = sr_build_shape(b, x).d[1];
    bool shared = p->shared_head;
    int patch_out = p->patch_out_dim > 0 ? p->patch_out_dim : p->out_dim;
    int first = 1 + p->num_registers;
    if (length <= first)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "ibot_head: the input has %d tokens and so no patches after the first %d; "
            "take the layer lastBLK of a vision transformer",
            length, first);
    if (shared && patch_out != p->out_dim)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "ibot_head: shared_head needs patch_out_dim 0 or %d (out_dim), not "
                               "%d",
                               p->out_dim, patch_out);
    SrSelectTokensParams class_token = {.begin = 0, .count = 1, .squeeze = true},
                         patches = {.begin = first, .count = length - first};
    out[0] = sr_head_unit_prototypes(b, "prototypes0", p->out_dim, p->normalize_last_layer,
                                     sr_build(b, "select_tokens", "getitem", &class_token, x));
    out[1] = sr_head_unit_prototypes(b, shared ? "prototypes0" : "prototypes1", patch_out,
                                     p->normalize_last_layer,
                                     sr_build(b, "select_tokens", "getitem", &patches, x));
    *n_out = 2;
    return sr_builder_status(b);
}

// in: (N, D) -> [class scores]; (N, 1 + L, D) -> [class scores, patch scores]
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    (void)settings;
    const IbotHead *p = params;
    SrProjection projection = p->projection;
    projection.one_norm = true; // as in iBOT's own code
    SR_TRY(sr_head_one_input(b, "ibot_head", n_in));
    SrNodeId x = in[0];
    if (sr_build_shape(b, x).rank != 3)
        SR_TRY(sr_head_one_vector(b, "ibot_head", in, n_in, &x));
    SR_TRY(sr_head_projection_build(b, "ibot_head", &projection, x, &x));
    if (sr_build_shape(b, x).rank == 3)
        return tokens(b, p, x, out, n_out);
    out[0] = sr_head_unit_prototypes(b, "prototypes0", p->out_dim, p->normalize_last_layer, x);
    *n_out = 1;
    return sr_builder_status(b);
}

static const char *output(const void *params, int i) {
    (void)params;
    return i == 0 ? sr_head_scores(0) : "patch_scores";
}

static const SrHeadExample examples[] = {{"{in_dim: 8, hidden_dim: 6}", false},
                                         {"{in_dim: 8, hidden_dim: 6, out_dim: 7}", true}};

const SrHead sr_head_ibot_head = {
    .name = "ibot_head",
    .help = "DINO's head for the class token and for the patches: iBOT",
    .options = options,
    .params_bytes = sizeof(IbotHead),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .output = output,
};
