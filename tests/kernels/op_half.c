// Runs an op on bfloat16 inputs and compares it with the double-precision reference or with the
// op on floats (op_half.h).
#include "tests/kernels/op_half.h"

#include "base/bf16.h"
#include "base/parallel.h"
#include "kernels/basic/cast.h"
#include "tests/check.h"
#include "tests/kernels/op_call.h"
#include "tests/machine.h"

#define ROUNDING \
    0x1.8p-8 // three times the error of one rounding: weights of products are rounded too

static void *rounded(OpCall *c, const float *from, int64_t n) {
    void *out = op_call_alloc(c, (size_t)n * sizeof(SrBf16));
    sr_cast(test_machine(), SR_BF16, out, SR_F32, from, n);
    return out;
}

// Rounds inputs and dy to numbers that float and bfloat16 both hold, in the float and the double
// buffers.
static void round_inputs(OpCall *c) {
    for (int i = 0; i <= c->n_in; i++) {
        int64_t n = sr_shape_count(i < c->n_in ? c->shapes[i] : c->y_shape);
        float *values = i < c->n_in ? c->x[i].data : c->dy;
        for (int64_t j = 0; j < n; j++) {
            values[j] = sr_bf16_float(sr_bf16_round(values[j]));
            if (i < c->n_in)
                c->x64[i][j] = (double)values[j];
        }
    }
}

typedef struct {
    OpCall *c;
    SrTensor x[SR_OP_MAX_IN], y;
    float *dx[SR_OP_MAX_IN]; // holds bfloat16 despite the type, as in SrOpCall
    SrOpCall call;
} Half;

static SrDtype type_of(unsigned halves, int i) { return halves >> i & 1 ? SR_BF16 : SR_F32; }

// Prepares the call of `c` with bfloat16 tensors; outputs start as garbage. Bit i of `halves`
// makes input i and its gradient bfloat16, bit n_in makes the output and dy bfloat16.
static void begin(Half *h, OpCall *c, unsigned halves) {
    const SrOp *op = c->op;
    *h = (Half){.c = c};
    for (int i = 0; i < c->n_in; i++) {
        int64_t n = sr_shape_count(c->shapes[i]);
        SrDtype type = type_of(halves, i);
        h->x[i] = (SrTensor){c->shapes[i], type,
                             type == SR_F32 ? c->x[i].data : rounded(c, c->x[i].data, n)};
        h->dx[i] = op_call_alloc(c, (size_t)n * sr_dtype_bytes(type));
        memset(h->dx[i], 0xA5, (size_t)n * sr_dtype_bytes(type));
    }
    int64_t n = sr_shape_count(c->y_shape);
    SrDtype type = type_of(halves, c->n_in);
    h->y = (SrTensor){c->y_shape, type, op_call_alloc(c, (size_t)n * sr_dtype_bytes(type))};
    SrOpSite site = op_call_site(c, SR_BF16);
    size_t bytes = op_scratch_bytes(op, &site);
    h->call = (SrOpCall){.machine = site.machine,
                         .design = site.design,
                         .params = c->params,
                         .train = c->train,
                         .n_in = c->n_in,
                         .x = h->x,
                         .y = h->y,
                         .n_w = c->n_w,
                         .w = c->w,
                         .dw = c->dw,
                         .dy = type == SR_F32 ? c->dy : rounded(c, c->dy, n),
                         .dx = h->dx,
                         .saved = c->saved,
                         .scratch = op_call_alloc(c, bytes),
                         .seed = 7,
                         .iteration = 3,
                         .node_key = 11};
    memset(h->call.scratch, 0xFF, bytes); // NaN
}

static void check_close(const char *what, const OpCall *c, SrDtype type, const void *a,
                        const double *b, int64_t n, double tolerance) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(b[i]));
    for (int64_t i = 0; i < n; i++) {
        double v = (double)(type == SR_BF16 ? sr_bf16_float(((const SrBf16 *)a)[i])
                                            : ((const float *)a)[i]);
        if (!(fabs(v - b[i]) <= tolerance * largest + 1e-6))
            fail_msg("%s %s %s: %s[%lld] is %.9g, expected %.9g", c->op->name,
                     sr_cpu_name(test_machine()->level), c->train ? "train" : "eval", what,
                     (long long)i, v, b[i]);
    }
}

static double *doubles(OpCall *c, const float *from, int64_t n) {
    double *out = op_call_alloc(c, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)from[i];
    return out;
}

static void run_forward(OpCall *c, Half *h) {
    op_call_prepare(c, SR_PASS_FORWARD, &h->call);
    c->op->forward(&h->call);
}

static void run_backward(OpCall *c, Half *h) {
    op_call_prepare(c, SR_PASS_BACKWARD, &h->call);
    c->op->backward(&h->call);
}

