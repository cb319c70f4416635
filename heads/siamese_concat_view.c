// Concatenates the towers of an image: (N T, C) -> (N, T C), without parameters.  The nine
// patches of PIRL and Jigsaw become one row.  Rows must be sample-major: all towers of image 0
// come first.
#include "heads/mlp_layers.h"
#include "kernels/tokens/merge_rows.h"

typedef struct {
    int num_towers;
} SiameseConcatView;

static const SrOption options[] = {
    {"num_towers", SR_OPT_INT, offsetof(SiameseConcatView, num_towers), "1", 1, 1 << 16,
     .help = "Number of rows per image, such as 9 patches."},
    SR_OPTION_END,
};

// in: (N T, C) or (N T, H, W, C) -> (N, T C) or (N, T C H W), each tower in PyTorch's order
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    (void)settings;
    const SiameseConcatView *p = params;
    SR_TRY(sr_head_one_input(b, "siamese_concat_view", n_in));
    SrNodeId x = in[0];
    if (sr_build_shape(b, x).rank > 2)
        x = sr_build(b, "flatten", "flatten", NULL, x);
    int rows = sr_build_shape(b, x).d[0];
    if (rows % p->num_towers != 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "siamese_concat_view: num_towers is %d, but the input has %d rows; "
                               "expected a multiple of num_towers",
                               p->num_towers, rows);
    out[0] = sr_build(b, "merge_rows", "view", &(SrMergeRowsParams){p->num_towers}, x);
    *n_out = 1;
    return sr_builder_status(b);
}

static const SrHeadExample examples[] = {{"{}", false}};

const SrHead sr_head_siamese_concat_view = {
    .name = "siamese_concat_view",
    .help = "joins the features of an image's patches to one row",
    .options = options,
    .params_bytes = sizeof(SiameseConcatView),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
