// cosine_qk: brings queries and keys of packed (.., 3 D) to length 1 in every head, and multiplies
// the queries by exp(min(logit_scale, log 100)).  Attention of the result with a scale of 1 is
// scaled cosine attention (Liu et al., "Swin Transformer V2", arXiv:2111.09883, equation 2).
// Values stay.
#include "kernels/attention/cosine_qk.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

enum { PIECES = 32 }; // pieces of the rows, each with its own sum of the gradient of logit_scale
#define LOG_100 4.605170185988092
#define SMALLEST 1e-12 // torch.nn.functional.normalize's eps

static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, offsetof(SrCosineQkParams, num_heads), "1", 1, 1 << 16,
     .help = "Heads."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrCosineQkParams *p = params;
    SR_TRY(sr__expect_rank("cosine_qk", x, n_in, 3, 4));
    if (p->num_heads < 1 || sr_shape_last(x[0]) % (3 * p->num_heads))
        return sr__shape_fail("cosine_qk", x, n_in, "(.., 3 D) with D a multiple of num_heads %d",
                              p->num_heads);
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrCosineQkParams *p = params;
    (void)x, (void)n_in;
    out[0] = sr__param_slot("logit_scale", SR_SHAPE(p->num_heads, 1, 1), SR_ROLE_OTHER,
                            SR_INIT_CONSTANT, 2.302585092994046); // log 10
    return 1;
}

// Scratch: sums of each piece for each head.
static size_t scratch_bytes(const SrOpSite *site) {
    const SrCosineQkParams *p = site->params;
    return PIECES * (size_t)p->num_heads * sizeof(double);
}

static void reference(const SrRefCall *call) {
    const SrCosineQkParams *p = call->params;
    int64_t rows = sr_shape_rows(call->y_shape), D = sr_shape_last(call->y_shape) / 3;
    int64_t d = D / p->num_heads;
    memcpy(call->y, call->x[0], (size_t)(3 * rows * D) * sizeof(double));
    for (int64_t i = 0; i < rows * 2 * p->num_heads; i++) {
        int64_t head = i % (2 * p->num_heads);
        double *y = call->y + i / (2 * p->num_heads) * 3 * D + head * d, sum = 0;
        double factor = head < p->num_heads ? exp(fmin(call->w[0][head], LOG_100)) : 1;
        for (int64_t k = 0; k < d; k++)
            sum += y[k] * y[k];
        for (int64_t k = 0; k < d; k++)
            y[k] *= factor / fmax(sqrt(sum), SMALLEST);
    }
}

static float dot(const SrMachine *machine, const float *a, const float *b, int64_t n) {
    return (float)sr__rows(machine)->dot(a, b, n);
}

static float inverse_length(const SrMachine *machine, const float *x, int64_t d) {
    return 1 / fmaxf(sqrtf(dot(machine, x, x, d)), (float)SMALLEST);
}

static float factor_of(const SrOpCall *call, int head) {
    return expf(fminf(((const float *)call->w[0].data)[head], (float)LOG_100));
}

static void forward(const SrOpCall *call) {
    const SrCosineQkParams *p = call->params;
    int64_t rows = sr_shape_rows(call->y.shape), D = sr_shape_last(call->y.shape) / 3;
    int64_t d = D / p->num_heads;
    const float *x = call->x[0].data;
    float *y = call->y.data;
#pragma omp parallel for schedule(static) if (rows * D > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        for (int i = 0; i < 2 * p->num_heads; i++) {
            const float *from = x + r * 3 * D + i * d;
            float factor = inverse_length(call->machine, from, d);
            if (i < p->num_heads)
                factor *= factor_of(call, i);
            for (int64_t k = 0; k < d; k++)
                y[r * 3 * D + i * d + k] = from[k] * factor;
        }
        memcpy(y + r * 3 * D + 2 * D, x + r * 3 * D + 2 * D, (size_t)D * sizeof *y);
    }
}

// Computes dx = f / |x| (dy - u (u . dy)) with u = x / |x|; returns the factor's gradient, u . dy.
static float backward_head(const SrMachine *machine, const float *x, const float *dy, float *dx,
                           float factor, int64_t d) {
    float inverse = inverse_length(machine, x, d), along = dot(machine, x, dy, d) * inverse;
    for (int64_t k = 0; dx && k < d; k++)
        dx[k] = factor * inverse * (dy[k] - x[k] * inverse * along);
    return along;
}