void op_half_forward(const SrOp *op, const SrOpCase *example, bool train) {
    OpCall c;
    Half h;
    op_call_init(&c, op, example, 1, train, 21);
    round_inputs(&c);
    begin(&h, &c, ~0u);
    run_forward(&c, &h);
    op_call_reference(&c);
    check_close("y", &c, SR_BF16, h.y.data, c.y64, sr_shape_count(c.y_shape), ROUNDING);
    for (int i = 0; i < c.n_w; i++) // running statistics move as on floats
        if (c.slots[i].kind == SR_SLOT_STATE && c.slots[i].dtype == SR_F32)
            check_close(c.slots[i].name, &c, SR_F32, c.w[i].data, c.w64[i],
                        sr_shape_count(c.slots[i].shape), 1e-5);
    op_call_deinit(&c);
}

void op_half_backward(const SrOp *op, const SrOpCase *example, bool train, double roundings) {
    OpCall c, d;
    Half h;
    op_call_init(&c, op, example, 1, train, 22);
    op_call_init(&d, op, example, 1, train, 22);
    round_inputs(&c);
    round_inputs(&d);
    op_call_forward(&c);
    op_call_backward(&c);
    begin(&h, &d, ~0u);
    run_forward(&d, &h);
    run_backward(&d, &h);
    for (int i = 0; i < c.n_in; i++) {
        int64_t n = sr_shape_count(c.shapes[i]);
        check_close("dx", &d, SR_BF16, h.dx[i], doubles(&c, c.dx[i], n), n, roundings * ROUNDING);
    }
    for (int i = 0; i < c.n_w; i++) {
        int64_t n = sr_shape_count(c.slots[i].shape);
        if (c.dw[i]) // gradients of weights are float sums of exact numbers
            check_close(c.slots[i].name, &d, SR_F32, d.dw[i], doubles(&c, c.dw[i], n), n, 1e-5);
    }
    op_call_deinit(&c);
    op_call_deinit(&d);
}

// Fails unless every number of `a`, of either type, is the rounded number of `b`.
static void check_rounded(const char *what, const OpCall *c, SrDtype type, const void *a,
                          const float *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        float v = type == SR_F32 ? ((const float *)a)[i] : sr_bf16_float(((const SrBf16 *)a)[i]);
        float expected = type == SR_F32 ? b[i] : sr_bf16_float(sr_bf16_round(b[i]));
        if (v != expected)
            fail_msg("%s %s: %s[%lld] is %.9g, floats are rounded to %.9g", c->op->name,
                     sr_cpu_name(test_machine()->level), what, (long long)i, (double)v,
                     (double)expected);
    }
}

static void mixed_case(const SrOp *op, const SrOpCase *example, unsigned halves) {
    OpCall c, d;
    Half h;
    op_call_init(&c, op, example, 1, true, 24);
    op_call_init(&d, op, example, 1, true, 24);
    round_inputs(&c);
    round_inputs(&d);
    op_call_forward(&c);
    op_call_backward(&c);
    begin(&h, &d, halves);
    run_forward(&d, &h);
    run_backward(&d, &h);
    check_rounded("y", &d, h.y.dtype, h.y.data, c.y.data, sr_shape_count(c.y_shape));
    for (int i = 0; i < c.n_in; i++)
        check_rounded("dx", &d, h.x[i].dtype, h.dx[i], c.dx[i], sr_shape_count(c.shapes[i]));
    for (int i = 0; i < c.n_w; i++)
        if (c.dw[i])
            check_rounded(c.slots[i].name, &d, SR_F32, d.dw[i], c.dw[i],
                          sr_shape_count(c.slots[i].shape));
    op_call_deinit(&c);
    op_call_deinit(&d);
}

void op_half_mixed(const SrOp *op, const SrOpCase *example) {
    bool once = example->n_in <= 2; // with more inputs the op rounds partial sums as well
    for (unsigned halves = 1; once && halves < 1u << (example->n_in + 1); halves++)
        mixed_case(op, example, halves);
}

void op_half_threads(const SrOp *op, const SrOpCase *example, bool train) {
    int before = sr_parallel_threads(), rows = (int)(60000 / sr_shape_count(example->x[0]) + 1);
    OpCall c[2];
    Half h[2];
    for (int i = 0; i < 2; i++) {
        sr_parallel_set_threads(i ? 3 : 1);
        op_call_init(&c[i], op, example, example->x[0].rank ? rows : 1, train, 23);
        begin(&h[i], &c[i], ~0u);
        run_forward(&c[i], &h[i]);
        run_backward(&c[i], &h[i]);
    }
    bool same =
        !memcmp(h[0].y.data, h[1].y.data, (size_t)sr_shape_count(c[0].y_shape) * sizeof(SrBf16));
    for (int i = 0; i < c[0].n_in; i++)
        same &= !memcmp(h[0].dx[i], h[1].dx[i],
                        (size_t)sr_shape_count(c[0].shapes[i]) * sizeof(SrBf16));
    for (int i = 0; i < c[0].n_w; i++)
        same &= !c[0].dw[i] ||
                !memcmp(c[0].dw[i], c[1].dw[i], (size_t)sr_shape_count(c[0].slots[i].shape) * 4);
    if (!same)
        fail_msg("%s %s: threads change bits", op->name, example->params);
    op_call_deinit(&c[0]);
    op_call_deinit(&c[1]);
    sr_parallel_set_threads(before);
}
