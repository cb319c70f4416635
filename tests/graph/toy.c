// Defines the toy ops and the double-precision interpreter of toy.h.
#include "tests/graph/toy.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "graph/plan/plan_internal.h"

static SrStatus infer_same(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    *y = x[0];
    if (n_in == 2 && !sr_shape_equal(x[0], x[1]))
        SR_FAIL(SR_ERR_CONFIG, "the shapes of both inputs must be equal");
    return SR_OK;
}

static int inplace_first(const void *params) {
    (void)params;
    return 0;
}

static unsigned reads_inputs(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

static unsigned reads_first(const void *params) {
    (void)params;
    return SR_READS_X(0);
}

static unsigned reads_output(const void *params) {
    (void)params;
    return SR_READS_Y;
}

static void give(const SrOpCall *call, int i, int64_t k, float v) {
    if (!call->dx[i])
        return;
    if (call->dx_add & (1u << i))
        call->dx[i][k] += v;
    else
        call->dx[i][k] = v;
}

// ---- mul
static void mul_reference(const SrRefCall *c) {
    for (int64_t k = 0; k < sr_shape_count(c->y_shape); k++)
        c->y[k] = c->x[0][k] * c->x[1][k];
}

static void mul_forward(const SrOpCall *c) {
    const float *a = c->x[0].data, *b = c->x[1].data;
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++)
        ((float *)c->y.data)[k] = a[k] * b[k];
}

static void mul_backward(const SrOpCall *c) {
    const float *a = c->x[0].data, *b = c->x[1].data;
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++) {
        if (c->dx[0])
            c->dx[0][k] = c->dy[k] * b[k];
        if (c->dx[1])
            c->dx[1][k] = c->dy[k] * a[k];
    }
}

const SrOp toy_mul = {.name = "toy_mul",
                      .min_in = 2,
                      .max_in = 2,
                      .infer = infer_same,
                      .reads = reads_inputs,
                      .reference = mul_reference,
                      .forward = mul_forward,
                      .backward = mul_backward};

// ---- sum
static void sum_reference(const SrRefCall *c) {
    for (int64_t k = 0; k < sr_shape_count(c->y_shape); k++)
        c->y[k] = c->x[0][k] + c->x[1][k];
}

static void sum_forward(const SrOpCall *c) {
    const float *a = c->x[0].data, *b = c->x[1].data;
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++)
        ((float *)c->y.data)[k] = a[k] + b[k];
}

static void sum_backward(const SrOpCall *c) {
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++) {
        give(c, 1, k, c->dy[k]);
        give(c, 0, k, c->dy[k]);
    }
}

const SrOp toy_sum = {.name = "toy_sum",
                      .min_in = 2,
                      .max_in = 2,
                      .flags = SR_OP_ADDS_DX,
                      .infer = infer_same,
                      .inplace = inplace_first,
                      .reference = sum_reference,
                      .forward = sum_forward,
                      .backward = sum_backward};

// ---- affine
static int affine_slots(const void *params, const SrShape *x, int n_in,
                        SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)params;
    (void)n_in;
    SrShape shape = SR_SHAPE(sr_shape_last(x[0]));
    out[0] =
        (SrSlot){"weight", shape, SR_F32, SR_SLOT_PARAM, SR_ROLE_WEIGHT, {SR_INIT_NORMAL, 0.7}};
    out[1] = (SrSlot){"bias", shape, SR_F32, SR_SLOT_PARAM, SR_ROLE_BIAS, {SR_INIT_UNIFORM, 0.3}};
    out[2] =
        (SrSlot){"count", SR_SHAPE(1), SR_F32, SR_SLOT_STATE, SR_ROLE_OTHER, {SR_INIT_CONSTANT, 0}};
    return 3;
}

static void affine_reference(const SrRefCall *c) {
    int width = sr_shape_last(c->y_shape);
    for (int64_t k = 0; k < sr_shape_count(c->y_shape); k++)
        c->y[k] = c->w[0][k % width] * c->x[0][k] + c->w[1][k % width];
    c->w[2][0] += c->train;
}

static void affine_forward(const SrOpCall *c) {
    const float *x = c->x[0].data, *w = c->w[0].data, *b = c->w[1].data;
    int width = sr_shape_last(c->y.shape);
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++)
        ((float *)c->y.data)[k] = w[k % width] * x[k] + b[k % width];
    if (c->train && !c->again)
        *(float *)c->w[2].data += 1;
}

static void affine_backward(const SrOpCall *c) {
    const float *x = c->x[0].data, *w = c->w[0].data;
    int width = sr_shape_last(c->y.shape);
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++) {
        if (c->dw[0])
            c->dw[0][k % width] += c->dy[k] * x[k];
        if (c->dw[1])
            c->dw[1][k % width] += c->dy[k];
        give(c, 0, k, c->dy[k] * w[k % width]);
    }
}

