// gelu: y = x Phi(x) with the exact normal distribution, torch.nn.GELU (Hendrycks and Gimpel 2016).
#include <math.h>

#include "base/bf16.h"
#include "kernels/op_util.h"
#include "kernels/rows.h"

// The slope depends on x; y = x Phi(x) cannot be inverted (it is not monotone).
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0);
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

static void reference(const SrRefCall *call) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++)
        call->y[i] = call->x[0][i] * 0.5 * erfc(-call->x[0][i] * sqrt(0.5));
}

enum { ROOM = 1024 }; // bfloat16 numbers widened at a time

// Numbers [i, i + n) of x as floats: themselves, or widened into `room`.
static const float *widened(SrDtype type, const void *x, int64_t i, int64_t n, float *room) {
    if (type == SR_F32)
        return (const float *)x + i;
    sr__rows()->cast(SR_F32, room, type, (const SrBf16 *)x + i, n, false);
    return room;
}

static void forward_run(const SrOpCall *call, int64_t i, int64_t n) {
    SrDtype type = call->y.dtype;
    float room[ROOM];
    const float *x = widened(type, call->x[0].data, i, n, room);
    if (type == SR_F32) {
        sr__rows()->gelu((float *)call->y.data + i, x, n);
        return;
    }
    sr__rows()->gelu(room, x, n);
    sr__rows()->cast(type, (SrBf16 *)call->y.data + i, SR_F32, room, n, false);
}

static void backward_run(const SrOpCall *call, int64_t i, int64_t n) {
    SrDtype type = call->y.dtype;
    float room[ROOM], dy_room[ROOM];
    const float *x = widened(type, call->x[0].data, i, n, room);
    const float *dy = widened(type, call->dy, i, n, dy_room);
    if (type == SR_F32) {
        sr__rows()->gelu_grad(call->dx[0] + i, x, dy, n);
        return;
    }
    sr__rows()->gelu_grad(dy_room, x, dy, n);
    sr__rows()->cast(type, (SrBf16 *)call->dx[0] + i, SR_F32, dy_room, n, false);
}

// Of chunk i, in runs that `room` holds.
static void run_chunk(const SrOpCall *call, int64_t i, int64_t n,
                      void (*run)(const SrOpCall *, int64_t, int64_t)) {
    int64_t end = SR_MIN(i + SR_CHUNK, n), most = call->y.dtype == SR_F32 ? SR_CHUNK : ROOM;
    for (; i < end; i += most)
        run(call, i, SR_MIN(most, end - i));
}

static void forward(const SrOpCall *call) {
    int64_t n = sr_shape_count(call->y.shape);
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        run_chunk(call, i, n, forward_run);
}

static void backward(const SrOpCall *call) {
    int64_t n = call->dx[0] ? sr_shape_count(call->y.shape) : 0;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        run_chunk(call, i, n, backward_run);
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5, 7, 4)}, false},
};

const SrOp sr_op_gelu = {
    .name = "gelu",
    .help = "Gaussian error linear unit.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = sr__infer_same,
    .reads = reads,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
