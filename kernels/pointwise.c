// The loops of activations; see the header.
#include "kernels/pointwise.h"

#include "base/bf16.h"
#include "kernels/rows.h"

enum { BLOCK = 1024 }; // floats that bfloat16 becomes in between: within the first-level cache

unsigned sr__pointwise_reads(const void *params) {
    (void)params;
    return SR_READS_X(0);
}

int sr__pointwise_inplace(const void *params) {
    (void)params;
    return 0;
}

void sr__pointwise_reference(const SrRefCall *call, double (*f)(double x)) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++)
        call->y[i] = f(call->x[0][i]);
}

static void forward_bf16(const SrPointwise *k, SrBf16 *y, const SrBf16 *x, int64_t n) {
    const SrRows *rows = sr__rows();
    float block[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = SR_MIN(BLOCK, n - i);
        rows->cast(SR_F32, block, SR_BF16, x + i, m, false);
        k->f(block, block, m);
        rows->cast(SR_BF16, y + i, SR_F32, block, m, false);
    }
}

static void backward_bf16(const SrPointwise *k, SrBf16 *dx, const SrBf16 *x, const SrBf16 *dy,
                          int64_t n) {
    const SrRows *rows = sr__rows();
    float in[BLOCK], slope[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = SR_MIN(BLOCK, n - i);
        rows->cast(SR_F32, in, SR_BF16, x + i, m, false);
        rows->cast(SR_F32, slope, SR_BF16, dy + i, m, false);
        k->grad(slope, in, slope, m);
        rows->cast(SR_BF16, dx + i, SR_F32, slope, m, false);
    }
}

void sr__pointwise_forward(const SrOpCall *call, const SrPointwise *k) {
    int64_t n = sr_shape_count(call->y.shape);
    SrDtype type = call->y.dtype;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK) {
        void *y = sr__at(type, call->y.data, i);
        const void *x = sr__at(type, call->x[0].data, i);
        int64_t m = SR_MIN(SR_CHUNK, n - i);
        type == SR_BF16 ? forward_bf16(k, y, x, m) : k->f(y, x, m);
    }
}

void sr__pointwise_backward(const SrOpCall *call, const SrPointwise *k) {
    int64_t n = sr_shape_count(call->y.shape);
    SrDtype type = call->y.dtype;
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK) {
        void *dx = sr__at(type, call->dx[0], i);
        const void *x = sr__at(type, call->x[0].data, i), *dy = sr__at(type, call->dy, i);
        int64_t m = SR_MIN(SR_CHUNK, n - i);
        type == SR_BF16 ? backward_bf16(k, dx, x, dy, m) : k->grad(dx, x, dy, m);
    }
}
