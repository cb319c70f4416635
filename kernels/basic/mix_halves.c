// mix_halves: the two halves a, b of the channels, weighted by the softmax over each pair of an
// image's scores (selective kernels: Li et al., arXiv:1903.06586, equation 5).
//
//   x (N, H, W, 2 C), scores (N, 1, 1, 2 C) -> y = p a + (1 - p) b (N, H, W, C)
//   p = sigmoid(score_a - score_b) (N, C)
#include <math.h>
#include <stdio.h>

#include "base/bf16.h"
#include "base/parallel.h"
#include "kernels/basic/mix_halves_rows.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SrShape s = x[1];
    if (x[0].rank != 4 || x[0].d[3] % 2 || s.rank != 4 || s.d[0] != x[0].d[0] || s.d[1] != 1 ||
        s.d[2] != 1 || s.d[3] != x[0].d[3])
        return sr__shape_fail("mix_halves", x, n_in, "(N, H, W, 2 C) and (N, 1, 1, 2 C)");
    *y = x[0];
    y->d[3] /= 2;
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

static int64_t pixels_of(SrShape y) { return (int64_t)y.d[1] * y.d[2]; }

static void reference(const SrRefCall *call) {
    int64_t C = sr_shape_last(call->y_shape), pixels = pixels_of(call->y_shape);
    for (int64_t i = 0; i < sr_shape_count(call->y_shape); i++) {
        int64_t r = i / C, c = i % C;
        const double *a = call->x[0] + r * 2 * C + c, *score = call->x[1] + r / pixels * 2 * C + c;
        double p = 1 / (1 + exp(score[C] - score[0]));
        call->y[i] = p * a[0] + (1 - p) * a[C];
    }
}

// Saved: p and, in the backward, the sums of dy (a - b), float (2, N, C).
static size_t scratch_bytes(const SrOpSite *site) {
    return sizeof(float) * (size_t)site->x[0].d[0] * (size_t)site->x[0].d[3];
}

static const SrMixHalvesKernels *kernels(const SrMachine *machine) {
    return SR_CPU_PICK_BF16(machine, sr__mix_halves_kernels);
}

static float number(SrDtype type, const void *x, int64_t i) {
    return type == SR_BF16 ? sr_bf16_float(((const SrBf16 *)x)[i]) : ((const float *)x)[i];
}

// Computes p (C) of image n.
static void shares(const SrOpCall *call, int64_t n, float *p) {
    int C = sr_shape_last(call->y.shape);
    const void *score = sr__at(call->y.dtype, call->x[1].data, n * 2 * C);
    for (int c = 0; c < C; c++)
        p[c] =
            1 / (1 + expf(number(call->y.dtype, score, C + c) - number(call->y.dtype, score, c)));
}

static float *share_of(const SrOpCall *call, int64_t n) {
    return (float *)call->scratch + n * call->x[0].shape.d[3];
}

static void forward_image(void *arg, int64_t n, int thread) {
    (void)thread;
    const SrOpCall *call = arg;
    SrDtype type = call->y.dtype;
    int C = sr_shape_last(call->y.shape);
    int64_t pixels = pixels_of(call->y.shape);
    float *p = share_of(call, n);
    shares(call, n, p);
    kernels(call->machine)
        ->mix(type, sr__at(type, call->y.data, n * pixels * C),
              sr__at(type, call->x[0].data, n * pixels * 2 * C), p, pixels, C);
}

static void forward(const SrOpCall *call) {
    sr_parallel_for(call->y.shape.d[0], forward_image, (void *)call);
}

// Computes dscore_a = p (1 - p) times the sum over pixels of dy (a - b) = -dscore_b.
static void score_gradient(const SrOpCall *call, const float *p, float *sum, int C, void *dscore) {
    SrDtype type = call->y.dtype;
    for (int c = 0; c < C; c++)
        sum[c] *= p[c] * (1 - p[c]);
    sr__rows(call->machine)->cast(type, dscore, SR_F32, sum, C, false);
    for (int c = 0; c < C; c++)
        sum[c] = -sum[c];
    sr__rows(call->machine)->cast(type, sr__at(type, dscore, C), SR_F32, sum, C, false);
}

static void backward_image(void *arg, int64_t n, int thread) {
    (void)thread;
    const SrOpCall *call = arg;
    SrDtype type = call->y.dtype;
    int C = sr_shape_last(call->y.shape);
    int64_t pixels = pixels_of(call->y.shape);
    const void *dy = sr__at(type, call->dy, n * pixels * C);
    float *p = share_of(call, n), *sum = p + C;
    shares(call, n, p);
    if (call->dx[0])
        kernels(call->machine)
            ->divide(type, sr__at(type, call->dx[0], n * pixels * 2 * C), dy, p, pixels, C);
    if (!call->dx[1])
        return;
    kernels(call->machine)
        ->differences(type, sum, dy, sr__at(type, call->x[0].data, n * pixels * 2 * C), pixels, C);
    score_gradient(call, p, sum, C, sr__at(type, call->dx[1], n * 2 * C));
}

static void backward(const SrOpCall *call) {
    sr_parallel_for(call->y.shape.d[0], backward_image, (void *)call);
}

// "<what><n>": names of the four pieces' constants
static const char *numbered(SrOnnxCall *call, const char *what, int n) {
    char name[32];
    snprintf(name, sizeof name, "%s%d", what, n);
    return sr__onnx_inner(call, name);
}

// Writes half `which` of the channels of input i.
static const char *half(SrOnnxCall *call, int i, int which) {
    const int64_t bounds[] = {which * call->y.d[3], (which + 1) * call->y.d[3], 1};
    const char *in[4] = {call->in[i]}, *out = numbered(call, "half", 2 * i + which);
    static const char *const what[] = {"begin", "end", "axis"};
    for (int k = 0; k < 3; k++) {
        in[k + 1] = numbered(call, what[k], 2 * i + which);
        sr_onnx_numbers(call->file, in[k + 1], &bounds[k], 1);
    }
    sr_onnx_node(call->file, "Slice", in, 4, out);
    sr_onnx_end(call->file);
    return out;
}

static const char *apply(SrOnnxCall *call, const char *op, const char *a, const char *b,
                         const char *name) {
    const char *out = sr__onnx_inner(call, name);
    sr_onnx_node(call->file, op, (const char *[]){a, b}, b ? 2 : 1, out);
    sr_onnx_end(call->file);
    return out;
}

static SrStatus onnx(SrOnnxCall *call) {
    const char *a = half(call, 0, 0), *b = half(call, 0, 1);
    const char *score = apply(call, "Sub", half(call, 1, 0), half(call, 1, 1), "score");
    const char *p = apply(call, "Sigmoid", score, NULL, "share");
    const char *part = apply(call, "Mul", p, apply(call, "Sub", a, b, "apart"), "part");
    sr__onnx_begin(call, "Add", (const char *[]){b, part}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(2, 3, 4, 14), SR_SHAPE(2, 1, 1, 14)}, false},
    {"{}", 2, {SR_SHAPE(5, 1, 1, 2), SR_SHAPE(5, 1, 1, 2)}, false},
};

const SrOp sr_op_mix_halves = {
    .name = "mix_halves",
    .help = "Sum of the two halves of the channels, weighted by the softmax of pairs of scores.",
    .min_in = 2,
    .max_in = 2,
    .flags = SR_OP_BF16,
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
