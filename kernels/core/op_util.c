// Shape checks, slots and loops over whole tensors that several ops share (op_util.h).
#include "kernels/core/op_util.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/number.h"
#include "base/text/text.h"
#include "kernels/core/rows.h"

// The message holds all shapes of the call, because the input at fault is often not certain.
SrStatus sr__shape_fail(const char *op, const SrShape *x, int n_in, const char *expected, ...) {
    char shapes[1024] = "", one[SR_SHAPE_TEXT_BYTES], what[256];
    size_t used = 0;
    for (int i = 0; i < n_in && used + sizeof one + 2 < sizeof shapes; i++)
        used += (size_t)snprintf(shapes + used, sizeof shapes - used, "%s%s", i ? ", " : "",
                                 sr_shape_text(x[i], one, sizeof one));
    va_list args;
    va_start(args, expected);
    sr_number_vprint(what, sizeof what, expected, args);
    va_end(args);
    SR_FAIL(SR_ERR_CONFIG, "%s: input%s %s: expected %s", op, n_in > 1 ? "s" : "", shapes, what);
}

SrStatus sr__expect_rank(const char *op, const SrShape *x, int n_in, int low, int high) {
    if (x[0].rank >= low && x[0].rank <= high)
        return SR_OK;
    if (low == high)
        return sr__shape_fail(op, x, n_in, "%d dimensions", low);
    return sr__shape_fail(op, x, n_in, "%d to %d dimensions", low, high);
}

SrStatus sr__infer_same(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params, (void)n_in;
    *y = x[0];
    return SR_OK;
}

unsigned sr__reads_x(const void *params) {
    (void)params;
    return SR_READS_X(0);
}

SrSlot sr__param_slot(const char *name, SrShape shape, SrRole role, SrInitKind init, double value) {
    return (SrSlot){.name = name,
                    .shape = shape,
                    .dtype = SR_F32,
                    .kind = SR_SLOT_PARAM,
                    .role = role,
                    .init = {init, value}};
}

SrSlot sr__state_slot(const char *name, SrShape shape, SrDtype dtype, SrInitKind init,
                      double value) {
    return (SrSlot){.name = name,
                    .shape = shape,
                    .dtype = dtype,
                    .kind = SR_SLOT_STATE,
                    .role = SR_ROLE_OTHER,
                    .init = {init, value}};
}

// Copies memory in chunks, so that several cores share the bandwidth.
void sr__copy(float *dst, const float *src, int64_t n) {
    if (dst == src)
        return;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        memcpy(dst + i, src + i, (size_t)SR_MIN(SR_CHUNK, n - i) * sizeof(float));
}

bool sr__same_is_view(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)x, (void)n_in;
    return true;
}

void sr__same_reference(const SrRefCall *call) {
    memcpy(call->y, call->x[0], (size_t)sr_shape_count(call->y_shape) * sizeof(double));
}

void sr__same_forward(const SrOpCall *call) {
    sr__copy(call->y.data, call->x[0].data, sr_shape_count(call->y.shape));
}

void sr__same_backward(const SrOpCall *call) {
    if (call->dx[0])
        sr__copy(call->dx[0], call->dy, sr_shape_count(call->y.shape));
}

void sr__zero(float *dst, int64_t n) {
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        memset(dst + i, 0, (size_t)SR_MIN(SR_CHUNK, n - i) * sizeof(float));
}

// A strip of channels belongs to one thread, which walks all rows: there are no partial sums and
// one order.
void sr__add_column_sums(const SrMachine *machine, const float *x, int64_t rows, int C,
                         float *out) {
    const SrRows *k = sr__rows(machine);
#pragma omp parallel for schedule(static) if (rows * C > SR_CHUNK)
    for (int c = 0; c < C; c += SR_STRIP) {
        double sum[SR_STRIP] = {0};
        int width = SR_MIN(SR_STRIP, C - c);
        k->column_sums(sum, x + c, rows, C, width);
        for (int i = 0; i < width; i++)
            out[c + i] += (float)sum[i];
    }
}

int64_t sr__label_at(const SrTensor *labels, int64_t i) {
    return labels->dtype == SR_I64 ? ((const int64_t *)labels->data)[i]
                                   : (int64_t)floorf(((const float *)labels->data)[i]);
}
