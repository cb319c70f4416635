// toy_head: a linear layer without a bias; tests/toy.sh adds it to a copy of the tree.
#include "heads/head.h"
#include "kernels/basic/linear.h"

typedef struct {
    int dim;
} Toy;

static const SrOption options[] = {
    {"dim", SR_OPT_INT, offsetof(Toy, dim), "8", 1, 65536, .help = "Numbers it gives."},
    SR_OPTION_END,
};

static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    (void)settings;
    if (n_in != 1)
        return sr_builder_fail(b, SR_ERR_CONFIG, "toy_head: %d inputs, expected one", n_in);
    SrLinearParams linear = {.out_features = ((const Toy *)params)->dim};
    out[0] = sr_build(b, "linear", "fc", &linear, in[0]);
    *n_out = 1;
    return sr_builder_status(b);
}

static const SrHeadExample examples[] = {{"{dim: 4}", false}};

const SrHead sr_head_toy_head = {
    .name = "toy_head",
    .help = "one linear layer",
    .options = options,
    .params_bytes = sizeof(Toy),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
