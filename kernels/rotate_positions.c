// rotate_positions: rotates queries and keys by the place of their patch (rotary positions in two
// dimensions: Siméoni et al., "DINOv3", arXiv:2508.10104; Su et al., arXiv:2104.09864).  Values
// and the first `prefix` tokens stay.
//
//   packed (N, prefix + h w, 3 D) -> the same shape
//
// A head of d numbers has d / 2 pairs (i, i + d / 2).  The first d / 4 pairs turn with the row, the
// others with the column.  Each axis runs from -1 to 1 by itself, at the centres of the patches:
// pair j turns by 2 pi place / base^(4 j / d).
#include "kernels/rotate_positions.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

#define TWO_PI 6.283185307179586

#define FIELD(f) offsetof(SrRotatePositionsParams, f)
static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, FIELD(num_heads), "1", 1, 1 << 16, .help = "Heads."},
    {"prefix", SR_OPT_INT, FIELD(prefix), "0", 0, 1 << 20,
     .help = "Number of first tokens that have no position."},
    {"h", SR_OPT_INT, FIELD(h), "1", 1, 1 << 15, .help = "Rows of patches."},
    {"w", SR_OPT_INT, FIELD(w), "1", 1, 1 << 15, .help = "Columns of patches."},
    {"base", SR_OPT_FLOAT, FIELD(base), "100", 1, 1e9,
     .help = "Ratio between the longest and the shortest period."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrRotatePositionsParams *p = params;
    SR_TRY(sr__expect_rank("rotate_positions", x, n_in, 3, 3));
    if (p->num_heads < 1 || sr_shape_last(x[0]) % (12 * (int64_t)p->num_heads))
        return sr__shape_fail("rotate_positions", x, n_in,
                              "(N, L, 3 D) with D a multiple of 4 num_heads, %d", 4 * p->num_heads);
    if (p->h < 1 || p->w < 1 || x[0].d[1] != p->prefix + (int64_t)p->h * p->w)
        return sr__shape_fail("rotate_positions", x, n_in, "%d + %d x %d tokens", p->prefix, p->h,
                              p->w);
    *y = x[0];
    return SR_OK;
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

// Returns the angle of a pair (0 to d / 2) of a patch.
static double angle(const SrRotatePositionsParams *p, int64_t patch, int64_t pair, int64_t d) {
    bool column = pair >= d / 4;
    int64_t place = column ? patch % p->w : patch / p->w;
    double at = 2 * ((double)place + 0.5) / (column ? p->w : p->h) - 1;
    double base = p->base > 0 ? p->base : 100;
    return TWO_PI * at / pow(base, 4 * (double)(pair % (d / 4)) / (double)d);
}

static void reference(const SrRefCall *call) {
    const SrRotatePositionsParams *p = call->params;
    int64_t rows = sr_shape_rows(call->y_shape), D = sr_shape_last(call->y_shape) / 3;
    int64_t L = call->y_shape.d[1], d = D / p->num_heads;
    memcpy(call->y, call->x[0], (size_t)(3 * rows * D) * sizeof(double));
    for (int64_t i = 0; i < rows * 2 * D / d; i++) {
        int64_t row = i / (2 * D / d), token = row % L;
        double *y = call->y + row * 3 * D + i % (2 * D / d) * d;
        for (int64_t k = 0; token >= p->prefix && k < d / 2; k++) {
            double turn = angle(p, token - p->prefix, k, d), a = y[k], b = y[k + d / 2];
            y[k] = a * cos(turn) - b * sin(turn);
            y[k + d / 2] = b * cos(turn) + a * sin(turn);
        }
    }
}

static int64_t head_width(const SrRotatePositionsParams *p, SrShape x) {
    return sr_shape_last(x) / 3 / p->num_heads;
}

// Scratch: cosine and sine of every pair of every patch, (h w, 2, d / 2).
static size_t scratch_bytes(const SrOpSite *site) {
    const SrRotatePositionsParams *p = site->params;
    return (size_t)(p->h * p->w * head_width(p, site->x[0])) * sizeof(float);
}

static void fill_table(const SrRotatePositionsParams *p, int64_t d, float *table) {
#pragma omp parallel for schedule(static) if (p->h * p->w * d > SR_CHUNK)
    for (int64_t i = 0; i < (int64_t)p->h * p->w; i++)
        for (int64_t k = 0; k < d / 2; k++) {
            double turn = angle(p, i, k, d);
            table[i * d + k] = (float)cos(turn);
            table[i * d + d / 2 + k] = (float)sin(turn);
        }
}

// Rotates all heads of queries and keys of one token, (2 D), by `table` or by its opposite.
static void rotate(const float *x, float *y, const float *table, int64_t D, int64_t d, float sign) {
    for (int64_t head = 0; head < 2 * D; head += d)
        for (int64_t k = 0; k < d / 2; k++) {
            float c = table[k], s = sign * table[d / 2 + k];
            float a = x[head + k], b = x[head + d / 2 + k];
            y[head + k] = a * c - b * s;
            y[head + d / 2 + k] = b * c + a * s;
        }
}

// Rotates all tokens.  x and y may be the same memory.
static void rotate_all(const SrOpCall *call, const float *x, float *y, float sign) {
    const SrRotatePositionsParams *p = call->params;
    SrShape shape = call->y.shape;
    int64_t rows = sr_shape_rows(shape), L = shape.d[1], D = sr_shape_last(shape) / 3;
    int64_t d = D / p->num_heads;
    float *table = call->scratch;
    fill_table(p, d, table);
#pragma omp parallel for schedule(static) if (rows * D > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        int64_t token = r % L - p->prefix, turned = token < 0 ? 0 : 2 * D;
        if (turned)
            rotate(x + r * 3 * D, y + r * 3 * D, table + token * d, D, d, sign);
        if (x != y)
            memcpy(y + r * 3 * D + turned, x + r * 3 * D + turned,
                   (size_t)(3 * D - turned) * sizeof *y);
    }
}

