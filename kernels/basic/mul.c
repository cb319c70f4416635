// mul: the product of x and s.  Both have one shape, or s is (N, 1, 1, C) or (N, C): a number for
// each image and channel, as in squeeze-excitation (Hu et al., arXiv:1709.01507).
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static bool by_channel(const SrShape *x) {
    SrShape a = x[0], s = x[1];
    bool flat = s.rank == 2 || (s.rank == 4 && s.d[1] == 1 && s.d[2] == 1);
    return a.rank == 4 && flat && s.d[0] == a.d[0] && sr_shape_last(s) == a.d[3];
}

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    if (!sr_shape_equal(x[0], x[1]) && !by_channel(x))
        return sr__shape_fail("mul", x, n_in, "equal shapes, or (N, H, W, C) and (N, 1, 1, C)");
    *y = x[0];
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

// A call as images of `rows` pixels of C channels.  With equal shapes an image is a chunk of
// SR_CHUNK numbers in one row.
typedef struct {
    int64_t images, rows, C;
} Sizes;

static Sizes sizes_of(const SrShape *x) {
    int64_t n = sr_shape_count(x[0]), s = sr_shape_count(x[1]);
    if (n == s)
        return (Sizes){(n + SR_CHUNK - 1) / SR_CHUNK, 1, SR_CHUNK};
    return (Sizes){x[0].d[0], n / s, x[0].d[3]};
}

static void reference(const SrRefCall *call) {
    int64_t n = sr_shape_count(call->y_shape);
    Sizes z = sizes_of(call->x_shape);
    for (int64_t i = 0; i < n; i++) {
        int64_t image = i / (z.rows * z.C), at = z.rows == 1 ? i : image * z.C + i % z.C;
        call->y[i] = call->x[0][i] * call->x[1][at];
    }
}

// Scratch with bfloat16: s and its gradient as floats, (2, s).
static size_t scratch_bytes(const SrOpSite *site) {
    return site->type == SR_F32 ? 0 : 2 * sizeof(float) * (size_t)sr_shape_count(site->x[1]);
}

static const float *factors(const SrOpCall *call) {
    const SrTensor *s = &call->x[1];
    if (call->y.dtype == SR_F32)
        return s->data;
    sr__rows(call->machine)
        ->cast(SR_F32, call->scratch, call->y.dtype, s->data, sr_shape_count(s->shape), false);
    return call->scratch;
}

// Multiplies every row of `a` by the row of s, into y or dx.  With equal shapes, a chunk is an
// image of one row.
static void rows_times(const SrOpCall *call, void *y, const void *a, const float *s, Sizes z,
                       int64_t n) {
    SrDtype type = call->y.dtype;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < z.images; i++) {
        int64_t at = i * z.rows * z.C;
        sr__rows(call->machine)
            ->mul_rows(type, sr__at(type, y, at), sr__at(type, a, at), s + i * z.C, z.rows,
                       (int)SR_MIN(z.C, n - at));
    }
}

static void forward(const SrOpCall *call) {
    SrShape x[2] = {call->x[0].shape, call->x[1].shape};
    rows_times(call, call->y.data, call->x[0].data, factors(call), sizes_of(x),
               sr_shape_count(call->y.shape));
}

// Computes ds (N, C), the sum over the pixels of dy x; each channel is added in one order.
static void scale_gradient(const SrOpCall *call, float *ds, Sizes z, int64_t n) {
    SrDtype type = call->y.dtype;
    const void *dy = call->dy, *x = call->x[0].data;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < z.images; i++) {
        int64_t at = i * z.rows * z.C;
        sr__rows(call->machine)
            ->sum_products(type, ds + i * z.C, sr__at(type, dy, at), sr__at(type, x, at), z.rows,
                           (int)SR_MIN(z.C, n - at), false);
    }
}

static void backward(const SrOpCall *call) {
    SrShape x[2] = {call->x[0].shape, call->x[1].shape};
    int64_t n = sr_shape_count(call->y.shape), m = sr_shape_count(x[1]);
    SrDtype type = call->y.dtype;
    Sizes z = sizes_of(x);
    float *ds = type == SR_F32 ? call->dx[1] : (float *)call->scratch + m;
    if (call->dx[0])
        rows_times(call, call->dx[0], call->dy, factors(call), z, n);
    if (!call->dx[1])
        return;
    scale_gradient(call, ds, z, n);
    if (type != SR_F32)
        sr__rows(call->machine)->cast(type, call->dx[1], SR_F32, ds, m, false);
}

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Mul"); }

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(2, 3, 5, 7), SR_SHAPE(2, 1, 1, 7)}, false},
    {"{}", 2, {SR_SHAPE(3, 2, 2, 20), SR_SHAPE(3, 20)}, false},
    {"{}", 2, {SR_SHAPE(4, 6), SR_SHAPE(4, 6)}, false},
};

const SrOp sr_op_mul = {
    .name = "mul",
    .help = "Product of two inputs; the second may have one value per channel.",
    .min_in = 2,
    .max_in = 2,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .reads = reads,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
