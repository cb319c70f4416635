// permute: torch.permute and torch.swapaxes as transformers use them.  Between channels first and
// channels last it only changes how torch sees the value, because channels are last in memory
// anyway.  Two other dimensions are exchanged by moving rows of channels, which cuts maps into
// windows and joins them again:
//
//   (N, H/P, P, W/P, P, C) -> (N, H/P, W/P, P, P, C)   with a = 2, b = 3
#include "kernels/basic/permute.h"

#include <stddef.h>
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrPermuteParams, f)
static const SrOption options[] = {
    {"a", SR_OPT_INT, FIELD(a), "0", 0, SR_MAX_RANK - 2,
     .help = "First of two dimensions that are exchanged."},
    {"b", SR_OPT_INT, FIELD(b), "0", 0, SR_MAX_RANK - 2,
     .help = "Second of these dimensions; equal to the first: none is exchanged."},
    {"channels", SR_OPT_ENUM, FIELD(channels), "same", .choices = "same|first|last",
     .help = "Position of the result's channels in PyTorch."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrPermuteParams *p = params;
    SR_TRY(sr__expect_rank("permute", x, n_in, 2, SR_MAX_RANK));
    if (p->a >= x[0].rank - 1 || p->b >= x[0].rank - 1)
        return sr__shape_fail("permute", x, n_in, "dimensions %d and %d before the last", p->a,
                              p->b);
    *y = x[0];
    y->d[p->a] = x[0].d[p->b];
    y->d[p->b] = x[0].d[p->a];
    return SR_OK;
}

static bool is_view(const void *params, const SrShape *x, int n_in) {
    const SrPermuteParams *p = params;
    (void)n_in;
    for (int i = SR_MIN(p->a, p->b) + 1; i < SR_MAX(p->a, p->b); i++)
        if (x[0].d[i] > 1) // only dimensions of size 1 may be passed
            return false;
    return x[0].d[p->a] == 1 || x[0].d[p->b] == 1 || p->a == p->b;
}

static bool channels_last(const void *params, bool of_input) {
    const SrPermuteParams *p = params;
    return p->channels == SR_CHANNELS_SAME ? of_input : p->channels == SR_CHANNELS_LAST;
}

// Memory of the side that is read, as (outer, A, between, B, rows of `row` numbers).
typedef struct {
    int64_t outer, A, between, B, row;
} Cut;

static Cut cut_of(const SrPermuteParams *p, SrShape s) {
    int first = SR_MIN(p->a, p->b), second = SR_MAX(p->a, p->b);
    if (first == second)
        return (Cut){1, 1, 1, 1, sr_shape_count(s)};
    Cut c = {1, s.d[first], 1, s.d[second], 1};
    for (int i = 0; i < s.rank; i++)
        *(i < first    ? &c.outer
          : i > second ? &c.row
                       : &c.between) *= i == first || i == second ? 1 : s.d[i];
    return c;
}

// Returns which row of the input is row r of the result (outer, B, between, A).
static int64_t row_of(const Cut *c, int64_t r) {
    int64_t a = r % c->A, between = r / c->A % c->between, b = r / c->A / c->between % c->B;
    int64_t outer = r / c->A / c->between / c->B;
    return ((outer * c->A + a) * c->between + between) * c->B + b;
}

static void reference(const SrRefCall *call) {
    Cut c = cut_of(call->params, call->x_shape[0]);
    for (int64_t i = 0; i < sr_shape_count(call->y_shape); i++)
        call->y[i] = call->x[0][row_of(&c, i / c.row) * c.row + i % c.row];
}

static void move(const SrPermuteParams *p, SrDtype type, void *to, const void *from, SrShape s) {
    Cut c = cut_of(p, s);
    int64_t n = sr_shape_count(s), rows = n / c.row;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++)
        memcpy(sr__at(type, to, r * c.row), sr__at(type, from, row_of(&c, r) * c.row),
               (size_t)c.row * sr_dtype_bytes(type));
}

static void forward(const SrOpCall *call) {
    move(call->params, call->y.dtype, call->y.data, call->x[0].data, call->x[0].shape);
}

static void backward(const SrOpCall *call) {
    if (call->dx[0])
        move(call->params, call->y.dtype, call->dx[0], call->dy, call->y.shape);
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrPermuteParams *p = call->params;
    int64_t order[SR_MAX_RANK];
    if (p->a == p->b)
        return sr__onnx_plain(call, "Identity");
    for (int i = 0; i < call->y.rank; i++)
        order[i] = i == p->a ? p->b : i == p->b ? p->a : i;
    return sr__onnx_finish(
        call, sr__onnx_transpose(call, "turned", sr__onnx_rows(call, 0), order, call->y.rank));
}

static const SrOpCase cases[] = {
    {"{channels: last}", 1, {SR_SHAPE(2, 3, 2, 5)}, false},
    {"{a: 2, b: 3}", 1, {SR_SHAPE(2, 2, 3, 4, 2, 3)}, false},
    {"{a: 3, b: 1, channels: first}", 1, {SR_SHAPE(2, 3, 2, 4, 3)}, false},
    {"{a: 1, b: 2}", 1, {SR_SHAPE(2, 4, 1, 3)}, false},
};

const SrOp sr_op_permute = {
    .name = "permute",
    .help = "Exchanges two dimensions, or reinterprets the position of the channels.",
    .options = options,
    .params_bytes = sizeof(SrPermuteParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .is_view = is_view,
    .channels_last = channels_last,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
