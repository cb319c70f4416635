// concat: inputs one after the other along one dimension (torch.cat): rows of a batch, tokens of a
// sequence, numbers of a vector.
#include "kernels/concat.h"

#include <stddef.h>
#include <string.h>

#include "kernels/op_util.h"

static const SrOption options[] = {
    {"dim", SR_OPT_INT, offsetof(SrConcatParams, dim), "0", 0, SR_MAX_RANK - 1, NULL,
     "The dimension that grows."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrConcatParams *p = params;
    SR_TRY(sr__expect_rank("concat", x, n_in, p->dim + 1, SR_MAX_RANK));
    *y = x[0];
    for (int i = 1; i < n_in; i++) {
        SrShape other = x[i];
        other.d[p->dim] = x[0].d[p->dim];
        if (!sr_shape_equal(x[0], other))
            return sr__shape_fail("concat", x, n_in,
                                  p->dim ? "shapes that agree but for dimension %d"
                                         : "shapes that agree after the first dimension",
                                  p->dim);
        y->d[p->dim] += x[i].d[p->dim];
    }
    return SR_OK;
}

// Numbers that lie together in an input: those of its dimensions from `dim` on.
static int64_t run_of(const void *params, SrShape s) {
    const SrConcatParams *p = params;
    int64_t n = 1;
    for (int i = p->dim; i < s.rank; i++)
        n *= s.d[i];
    return n;
}

static void reference(const SrRefCall *call) {
    int64_t whole = run_of(call->params, call->y_shape), at = 0;
    for (int i = 0; i < call->n_in; i++) {
        int64_t run = run_of(call->params, call->x_shape[i]);
        for (int64_t r = 0; r < sr_shape_count(call->x_shape[i]) / run; r++)
            memcpy(call->y + r * whole + at, call->x[i] + r * run, (size_t)run * sizeof(double));
        at += run;
    }
}

// `rows` runs of `run` numbers, `from_far` and `to_far` apart.
static void copy_runs(float *to, int64_t to_far, const float *from, int64_t from_far, int64_t run,
                      int64_t rows) {
    if (rows == 1) {
        sr__copy(to, from, run);
        return;
    }
#pragma omp parallel for schedule(static) if (rows * run > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + r * to_far, from + r * from_far, (size_t)run * sizeof(float));
}

static void forward(const SrOpCall *call) {
    int64_t whole = run_of(call->params, call->y.shape);
    float *y = call->y.data; // moves from input to input
    for (int i = 0; i < call->n_in; i++) {
        int64_t run = run_of(call->params, call->x[i].shape);
        copy_runs(y, whole, call->x[i].data, run, run, sr_shape_count(call->x[i].shape) / run);
        y += run;
    }
}

// Each input takes its stretches of dy back.
static void backward(const SrOpCall *call) {
    int64_t whole = run_of(call->params, call->y.shape);
    const float *dy = call->dy; // moves likewise
    for (int i = 0; i < call->n_in; i++) {
        int64_t run = run_of(call->params, call->x[i].shape);
        if (call->dx[i])
            copy_runs(call->dx[i], run, dy, whole, run, sr_shape_count(call->x[i].shape) / run);
        dy += run;
    }
}

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(2, 3), SR_SHAPE(4, 3)}, false},
    {"{}", 3, {SR_SHAPE(1, 2, 2, 5), SR_SHAPE(3, 2, 2, 5), SR_SHAPE(2, 2, 2, 5)}, false},
    {"{}", 1, {SR_SHAPE(3, 4)}, false},
    {"{dim: 1}", 3, {SR_SHAPE(3, 1, 5), SR_SHAPE(3, 4, 5), SR_SHAPE(3, 2, 5)}, false},
    {"{dim: 3}", 2, {SR_SHAPE(2, 3, 2, 4), SR_SHAPE(2, 3, 2, 3)}, false},
};

const SrOp sr_op_concat = {
    .name = "concat",
    .help = "Inputs one after the other along a dimension.",
    .options = options,
    .params_bytes = sizeof(SrConcatParams),
    .min_in = 1,
    .max_in = SR_OP_MAX_IN,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