static void backward_piece(const SrOpCall *call, int64_t first, int64_t end, double *sum) {
    const SrCosineQkParams *p = call->params;
    int64_t D = sr_shape_last(call->y.shape) / 3, d = D / p->num_heads;
    const float *x = call->x[0].data;
    memset(sum, 0, (size_t)p->num_heads * sizeof *sum);
    for (int64_t r = first; r < end; r++) {
        int64_t row = r * 3 * D;
        float *dx = call->dx[0] ? call->dx[0] + row : NULL;
        for (int i = 0; i < 2 * p->num_heads; i++) {
            float factor = i < p->num_heads ? factor_of(call, i) : 1;
            float along = backward_head(call->machine, x + row + i * d, call->dy + row + i * d,
                                        dx ? dx + i * d : NULL, factor, d);
            if (i < p->num_heads)
                sum[i] += (double)(along * factor);
        }
        if (dx)
            memcpy(dx + 2 * D, call->dy + row + 2 * D, (size_t)D * sizeof *dx);
    }
}

// Pieces of the rows do not depend on the number of threads, and their sums are added in order.
static void backward(const SrOpCall *call) {
    const SrCosineQkParams *p = call->params;
    int64_t rows = sr_shape_rows(call->y.shape);
    double *sum = call->scratch; // (PIECES, heads)
#pragma omp parallel for schedule(static) if (sr_shape_count(call->y.shape) > SR_CHUNK)
    for (int i = 0; i < PIECES; i++)
        backward_piece(call, i * rows / PIECES, (i + 1) * rows / PIECES, sum + i * p->num_heads);
    for (int e = 0; call->dw[0] && e < p->num_heads; e++) {
        double all = 0;
        for (int i = 0; i < PIECES; i++)
            all += sum[i * p->num_heads + e];
        // above log 100 the clamp stops the gradient
        if (((const float *)call->w[0].data)[e] <= (float)LOG_100)
            call->dw[0][e] += (float)all;
    }
}

// Writes heads of queries and keys (.., 2 E, d) at length 1, each times a factor.
static SrStatus onnx(SrOnnxCall *call) {
    const SrCosineQkParams *p = call->params;
    int rank = call->y.rank, D = sr_shape_last(call->y) / 3, E = p->num_heads;
    const float *scales = call->w[0].data;
    float *factors = sr_arena_alloc(&call->file->arena, 2 * (size_t)E * sizeof *factors);
    SR_TRY_MEMORY(factors, "an ONNX graph");
    for (int i = 0; i < 2 * E; i++)
        factors[i] = i < E ? (float)exp(fmin(scales[i], LOG_100)) : 1;
    const char *x = sr__onnx_rows(call, 0), *length = sr__onnx_inner(call, "length");
    const char *qk = sr__onnx_slice(call, "qk", x, rank - 1, 0, 2 * D);
    const char *v = sr__onnx_slice(call, "v", x, rank - 1, 2 * D, 3 * D);
    int64_t heads[SR_MAX_RANK + 1] = {0}, flat[SR_MAX_RANK] = {0};
    heads[rank - 1] = 2 * E, heads[rank] = D / E, flat[rank - 1] = 2 * D;
    qk = sr__onnx_reshape(call, "heads", qk, heads, rank + 1);
    sr_onnx_node(call->file, "ReduceL2", &qk, 1, length);
    sr_onnx_ints(call->file, "axes", &(int64_t){-1}, 1);
    sr_onnx_int(call->file, "keepdims", 1);
    sr_onnx_end(call->file);
    length = sr__onnx_two(call, "floor", "Max", length, sr__onnx_number(call, "least", SMALLEST));
    qk = sr__onnx_two(call, "unit", "Div", qk, length);
    const char *by = sr__onnx_floats(call, "factors", SR_SHAPE(2 * E, 1), factors);
    qk = sr__onnx_reshape(call, "back", sr__onnx_two(call, "scaled", "Mul", qk, by), flat, rank);
    return sr__onnx_finish(call,
                           sr__onnx_concat(call, "packed", (const char *[]){qk, v}, 2, rank - 1));
}

static const SrOpCase cases[] = {
    {"{num_heads: 2}", 1, {SR_SHAPE(2, 3, 12)}, false},
    {"{num_heads: 1}", 1, {SR_SHAPE(2, 2, 17, 15)}, false},
};

const SrOp sr_op_cosine_qk = {
    .name = "cosine_qk",
    .help = "Queries and keys of length 1, for cosine attention.",
    .options = options,
    .params_bytes = sizeof(SrCosineQkParams),
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
