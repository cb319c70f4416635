// queue_scores: products of each row of x (n, D) with the rows of a queue in which the rows of t
// (m, D) have already taken the places of the oldest:
//
//   y_ij = x_i . r_j,   r_j = t_k where j = (pointer + k) mod Q and k < min(m, Q), else queue_j
//
// queue, a state slot (Q, D), and queue_ptr, the place that is written next, stay as they are: the
// caller writes them after the step.  No gradient goes into the queue.
#include "kernels/memory/queue_scores.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"size", SR_OPT_INT, offsetof(SrQueueScoresParams, size), "8192", 1, 1 << 28,
     .help = "Number of rows in the queue."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    SR_TRY(sr__expect_rank("queue_scores", x, n_in, 2, 2));
    if (x[0].d[1] != x[1].d[1])
        return sr__shape_fail("queue_scores", x, n_in, "new rows as long as the others");
    *y = SR_SHAPE(x[0].d[0], ((const SrQueueScoresParams *)params)->size);
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrQueueScoresParams *p = params;
    (void)n_in;
    out[0] = sr__state_slot("queue", SR_SHAPE(p->size, x[0].d[1]), SR_F32, SR_INIT_NORMAL, 1);
    out[1] = sr__state_slot("queue_ptr", SR_SHAPE(1), SR_I64, SR_INIT_CONSTANT, 0);
    return 2;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

// Consecutive columns of y whose rows lie together: rows `row` and following of t or of the queue.
typedef struct {
    int column, count, row;
    bool is_new;
} Part;

// Splits the columns into at most four parts.  m: rows of t.
static int split(int64_t pointer, int m, int Q, Part out[4]) {
    int at = (int)((pointer % Q + Q) % Q), n = 0, enter = SR_MIN(m, Q),
        first = SR_MIN(enter, Q - at), wrapped = enter - first;
    const Part all[4] = {{at, first, 0, true},
                         {0, wrapped, first, true},
                         {wrapped, at - wrapped, wrapped, false},
                         {at + first, Q - at - first, at + first, false}};
    for (int i = 0; i < 4; i++)
        if (all[i].count > 0)
            out[n++] = all[i];
    return n;
}

static int split_call(const SrOpCall *call, Part out[4]) {
    const SrQueueScoresParams *p = call->params;
    return split(*(const int64_t *)call->w[1].data, call->x[1].shape.d[0], p->size, out);
}

static void reference(const SrRefCall *call) {
    int n = call->x_shape[0].d[0], D = call->x_shape[0].d[1], Q = call->y_shape.d[1];
    Part part[4];
    int parts = split((int64_t)floor(call->w[1][0]), call->x_shape[1].d[0], Q, part);
    for (int k = 0; k < parts; k++)
        for (int j = 0; j < part[k].count; j++) {
            const double *row =
                (part[k].is_new ? call->x[1] : call->w[0]) + (int64_t)(part[k].row + j) * D;
            for (int i = 0; i < n; i++) {
                double sum = 0;
                for (int d = 0; d < D; d++)
                    sum += call->x[0][(int64_t)i * D + d] * row[d];
                call->y[(int64_t)i * Q + part[k].column + j] = sum;
            }
        }
}

static const float *rows_of(const SrOpCall *call, const Part *part, int D) {
    const float *rows = part->is_new ? call->x[1].data : call->w[0].data; // (m or Q, D)
    return rows + (int64_t)part->row * D;
}

static void forward(const SrOpCall *call) {
    int n = call->x[0].shape.d[0], D = call->x[0].shape.d[1], Q = call->y.shape.d[1];
    float *y = call->y.data; // (n, Q)
    Part part[4];
    int parts = split_call(call, part);
    for (int k = 0; k < parts; k++)
        sr_gemm(false, true, n, part[k].count, D, 1, call->x[0].data, D, rows_of(call, &part[k], D),
                D, 0, y + part[k].column, Q);
}

// Writes the gradient of t.  Rows beyond the queue's size have none.
static void backward_new(const SrOpCall *call, const Part *part, int parts) {
    int n = call->x[0].shape.d[0], D = call->x[0].shape.d[1], Q = call->y.shape.d[1];
    float *dt = call->dx[1]; // (m, D)
    sr__zero(dt, sr_shape_count(call->x[1].shape));
    for (int k = 0; k < parts; k++)
        if (part[k].is_new)
            sr_gemm(true, false, part[k].count, D, n, 1, call->dy + part[k].column, Q,
                    call->x[0].data, D, 0, dt + (int64_t)part[k].row * D, D);
}

static void backward(const SrOpCall *call) {
    int n = call->x[0].shape.d[0], D = call->x[0].shape.d[1], Q = call->y.shape.d[1];
    Part part[4];
    int parts = split_call(call, part);
    for (int k = 0; k < parts && call->dx[0]; k++)
        sr_gemm(false, false, n, D, part[k].count, 1, call->dy + part[k].column, Q,
                rows_of(call, &part[k], D), D, k > 0, call->dx[0], D);
    if (call->dx[1])
        backward_new(call, part, parts);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in;
    return 2 * sr_shape_count(y) * x[0].d[1];
}

static const SrOpCase cases[] = {
    {"{size: 5}", 2, {SR_SHAPE(3, 4), SR_SHAPE(2, 4)}, false},
    {"{size: 70}", 2, {SR_SHAPE(9, 17), SR_SHAPE(9, 17)}, false},
    {"{size: 3}", 2, {SR_SHAPE(4, 5), SR_SHAPE(6, 5)}, false},
};

const SrOp sr_op_queue_scores = {
    .name = "queue_scores",
    .help = "Products of each row with a queue whose oldest rows are replaced: distillation.",
    .options = options,
    .params_bytes = sizeof(SrQueueScoresParams),
    .min_in = 2,
    .max_in = 2,
    .infer = infer,
    .slots = slots,
    .reads = reads,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
