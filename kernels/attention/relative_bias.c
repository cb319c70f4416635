// relative_bias: the term that attention adds to its scores by the offset between two places of a
// grid, (1, E, L, L).  It comes from a table with a row per offset, (T, E) with T = (2 h - 1) (2 w
// - 1): a parameter, or an input that ends in (T, E).  Row (dy + h - 1) (2 w - 1) + dx + w - 1
// belongs to a query dy below and dx right of its key (Liu et al., "Swin Transformer",
// arXiv:2103.14030, equation 4).  With a class token three rows follow: class to token, token to
// class, class to class (Bao et al., "BEiT", arXiv:2106.08254).
#include "kernels/attention/relative_bias.h"

#include <stddef.h>
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrRelativeBiasParams, f)
static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, FIELD(num_heads), "1", 1, 1 << 16, .help = "Heads."},
    {"window_h", SR_OPT_INT, FIELD(window_h), "1", 1, 0xffff, .help = "Rows of the grid."},
    {"window_w", SR_OPT_INT, FIELD(window_w), "1", 1, 0xffff, .help = "Columns of the grid."},
    {"class_token", SR_OPT_BOOL, FIELD(class_token), "False",
     .help = "The first token is a class token, which has no position."},
    {"tokens", SR_OPT_INT, FIELD(tokens), "0", 0, 1 << 20,
     .help = "Number of first tokens to use; 0: all."},
    SR_OPTION_END,
};
#undef FIELD

static int rows_of(const SrRelativeBiasParams *p) {
    return (2 * p->window_h - 1) * (2 * p->window_w - 1) + 3 * p->class_token;
}

static int tokens_of(const SrRelativeBiasParams *p) {
    return p->tokens > 0 ? p->tokens : p->window_h * p->window_w + p->class_token;
}

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrRelativeBiasParams *p = params;
    int L = tokens_of(p);
    if (p->num_heads < 1 || p->window_h < 1 || p->window_w < 1 ||
        L > p->window_h * p->window_w + p->class_token)
        SR_FAIL(SR_ERR_CONFIG,
                "relative_bias: %d tokens for %d x %d positions and %d heads: expected at least "
                "one head and no more tokens than positions",
                L, p->window_h, p->window_w, p->num_heads);
    if (n_in > 0 && (sr_shape_last(x[0]) != p->num_heads || sr_shape_rows(x[0]) % rows_of(p) != 0))
        return sr__shape_fail("relative_bias", x, n_in, "a table (%d, %d)", rows_of(p),
                              p->num_heads);
    *y = SR_SHAPE(n_in > 0 ? (int)(sr_shape_rows(x[0]) / rows_of(p)) : 1, p->num_heads, L, L);
    return SR_OK;
}

static bool channels_last(const void *params, bool of_input) {
    (void)params, (void)of_input;
    return true;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrRelativeBiasParams *p = params;
    (void)x;
    out[0] = sr__param_slot("table", SR_SHAPE(rows_of(p), p->num_heads), SR_ROLE_OTHER,
                            SR_INIT_NORMAL, 0.02);
    return n_in == 0;
}

// Returns the table's row for query l and key m.
static int row_of(const SrRelativeBiasParams *p, int l, int m) {
    if (p->class_token && (l == 0 || m == 0))
        return rows_of(p) - (l == 0 && m == 0 ? 1 : l == 0 ? 3 : 2);
    l -= p->class_token, m -= p->class_token;
    int dy = l / p->window_w - m / p->window_w, dx = l % p->window_w - m % p->window_w;
    return (dy + p->window_h - 1) * (2 * p->window_w - 1) + dx + p->window_w - 1;
}

static void reference(const SrRefCall *call) {
    const SrRelativeBiasParams *p = call->params;
    int64_t L = tokens_of(p), E = p->num_heads, n = sr_shape_count(call->y_shape);
    const double *table = call->n_in > 0 ? call->x[0] : call->w[0];
    for (int64_t i = 0; i < n; i++)
        call->y[i] =
            table[(i / L / L / E * rows_of(p) + row_of(p, (int)(i / L % L), (int)(i % L))) * E +
                  i / L / L % E];
}

static void forward(const SrOpCall *call) {
    const SrRelativeBiasParams *p = call->params;
    int64_t L = tokens_of(p), E = p->num_heads, planes = call->y.shape.d[0] * E;
    const float *table = call->n_in > 0 ? call->x[0].data : call->w[0].data;
    float *y = call->y.data;
#pragma omp parallel for schedule(static) if (planes * L * L > SR_CHUNK)
    for (int64_t i = 0; i < planes * L; i++) {
        const float *from = table + i / L / E * rows_of(p) * E + i / L % E;
        for (int m = 0; m < L; m++)
            y[i * L + m] = from[row_of(p, (int)(i % L), m) * E];
    }
}

// One thread adds a head's column of the table, query by query.
static void backward(const SrOpCall *call) {
    const SrRelativeBiasParams *p = call->params;
    int64_t L = tokens_of(p), E = p->num_heads, planes = call->y.shape.d[0] * E;
    float *table = call->n_in > 0 ? call->dx[0] : call->dw[0];
    if (!table)
        return;
    if (call->n_in > 0)
        sr__zero(table, sr_shape_count(call->x[0].shape));
#pragma omp parallel for schedule(static) if (planes * L * L > SR_CHUNK)
    for (int64_t plane = 0; plane < planes; plane++) {
        float *to = table + plane / E * rows_of(p) * E + plane % E;
        for (int64_t i = 0; i < L * L; i++)
            to[row_of(p, (int)(i / L), (int)(i % L)) * E] += call->dy[plane * L * L + i];
    }
}

// Writes a gather from the rows of tables (B, T, E).
static SrStatus onnx(SrOnnxCall *call) {
    const SrRelativeBiasParams *p = call->params;
    int L = tokens_of(p), B = call->y.d[0], E = p->num_heads;
    int64_t *rows = sr_arena_alloc(&call->file->arena, (size_t)(L * L) * sizeof *rows);
    SR_TRY_MEMORY(rows, "an ONNX graph");
    for (int i = 0; i < L * L; i++)
        rows[i] = row_of(p, i / L, i % L);
    const char *table = call->n_in > 0 ? sr__onnx_rows(call, 0) : sr__onnx_weight(call, 0);
    table = sr__onnx_reshape(call, "tables", table, (const int64_t[]){B, rows_of(p), E}, 3);
    table = sr__onnx_gather(call, "gathered", table, 1, rows, L * L);
    table = sr__onnx_reshape(call, "square", table, (const int64_t[]){B, L, L, E}, 4);
    return sr__onnx_finish(
        call, sr__onnx_transpose(call, "heads", table, (const int64_t[]){0, 3, 1, 2}, 4));
}

static const SrOpCase cases[] = {
    {"{num_heads: 2, window_h: 2, window_w: 3}", 0, {{0}}, false},
    {"{num_heads: 3, window_h: 2, window_w: 2, class_token: True}", 0, {{0}}, false},
    {"{num_heads: 2, window_h: 3, window_w: 3, tokens: 4}", 0, {{0}}, false},
    {"{num_heads: 2, window_h: 2, window_w: 3}", 1, {SR_SHAPE(1, 3, 5, 2)}, false},
};

const SrOp sr_op_relative_bias = {
    .name = "relative_bias",
    .help = "Learned bias for each offset between two positions, in the form that attention adds.",
    .options = options,
    .params_bytes = sizeof(SrRelativeBiasParams),
    .min_in = 0,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .channels_last = channels_last,
    .slots = slots,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