const SrOp toy_affine = {.name = "toy_affine",
                         .min_in = 1,
                         .max_in = 1,
                         .flags = SR_OP_IMPURE | SR_OP_ADDS_DX,
                         .infer = infer_same,
                         .slots = affine_slots,
                         .reads = reads_first,
                         .reference = affine_reference,
                         .forward = affine_forward,
                         .backward = affine_backward};

// ---- tanh
static void tanh_reference(const SrRefCall *c) {
    for (int64_t k = 0; k < sr_shape_count(c->y_shape); k++)
        c->y[k] = tanh(c->x[0][k]);
}

static void tanh_forward(const SrOpCall *c) {
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++)
        ((float *)c->y.data)[k] = tanhf(((const float *)c->x[0].data)[k]);
}

static void tanh_backward(const SrOpCall *c) {
    const float *y = c->y.data;
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++)
        c->dx[0][k] = c->dy[k] * (1 - y[k] * y[k]);
}

const SrOp toy_tanh = {.name = "toy_tanh",
                       .min_in = 1,
                       .max_in = 1,
                       .flags = SR_OP_CHEAP,
                       .infer = infer_same,
                       .reads = reads_output,
                       .inplace = inplace_first,
                       .reference = tanh_reference,
                       .forward = tanh_forward,
                       .backward = tanh_backward};

// ---- swish: y = x s(x), with a factor 1 carried in `saved` that a recomputation must find there
static size_t four_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params;
    (void)x;
    (void)n_in;
    return sizeof(float);
}

static size_t row_bytes(const SrOpSite *site) {
    return (size_t)sr_shape_count(site->x[0]) * sizeof(float);
}

static void swish_reference(const SrRefCall *c) {
    for (int64_t k = 0; k < sr_shape_count(c->y_shape); k++)
        c->y[k] = c->x[0][k] / (1 + exp(-c->x[0][k]));
}

static void swish_forward(const SrOpCall *c) {
    float *gate = c->scratch, *one = c->saved;
    const float *x = c->x[0].data;
    if (!c->again)
        *one = 1;
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++)
        gate[k] = *one / (1 + expf(-x[k]));
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++)
        ((float *)c->y.data)[k] = x[k] * gate[k];
}

static void swish_backward(const SrOpCall *c) {
    const float *x = c->x[0].data, *one = c->saved;
    for (int64_t k = 0; k < sr_shape_count(c->y.shape); k++) {
        float gate = *one / (1 + expf(-x[k]));
        give(c, 0, k, c->dy[k] * (gate + x[k] * gate * (1 - gate)));
    }
}

const SrOp toy_swish = {.name = "toy_swish",
                        .min_in = 1,
                        .max_in = 1,
                        .flags = SR_OP_CHEAP | SR_OP_ADDS_DX,
                        .infer = infer_same,
                        .reads = reads_first,
                        .saved_bytes = four_bytes,
                        .scratch_bytes = row_bytes,
                        .reference = swish_reference,
                        .forward = swish_forward,
                        .backward = swish_backward};

// ---- view
static SrStatus infer_view(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    (void)n_in;
    *y = x[0].d[1] % 2 == 0 ? SR_SHAPE(2 * x[0].d[0], x[0].d[1] / 2)
                            : SR_SHAPE(x[0].d[0] / 2, 2 * x[0].d[1]);
    return SR_OK;
}

static bool always_view(const void *params, const SrShape *x, int n_in) {
    (void)params;
    (void)x;
    return n_in == 1;
}

static void copy_reference(const SrRefCall *c) {
    memcpy(c->y, c->x[0], (size_t)sr_shape_count(c->y_shape) * sizeof(double));
}

const SrOp toy_view = {.name = "toy_view",
                       .min_in = 1,
                       .max_in = 1,
                       .infer = infer_view,
                       .is_view = always_view,
                       .reference = copy_reference};

// ---- stop
static void stop_forward(const SrOpCall *c) {
    memcpy(c->y.data, c->x[0].data, (size_t)sr_shape_count(c->y.shape) * sizeof(float));
}

const SrOp toy_stop = {.name = "toy_stop",
                       .min_in = 1,
                       .max_in = 1,
                       .flags = SR_OP_NO_GRAD,
                       .infer = infer_same,
                       .reference = copy_reference,
                       .forward = stop_forward};

// ---- mean
static SrStatus infer_scalar(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    (void)x;
    (void)n_in;
    *y = SR_SCALAR;
    return SR_OK;
}

static void mean_reference(const SrRefCall *c) {
    int64_t n = sr_shape_count(c->x_shape[0]);
    *c->y = 0;
    for (int64_t k = 0; k < n; k++)
        *c->y += c->x[0][k] / (double)n;
}

