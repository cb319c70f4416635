// The identity head: it returns its inputs, any number of them.
#include "heads/head.h"

static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    (void)params, (void)settings;
    if (n_in > SR_HEAD_MAX_OUT)
        return sr_builder_fail(b, SR_ERR_CONFIG, "identity: %d inputs, expected at most %d", n_in,
                               SR_HEAD_MAX_OUT);
    for (int i = 0; i < n_in; i++)
        out[i] = in[i];
    *n_out = n_in;
    return sr_builder_status(b);
}

static const SrOption options[] = {SR_OPTION_END};

static const SrHeadExample examples[] = {{"{}", false}};

const SrHead sr_head_identity = {
    .name = "identity",
    .help = "returns its input",
    .options = options,
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
