// The classifier of a vision transformer: [Linear -> tanh ->] Linear.  Dosovitskiy et al., "An
// image is worth 16x16 words" (ICLR 2021), 3.1.
//
// Scores start at zero: the last layer is initialised with zeros, the layer before it with LeCun's
// normal distribution.
#include <math.h>

#include "heads/mlp_layers.h"
#include "kernels/basic/linear.h"

typedef struct {
    int in_plane, num_classes, hidden_dim;
} VisionTransformerHead;

#define FIELD(f) offsetof(VisionTransformerHead, f)
static const SrOption options[] = {
    {"in_plane", SR_OPT_INT, FIELD(in_plane), "768", 1, 1 << 24,
     .help = "Number of input features."},
    {"num_classes", SR_OPT_INT, FIELD(num_classes), "1000", 1, 1 << 24, .help = "Classes."},
    {"hidden_dim", SR_OPT_INT, FIELD(hidden_dim), "0", 0, 1 << 24,
     .help = "Width of a hidden layer before the classifier; 0: no such layer."},
    SR_OPTION_END,
};
#undef FIELD

static SrNodeId linear(SrBuilder *b, const char *leaf, SrInit weight, int out_features,
                       SrNodeId x) {
    sr_builder_set_init(b, "weight", weight);
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build(b, "linear", leaf,
                    &(SrLinearParams){.out_features = out_features, .bias = true}, x);
}

// in: (N, in_plane) -> (N, num_classes)
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    (void)settings;
    const VisionTransformerHead *p = params;
    SrNodeId x;
    SR_TRY(sr_head_one_vector(b, "vision_transformer_head", in, n_in, &x));
    int features = sr_shape_last(sr_build_shape(b, x));
    if (features != p->in_plane)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "vision_transformer_head: in_plane is %d, but its input has %d features", p->in_plane,
            features);
    sr_builder_push(b, "layers");
    if (p->hidden_dim > 0) {
        SrInit lecun = {SR_INIT_TRUNCATED_NORMAL, sqrt(1.0 / p->in_plane)};
        x = linear(b, "pre_logits", lecun, p->hidden_dim, x);
        x = sr_build(b, "tanh", "tanh", NULL, x);
    }
    out[0] = linear(b, "head", (SrInit){SR_INIT_CONSTANT, 0}, p->num_classes, x);
    sr_builder_pop(b);
    *n_out = 1;
    return sr_builder_status(b);
}

static const SrHeadExample examples[] = {{"{in_plane: 8, hidden_dim: 6, num_classes: 3}", false}};

const SrHead sr_head_vision_transformer_head = {
    .name = "vision_transformer_head",
    .help = "the classifier of a vision transformer",
    .options = options,
    .params_bytes = sizeof(VisionTransformerHead),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