static void forward(const SrOpCall *call) { rotate_all(call, call->x[0].data, call->y.data, 1); }

// A rotation's transpose is the rotation back.
static void backward(const SrOpCall *call) {
    if (call->dx[0])
        rotate_all(call, call->dy, call->dx[0], -1);
}

// Makes the tables of the ONNX graph, (L, 1, d): cosines, and sines with the sign of their half.
// Tokens without a position have an angle of 0.
static SrStatus onnx_tables(SrOnnxCall *call, const char **cosine, const char **sine) {
    const SrRotatePositionsParams *p = call->params;
    int d = (int)head_width(p, call->y), L = call->y.d[1];
    size_t bytes = (size_t)L * (size_t)d * sizeof(float);
    float *c = sr_arena_alloc(&call->file->arena, bytes);
    float *s = sr_arena_alloc(&call->file->arena, bytes);
    SR_TRY_MEMORY(c && s, "an ONNX graph");
    for (int i = 0; i < L * d; i++) {
        int token = i / d - p->prefix, k = i % d;
        double turn = token < 0 ? 0 : angle(p, token, k % (d / 2), d);
        c[i] = (float)cos(turn);
        s[i] = (float)(k < d / 2 ? -sin(turn) : sin(turn));
    }
    *cosine = sr__onnx_floats(call, "cosine", SR_SHAPE(L, 1, d), c);
    *sine = sr__onnx_floats(call, "sine", SR_SHAPE(L, 1, d), s);
    return SR_OK;
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrRotatePositionsParams *p = call->params;
    int D = sr_shape_last(call->y) / 3, E = p->num_heads, d = D / E;
    const char *cosine = NULL, *sine = NULL, *x = sr__onnx_rows(call, 0);
    SR_TRY(onnx_tables(call, &cosine, &sine));
    const char *qk = sr__onnx_slice(call, "qk", x, 2, 0, 2 * (int64_t)D);
    const char *v = sr__onnx_slice(call, "v", x, 2, 2 * (int64_t)D, 3 * (int64_t)D);
    qk = sr__onnx_reshape(call, "heads", qk, (int64_t[]){0, 0, 2 * E, d}, 4);
    const char *first = sr__onnx_slice(call, "first", qk, 3, 0, d / 2);
    const char *second = sr__onnx_slice(call, "second", qk, 3, d / 2, d);
    const char *swapped = sr__onnx_concat(call, "swapped", (const char *[]){second, first}, 2, 3);
    const char *along = sr__onnx_two(call, "along", "Mul", qk, cosine);
    const char *across = sr__onnx_two(call, "across", "Mul", swapped, sine);
    qk = sr__onnx_two(call, "turned", "Add", along, across);
    qk = sr__onnx_reshape(call, "back", qk, (int64_t[]){0, 0, 2 * (int64_t)D}, 3);
    return sr__onnx_finish(call, sr__onnx_concat(call, "packed", (const char *[]){qk, v}, 2, 2));
}

static const SrOpCase cases[] = {
    {"{num_heads: 2, prefix: 1, h: 2, w: 3}", 1, {SR_SHAPE(2, 7, 48)}, false},
    {"{num_heads: 1, h: 1, w: 2, base: 10}", 1, {SR_SHAPE(3, 2, 12)}, false},
};

const SrOp sr_op_rotate_positions = {
    .name = "rotate_positions",
    .help = "Rotates queries and keys by the place of their patch (RoPE).",
    .options = options,
    .params_bytes = sizeof(SrRotatePositionsParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .scratch_bytes = scratch_bytes,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
