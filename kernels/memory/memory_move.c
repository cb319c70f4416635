// memory_move: computes where rows of a memory, a state slot (N, D), move towards x (n, D), and
// does not move them:
//
//   y_i = normalize(momentum memory[index_i] + (1 - momentum) x_i)
//
// A third input (m, D) gives rows N, N + 1, ... of the memory, as in memory_scores.  An index
// outside both gives zeros.  Gradients stop here (Wu et al., CVPR 2018, section 3.3; VISSL's moving
// average).
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/rows.h"
#include "kernels/memory/memory_scores.h"

#define FIELD(f) offsetof(SrMemoryMoveParams, f)
static const SrOption options[] = {
    {"size", SR_OPT_INT, FIELD(size), "1", 1, 0x7fffffff,
     .help = "Number of rows in the memory bank."},
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.5", 0, 1,
     .help = "Share of its value that a row keeps."},
    SR_OPTION_END,
};
#undef FIELD

static const double shortest = 1e-12; // PyTorch's lower bound on a length

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("memory_move", x, n_in, 2, 2));
    if (x[0].d[0] != x[1].d[0] || (n_in > 2 && x[2].d[1] != x[0].d[1]))
        return sr__shape_fail("memory_move", x, n_in, "a row of indices for each row");
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrMemoryMoveParams *p = params;
    (void)n_in;
    out[0] = sr__state_slot("memory", SR_SHAPE(p->size, x[0].d[1]), SR_F32, SR_INIT_NORMAL, 1);
    return 1;
}

static void reference_row(const SrRefCall *call, int i, double *y) {
    const SrMemoryMoveParams *p = call->params;
    int D = call->x_shape[0].d[1], further = call->n_in > 2 ? call->x_shape[2].d[0] : 0;
    int64_t index = (int64_t)floor(call->x[1][(int64_t)i * call->x_shape[1].d[1]]);
    double square = 0;
    memset(y, 0, (size_t)D * sizeof *y);
    if (index < 0 || index >= p->size + (int64_t)further)
        return;
    const double *row =
        index < p->size ? call->w[0] + index * D : call->x[2] + (index - p->size) * D;
    for (int d = 0; d < D; d++) {
        y[d] = p->momentum * row[d] + (1 - p->momentum) * call->x[0][(int64_t)i * D + d];
        square += y[d] * y[d];
    }
    for (int d = 0; d < D; d++)
        y[d] /= fmax(sqrt(square), shortest);
}

static void reference(const SrRefCall *call) {
    for (int i = 0; i < call->x_shape[0].d[0]; i++)
        reference_row(call, i, call->y + (int64_t)i * call->x_shape[0].d[1]);
}

static void move(const SrOpCall *call, int i, float *y) {
    const SrMemoryMoveParams *p = call->params;
    int D = call->x[0].shape.d[1];
    const float *x = (const float *)call->x[0].data + (int64_t)i * D;
    const float *row =
        sr__memory_row(call->w[0].data, p->size, call->n_in > 2 ? &call->x[2] : NULL, D,
                       sr__label_at(&call->x[1], (int64_t)i * call->x[1].shape.d[1]));
    memset(y, 0, (size_t)D * sizeof *y);
    if (!row)
        return;
    sr__rows(call->machine)->scale(y, row, (float)p->momentum, D);
    sr__rows(call->machine)->axpy(y, x, (float)(1 - p->momentum), D);
    double length = sqrt(sr__rows(call->machine)->dot(y, y, D));
    sr__rows(call->machine)->scale(y, y, (float)(1 / fmax(length, shortest)), D);
}

static void forward(const SrOpCall *call) {
    int n = call->x[0].shape.d[0], D = call->x[0].shape.d[1];
#pragma omp parallel for schedule(static) if ((int64_t)n * D > SR_CHUNK)
    for (int i = 0; i < n; i++)
        move(call, i, (float *)call->y.data + (int64_t)i * D);
}

static const SrOpCase cases[] = {
    {"{size: 2, momentum: 0.25}", 2, {SR_SHAPE(6, 5), SR_SHAPE(6, 1)}, true},
    {"{size: 1}", 3, {SR_SHAPE(9, 17), SR_SHAPE(9, 4), SR_SHAPE(2, 17)}, true},
};

const SrOp sr_op_memory_move = {
    .name = "memory_move",
    .help = "New rows of a memory bank, moved towards new embeddings: NPID, PIRL.",
    .options = options,
    .params_bytes = sizeof(SrMemoryMoveParams),
    .min_in = 2,
    .max_in = 3,
    .flags = SR_OP_NO_GRAD,
    .infer = infer,
    .slots = slots,
    .reference = reference,
    .forward = forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
