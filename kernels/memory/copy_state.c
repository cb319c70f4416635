// copy_state: copies the values of one state entry to another when the node runs in training, and
// passes the input on.
//
// A teacher that normalises with the student's running statistics needs them as they are after the
// student's forward of the same step, which no code outside the plan can see.  Node order is
// execution order.
#include <stddef.h>
#include <string.h>

#include "kernels/core/op_util.h"
#include "kernels/memory/copy_state.h"

static const SrOption options[] = {
    {"count", SR_OPT_INT, offsetof(SrCopyStateParams, count), "1", 1, 0x7fffffff,
     .help = "Number of values in the entry."},
    SR_OPTION_END,
};

enum { TO, FROM, N_SLOTS };

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrCopyStateParams *p = params;
    (void)x, (void)n_in;
    SrShape c = SR_SHAPE(p->count);
    out[TO] = (SrSlot){"to", c, SR_F32, SR_SLOT_STATE, SR_ROLE_OTHER, {SR_INIT_CONSTANT, 0}};
    out[FROM] = (SrSlot){"from", c, SR_F32, SR_SLOT_STATE, SR_ROLE_OTHER, {SR_INIT_CONSTANT, 0}};
    return N_SLOTS;
}

static void reference(const SrRefCall *call) {
    const SrCopyStateParams *p = call->params;
    memcpy(call->y, call->x[0], (size_t)sr_shape_count(call->y_shape) * sizeof(double));
    if (call->train)
        memcpy(call->w[TO], call->w[FROM], (size_t)p->count * sizeof(double));
}

static void forward(const SrOpCall *call) {
    const SrCopyStateParams *p = call->params;
    sr__copy(call->y.data, call->x[0].data, sr_shape_count(call->y.shape));
    if (call->train && !call->again)
        memcpy(call->w[TO].data, call->w[FROM].data, (size_t)p->count * sizeof(float));
}

static const SrOpCase cases[] = {
    {"{count: 5}", 1, {SR_SHAPE(2, 3)}, true},
};

const SrOp sr_op_copy_state = {
    .name = "copy_state",
    .help = "Copies one state entry into another; the input is passed on.",
    .options = options,
    .params_bytes = sizeof(SrCopyStateParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_IMPURE | SR_OP_NO_GRAD,
    .infer = sr__infer_same,
    .slots = slots,
    .reference = reference,
    .forward = forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
