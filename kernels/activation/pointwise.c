// Runs an activation's vector loops over whole tensors, in chunks (pointwise.h).
#include "kernels/activation/pointwise.h"

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

void sr__reference_activation(const SrRefCall *call, const char *name) {
    const SrOp *op;
    if (name && sr_op_find(name, &op) == SR_OK)
        op->reference(&(SrRefCall){.n_in = 1,
                                   .x_shape = &call->y_shape,
                                   .x = (const double *const[]){call->y},
                                   .y_shape = call->y_shape,
                                   .y = call->y});
}

void sr__pointwise_forward(const SrOpCall *call, const SrPointwise *k) {
    int64_t n = sr_shape_count(call->y.shape);
    SrDtype type = call->y.dtype;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        k->f(type, sr__at(type, call->y.data, i), sr__at(type, call->x[0].data, i),
             SR_MIN(SR_CHUNK, n - i));
}

void sr__pointwise_backward(const SrOpCall *call, const SrPointwise *k) {
    int64_t n = sr_shape_count(call->y.shape);
    SrDtype type = call->y.dtype;
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        k->grad(type, sr__at(type, call->dx[0], i), sr__at(type, call->x[0].data, i),
                sr__at(type, call->dy, i), SR_MIN(SR_CHUNK, n - i));
}

unsigned sr__pointwise_plain_reads(const void *params) {
    (void)params;
    return SR_READS_Y;
}

void sr__pointwise_plain_forward(const SrOpCall *call, float (*f)(float x)) {
    const float *x = call->x[0].data; // (n)
    float *y = call->y.data;          // (n)
    int64_t n = sr_shape_count(call->y.shape);
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i++)
        y[i] = f(x[i]);
}

void sr__pointwise_plain_backward(const SrOpCall *call, float (*slope)(float y)) {
    const float *y = call->y.data, *dy = call->dy; // (n)
    float *dx = call->dx[0];                       // (n)
    int64_t n = sr_shape_count(call->y.shape);
    if (!dx)
        return;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i++)
        dx[i] = dy[i] * slope(y[i]);
}