static void mean_forward(const SrOpCall *c) {
    int64_t n = sr_shape_count(c->x[0].shape);
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += (double)((const float *)c->x[0].data)[k];
    *(float *)c->y.data = (float)(sum / (double)n);
}

static void mean_backward(const SrOpCall *c) {
    int64_t n = sr_shape_count(c->x[0].shape);
    for (int64_t k = 0; k < n; k++)
        c->dx[0][k] = *c->dy / (float)n;
}

const SrOp toy_mean = {.name = "toy_mean",
                       .min_in = 1,
                       .max_in = 1,
                       .infer = infer_scalar,
                       .reference = mean_reference,
                       .forward = mean_forward,
                       .backward = mean_backward};

// ---- the interpreter
static double to_double(const void *data, SrDtype dtype, int64_t k) {
    return dtype == SR_I64 ? (double)((const int64_t *)data)[k] : (double)((const float *)data)[k];
}

ToyRun *toy_run_new(const SrGraph *graph, SrMode mode) {
    SrParams *params = sr_graph_params(graph);
    ToyRun *run = sr_calloc(1, sizeof *run);
    run->graph = graph;
    run->mode = mode;
    run->value = sr_calloc((size_t)sr_graph_count(graph), sizeof *run->value);
    run->param = sr_calloc((size_t)sr_params_count(params) + 1, sizeof *run->param);
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        int64_t n = sr_shape_count(p->shape);
        run->param[i] = sr_calloc((size_t)n, sizeof(double));
        for (int64_t k = 0; k < n; k++)
            run->param[i][k] = to_double(p->value, p->dtype, k);
    }
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        size_t n = (size_t)sr_shape_count(sr_graph_at(graph, id)->shape);
        run->value[id] = sr_calloc(n, sizeof(double));
    }
    return run;
}

void toy_run_free(ToyRun *run) {
    for (int i = 0; i < sr_params_count(sr_graph_params(run->graph)); i++)
        sr_free(run->param[i]);
    for (SrNodeId id = 0; id < sr_graph_count(run->graph); id++)
        sr_free(run->value[id]);
    sr_free(run->value);
    sr_free(run->param);
    sr_free(run);
}

void toy_run_input(ToyRun *run, SrNodeId input, const float *data) {
    const SrNode *node = sr_graph_at(run->graph, input);
    for (int64_t k = 0; k < sr_shape_count(node->shape); k++)
        run->value[input][k] = to_double(data, node->dtype, k);
}

static void toy_run_node(ToyRun *run, SrNodeId id) {
    const SrNode *node = sr_graph_at(run->graph, id);
    SrShape shapes[SR_OP_MAX_IN];
    const double *x[SR_OP_MAX_IN];
    double *w[SR_OP_MAX_SLOTS];
    SrSlot slots[SR_OP_MAX_SLOTS];
    for (int i = 0; i < node->n_in; i++) {
        shapes[i] = sr_graph_at(run->graph, node->in[i])->shape;
        x[i] = run->value[node->in[i]];
    }
    for (int i = 0; i < node->n_w; i++)
        w[i] = run->param[node->w[i]];
    if (node->op->slots)
        node->op->slots(node->params, shapes, node->n_in, slots);
    SrRefCall call = {.params = node->params,
                      .n_in = node->n_in,
                      .train = run->mode == SR_MODE_TRAIN && run->iteration < node->eval_from,
                      .x_shape = shapes,
                      .x = x,
                      .y_shape = node->shape,
                      .y = run->value[id],
                      .n_w = node->n_w,
                      .slots = slots,
                      .w = w,
                      .seed = run->seed,
                      .iteration = run->iteration,
                      .node_key = sr_hash_text(node->name)};
    node->op->reference(&call);
}

void toy_run(ToyRun *run) {
    for (SrNodeId id = 0; id < sr_graph_count(run->graph); id++) {
        const SrNode *node = sr_graph_at(run->graph, id);
        if (node->op && (node->mode & run->mode))
            toy_run_node(run, id);
    }
}

void toy_poison(SrPlan *plan) {
    char *kept = sr_alloc(plan->memory_bytes);
    memcpy(kept, plan->memory, plan->memory_bytes);
    memset(plan->memory, 0xff, plan->memory_bytes);
    for (int i = 0; i < plan->n_buffers; i++) {
        const SrBuffer *b = &plan->buffers[i];
        if (b->whole_run)
            memcpy(plan->memory + b->offset, kept + b->offset, b->bytes);
    }
    sr_free(kept);
}

void toy_fill(float *v, int64_t n, uint64_t key) {
    SrRng rng = sr_rng(7, SR_RNG_TEST, 0, key, 0, 0);
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)sr_rng_range(&rng, -1, 1);
}
