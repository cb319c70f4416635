// Describes a closed block to the graph: its shape is that of the graph inside.
#include "graph/ir/block_op.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)x;
    (void)n_in;
    *y = ((const SrBlockParams *)params)->shape;
    return SR_OK;
}

static bool channels_last(const void *params, bool of_input) {
    (void)of_input;
    return ((const SrBlockParams *)params)->channels_last;
}

const SrOp sr__op_block = {
    .name = "block",
    .help = "A block that is kept closed.",
    .params_bytes = sizeof(SrBlockParams),
    .min_in = 0,
    .max_in = SR_OP_MAX_IN,
    .infer = infer,
    .channels_last = channels_last,
};
