// memory_scores: scores of x (n, D) against rows of a memory, a state slot (N, D), that indices (n,
// M) name:
//
//   y_ij = x_i . memory[index_ij]
//
// A third input (m, D) gives rows N, N + 1, ... of the memory: rows that have moved in this step
// already.  An index outside both gives 0.  No gradient goes into the memory or those rows (Wu et
// al., "Unsupervised feature learning via non-parametric instance discrimination", CVPR 2018).
#include "kernels/memory/memory_scores.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"size", SR_OPT_INT, offsetof(SrMemoryScoresParams, size), "1", 1, 0x7fffffff,
     .help = "Number of rows in the memory bank."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("memory_scores", x, n_in, 2, 2));
    if (x[0].d[0] != x[1].d[0])
        return sr__shape_fail("memory_scores", x, n_in, "a row of indices for each row");
    if (n_in > 2 && x[2].d[1] != x[0].d[1])
        return sr__shape_fail("memory_scores", x, n_in, "further rows as long as the others");
    *y = x[1];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrMemoryScoresParams *p = params;
    (void)n_in;
    out[0] = sr__state_slot("memory", SR_SHAPE(p->size, x[0].d[1]), SR_F32, SR_INIT_NORMAL, 1);
    return 1;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(1) | SR_READS_X(2);
}

static const double *reference_row(const SrRefCall *call, int64_t index) {
    const SrMemoryScoresParams *p = call->params;
    int D = call->x_shape[0].d[1], further = call->n_in > 2 ? call->x_shape[2].d[0] : 0;
    if (index < 0 || index >= p->size + (int64_t)further)
        return NULL;
    return index < p->size ? call->w[0] + index * D : call->x[2] + (index - p->size) * D;
}

static void reference(const SrRefCall *call) {
    int D = call->x_shape[0].d[1], M = call->x_shape[1].d[1];
    for (int64_t r = 0; r < (int64_t)call->x_shape[0].d[0] * M; r++) {
        const double *row = reference_row(call, (int64_t)floor(call->x[1][r]));
        call->y[r] = 0;
        for (int d = 0; row && d < D; d++)
            call->y[r] += call->x[0][r / M * D + d] * row[d];
    }
}

// Returns the row of the memory that number r of the indices names.
static const float *row_of(const SrOpCall *call, int64_t r) {
    const SrMemoryScoresParams *p = call->params;
    return sr__memory_row(call->w[0].data, p->size, call->n_in > 2 ? &call->x[2] : NULL,
                          call->x[0].shape.d[1], sr__label_at(&call->x[1], r));
}

static void forward(const SrOpCall *call) {
    int n = call->x[0].shape.d[0], D = call->x[0].shape.d[1], M = call->x[1].shape.d[1];
    const float *x = call->x[0].data; // (n, D)
    float *y = call->y.data;          // (n, M)
#pragma omp parallel for schedule(static) if ((int64_t)n * M * D > SR_CHUNK)
    for (int i = 0; i < n; i++)
        for (int64_t r = (int64_t)i * M; r < (int64_t)(i + 1) * M; r++) {
            const float *row = row_of(call, r);
            y[r] = row ? (float)sr__rows(call->machine)->dot(x + (int64_t)i * D, row, D) : 0;
        }
}

static void backward(const SrOpCall *call) {
    int n = call->x[0].shape.d[0], D = call->x[0].shape.d[1], M = call->x[1].shape.d[1];
    float *dx = call->dx[0]; // (n, D)
#pragma omp parallel for schedule(static) if ((int64_t)n * M * D > SR_CHUNK)
    for (int i = 0; i < (dx ? n : 0); i++) {
        memset(dx + (int64_t)i * D, 0, (size_t)D * sizeof *dx);
        for (int64_t r = (int64_t)i * M; r < (int64_t)(i + 1) * M; r++) {
            const float *row = row_of(call, r);
            if (row)
                sr__rows(call->machine)->axpy(dx + (int64_t)i * D, row, call->dy[r], D);
        }
    }
    for (int i = 1; i < call->n_in; i++)
        if (call->dx[i])
            sr__zero(call->dx[i], sr_shape_count(call->x[i].shape));
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in;
    return 2 * sr_shape_count(y) * x[0].d[1];
}

static const SrOpCase cases[] = {
    {"{size: 3}", 2, {SR_SHAPE(4, 5), SR_SHAPE(4, 6)}, false},
    {"{size: 2}", 2, {SR_SHAPE(7, 17), SR_SHAPE(7, 33)}, false},
    {"{size: 1}", 3, {SR_SHAPE(3, 5), SR_SHAPE(3, 8), SR_SHAPE(2, 5)}, true},
};

const SrOp sr_op_memory_scores = {
    .name = "memory_scores",
    .help = "Products of each row with chosen rows of a memory bank: NPID, PIRL.",
    .options = options,
    .params_bytes = sizeof(SrMemoryScoresParams),
    .min_in = 2,
    .max_in = 3,
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
