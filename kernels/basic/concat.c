// concat: joins inputs along one dimension (torch.cat): rows of a batch, tokens of a sequence,
// numbers of a vector.
#include "kernels/basic/concat.h"

#include <stddef.h>
#include <string.h>

#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"dim", SR_OPT_INT, offsetof(SrConcatParams, dim), "0", 0, SR_MAX_RANK - 1,
     .help = "Dimension along which inputs are joined."},
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
                                  p->dim ? "shapes that agree in all dimensions except %d"
                                         : "shapes that agree after the first dimension",
                                  p->dim);
        y->d[p->dim] += x[i].d[p->dim];
    }
    return SR_OK;
}

// Returns the contiguous numbers of an input: the product of dimensions from `dim` on.
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

// Copies, or with `add` adds, `rows` runs of `run` numbers, `from_far` and `to_far` apart.
static void copy_runs(const SrMachine *machine, SrDtype type, void *to, int64_t to_far,
                      const void *from, int64_t from_far, int64_t run, int64_t rows, bool add) {
#pragma omp parallel for schedule(static) if (rows * run > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        void *y = sr__at(type, to, r * to_far);
        const void *x = sr__at(type, from, r * from_far);
        if (add)
            sr__rows(machine)->add(type, y, y, x, run);
        else
            memcpy(y, x, (size_t)run * sr_dtype_bytes(type));
    }
}

// A single long run is shared by several threads.
static void copy_whole(const SrMachine *machine, SrDtype type, void *to, const void *from,
                       int64_t n, bool add) {
    for (int64_t chunk = n / SR_CHUNK; chunk > 1; chunk = 0) {
        copy_runs(machine, type, to, SR_CHUNK, from, SR_CHUNK, SR_CHUNK, chunk, add);
        to = sr__at(type, to, chunk * SR_CHUNK);
        from = sr__at(type, from, chunk * SR_CHUNK);
        n -= chunk * SR_CHUNK;
    }
    copy_runs(machine, type, to, n, from, n, n, 1, add);
}

static void move(const SrMachine *machine, SrDtype type, void *to, int64_t to_far, const void *from,
                 int64_t from_far, int64_t run, int64_t rows, bool add) {
    if (rows == 1)
        copy_whole(machine, type, to, from, run, add);
    else
        copy_runs(machine, type, to, to_far, from, from_far, run, rows, add);
}

static void forward(const SrOpCall *call) {
    int64_t whole = run_of(call->params, call->y.shape), at = 0;
    SrDtype type = call->y.dtype;
    for (int i = 0; i < call->n_in; i++) {
        int64_t run = run_of(call->params, call->x[i].shape);
        move(call->machine, type, sr__at(type, call->y.data, at), whole, call->x[i].data, run, run,
             sr_shape_count(call->x[i].shape) / run, false);
        at += run;
    }
}

// Each input gets its stretches of dy.
static void backward(const SrOpCall *call) {
    int64_t whole = run_of(call->params, call->y.shape), at = 0;
    SrDtype type = call->y.dtype;
    for (int i = 0; i < call->n_in; i++) {
        int64_t run = run_of(call->params, call->x[i].shape);
        if (call->dx[i])
            move(call->machine, type, call->dx[i], run, sr__at(type, call->dy, at), whole, run,
                 sr_shape_count(call->x[i].shape) / run, call->dx_add >> i & 1);
        at += run;
    }
}

// Maps are (N, C, H, W) in ONNX.
static SrStatus onnx(SrOnnxCall *call) {
    static const int64_t map_axes[] = {0, 2, 3, 1};
    const SrConcatParams *p = call->params;
    sr__onnx_begin(call, "Concat", call->in, call->n_in);
    sr_onnx_int(call->file, "axis", call->y.rank == 4 ? map_axes[p->dim] : p->dim);
    sr_onnx_end(call->file);
    return SR_OK;
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
    .help = "Inputs joined along a dimension.",
    .options = options,
    .params_bytes = sizeof(SrConcatParams),
    .min_in = 1,
    .max_in = SR_OP_MAX_IN,
    .flags = SR_OP_CHEAP | SR_OP_ADDS_DX | SR_OP_BF16,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
