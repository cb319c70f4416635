// softmax: y = softmax((x - centre) / temperature) of every row, torch.nn.functional.softmax over
// the last dimension: a teacher's targets, centred and sharpened (DINO, arXiv:2104.14294, eq. 1 and
// section 3.1).
//
// in[0] x (..., K); in[1], if the param temperature is 0, the temperature (1).  Slot with
// `centered`: the centre (1, K), which a loss moves.
#include "kernels/activation/softmax.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, offsetof(SrSoftmaxParams, temperature), "1.0", 0, 1e10,
     .help = "Temperature that divides the values; 0: the second input is the temperature."},
    {"centered", SR_OPT_BOOL, offsetof(SrSoftmaxParams, centered), "False",
     .help = "A centre is subtracted first."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrSoftmaxParams *p = params;
    SR_TRY(sr__expect_rank("softmax", x, 1, 1, SR_MAX_RANK));
    bool fits = p->temperature > 0 ? n_in == 1 : n_in == 2 && sr_shape_count(x[1]) == 1;
    if (!fits)
        return sr__shape_fail("softmax", x, n_in, "rows%s",
                              p->temperature > 0 ? "" : " and one temperature");
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrSoftmaxParams *p = params;
    (void)n_in;
    out[0] =
        sr__state_slot("center", SR_SHAPE(1, sr_shape_last(x[0])), SR_F32, SR_INIT_CONSTANT, 0);
    return p->centered;
}

static unsigned reads(const void *params) {
    const SrSoftmaxParams *p = params;
    return SR_READS_Y | (p->temperature > 0 ? 0 : SR_READS_X(1));
}

static double temperature_of(const SrOpCall *call) {
    const SrSoftmaxParams *p = call->params;
    return p->temperature > 0 ? p->temperature : (double)*(const float *)call->x[1].data;
}

static void forward(const SrOpCall *call) {
    const SrSoftmaxParams *p = call->params;
    const SrRows *k = sr__rows(call->machine);
    int K = sr_shape_last(call->x[0].shape);
    int64_t rows = sr_shape_rows(call->x[0].shape);
    float per_t = (float)(1 / temperature_of(call));
    const float *center = p->centered ? call->w[0].data : NULL; // (1, K)
#pragma omp parallel for schedule(static) if (rows * K > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)call->x[0].data + r * K;
        float *y = (float *)call->y.data + r * K;
        for (int i = 0; center && i < K; i++)
            y[i] = x[i] - center[i];
        if (center)
            x = y;
        double sum = k->exp_sum(y, x, k->max(x, K), per_t, K);
        k->scale(y, y, (float)(1 / sum), K);
    }
}

// Computes dx = y (dy - sum of y dy) / t; the temperature has no gradient.
static void backward(const SrOpCall *call) {
    int K = sr_shape_last(call->y.shape);
    int64_t rows = sr_shape_rows(call->y.shape);
    double per_t = 1 / temperature_of(call);
    if (call->dx[1])
        sr__zero(call->dx[1], sr_shape_count(call->x[1].shape));
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static) if (rows * K > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        const float *y = (const float *)call->y.data + r * K, *dy = call->dy + r * K;
        double mean = sr__rows(call->machine)->dot(y, dy, K);
        for (int i = 0; i < K; i++)
            call->dx[0][r * K + i] = (float)((double)y[i] * ((double)dy[i] - mean) * per_t);
    }
}

static void reference(const SrRefCall *call) {
    const SrSoftmaxParams *p = call->params;
    int K = sr_shape_last(call->y_shape);
    double t = p->temperature > 0 ? p->temperature : call->x[1][0];
    for (int64_t r = 0; r < sr_shape_rows(call->y_shape); r++) {
        const double *x = call->x[0] + r * K;
        double sum = 0;
        for (int i = 0; i < K; i++)
            sum += exp((x[i] - (p->centered ? call->w[0][i] : 0)) / t);
        for (int i = 0; i < K; i++)
            call->y[r * K + i] = exp((x[i] - (p->centered ? call->w[0][i] : 0)) / t) / sum;
    }
}

// A temperature in the second input belongs to the training, so it is not exported.
static SrStatus onnx(SrOnnxCall *call) {
    const SrSoftmaxParams *p = call->params;
    if (call->n_in > 1)
        return sr__onnx_unsupported(call, "with a temperature that is an input");
    const char *x = sr__onnx_rows(call, 0);
    if (p->centered)
        x = sr__onnx_two(call, "centered", "Sub", x, sr__onnx_weight(call, 0));
    if (p->temperature != 1)
        x = sr__onnx_two(call, "sharpened", "Div", x,
                         sr__onnx_number(call, "temperature", p->temperature));
    return sr__onnx_finish(call, sr__onnx_softmax(call, "probabilities", x));
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(5, 7)}, false},
    {"{temperature: 0.5, centered: true}", 1, {SR_SHAPE(3, 4, 33)}, false},
};

const SrOp sr_op_softmax = {
    .name = "softmax",
    .help = "Softmax of every row, with a temperature and a centre.",
    .options = options,
    .params_bytes = sizeof(SrSoftmaxParams),
    .min_in = 1,
    .max_in = 2,
    .infer = infer,
    .slots = slots,
    .reads = reads,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
