// Runs one op on one of its example cases with buffers of its own (op_call.h).
#include "tests/kernels/op_call.h"

#include <stdlib.h>

#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "tests/machine.h"

void *op_call_alloc(OpCall *c, size_t bytes) {
    char *p = sr_arena_alloc(&c->arena, bytes + 2 * SR_ALIGN);
    CHECK(p != NULL);
    return p + (SR_ALIGN - (uintptr_t)p % SR_ALIGN) % SR_ALIGN;
}

void op_call_fill(double *out, int64_t n, uint64_t seed, uint64_t stream) {
    SrRng rng = sr_rng(seed, SR_RNG_TEST, 0, stream, 0, 0);
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)(float)sr_rng_normal(&rng);
}

static void to_float(float *out, const double *in, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)in[i];
}

// Fills slot i with a plausible value: variances are positive, counters are 1, the rest is
// normally distributed.
static void fill_slot(OpCall *c, int i, uint64_t seed) {
    const SrSlot *slot = &c->slots[i];
    int64_t n = sr_shape_count(slot->shape);
    c->w64[i] = op_call_alloc(c, (size_t)n * sizeof(double));
    op_call_fill(c->w64[i], n, seed, 100 + (uint64_t)i);
    if (strcmp(slot->name, "running_var") == 0)
        for (int64_t j = 0; j < n; j++)
            c->w64[i][j] = (double)(float)(0.5 + fabs(c->w64[i][j]));
    c->w[i] = (SrTensor){slot->shape, slot->dtype, NULL};
    c->w[i].data = op_call_alloc(c, (size_t)n * sr_dtype_bytes(slot->dtype));
    if (slot->dtype == SR_I64) {
        CHECK_INT(n, 1);
        c->w64[i][0] = 1;
        *(int64_t *)c->w[i].data = 1;
        return;
    }
    CHECK_INT(slot->dtype, SR_F32);
    to_float(c->w[i].data, c->w64[i], n);
    if (slot->kind == SR_SLOT_PARAM)
        c->dw[i] = op_call_alloc(c, (size_t)n * sizeof(float));
}

static void fill_input(OpCall *c, int i, uint64_t seed) {
    int64_t n = sr_shape_count(c->shapes[i]);
    c->x64[i] = op_call_alloc(c, (size_t)n * sizeof(double));
    op_call_fill(c->x64[i], n, seed, (uint64_t)i);
    c->x[i] = (SrTensor){c->shapes[i], SR_F32, op_call_alloc(c, (size_t)n * sizeof(float))};
    to_float(c->x[i].data, c->x64[i], n);
    c->dx[i] = op_call_alloc(c, (size_t)n * sizeof(float));
}

bool op_wanted(const SrOp *op) {
    const char *only = getenv("SR_TEST_OP");
    return !only || strcmp(op->name, only) == 0;
}

const SrOp *op_named(const char *name) {
    const SrOp *op = NULL;
    CHECK_OK(sr_op_find(name, &op));
    return op;
}

void op_call_init(OpCall *c, const SrOp *op, const SrOpCase *example, int rows, bool train,
                  uint64_t seed) {
    *c = (OpCall){.op = op, .train = train, .n_in = example->n_in};
    SrYaml *map = NULL;
    CHECK_OK(sr_yaml_parse(&c->arena, example->params, strlen(example->params), op->name, &map));
    c->params = op_call_alloc(c, op->params_bytes);
    if (op->options)
        CHECK_OK(sr_options_parse(op->options, map, op->name, &c->arena, c->params));
    for (int i = 0; i < c->n_in; i++) {
        c->shapes[i] = example->x[i];
        if (c->shapes[i].rank > 0)
            c->shapes[i].d[0] *= rows;
    }
    CHECK_OK(op->infer(c->params, c->shapes, c->n_in, &c->y_shape));
    c->n_w = op->slots ? op->slots(c->params, c->shapes, c->n_in, c->slots) : 0;
    for (int i = 0; i < c->n_in; i++)
        fill_input(c, i, seed);
    for (int i = 0; i < c->n_w; i++)
        fill_slot(c, i, seed);
    int64_t n = sr_shape_count(c->y_shape);
    c->y = (SrTensor){c->y_shape, SR_F32, op_call_alloc(c, (size_t)n * sizeof(float))};
    c->y64 = op_call_alloc(c, (size_t)n * sizeof(double));
    c->dy = op_call_alloc(c, (size_t)n * sizeof(float));
    op_call_fill(c->y64, n, seed, 200);
    to_float(c->dy, c->y64, n);
    c->saved =
        op_call_alloc(c, op->saved_bytes ? op->saved_bytes(c->params, c->shapes, c->n_in) : 0);
}

void op_call_deinit(OpCall *c) { sr_arena_deinit(&c->arena); }

SrOpSite op_call_site(OpCall *c, SrDtype type) {
    SrOpSite site = {test_machine(), c->params, c->shapes, c->n_in, type, NULL};
    if (c->op->design) {
        void *design = op_call_alloc(c, c->op->design_bytes);
        c->op->design(&site, design);
        site.design = design;
    }
    return site;
}

size_t op_scratch_bytes(const SrOp *op, const SrOpSite *site) {
    return op->scratch_bytes ? op->scratch_bytes(site) : 0;
}

void op_call_prepare(OpCall *c, SrOpPass pass, SrOpCall *call) {
    SrOpPrepared want = {0};
    SrOpSite site = {call->machine, c->params, c->shapes, c->n_in, call->y.dtype, call->design};
    if (c->op->prepared)
        want = c->op->prepared(&site, pass);
    call->prepared = want.bytes ? op_call_alloc(c, want.bytes) : NULL;
    if (want.bytes)
        c->op->prepare[pass](call);
}

static SrOpCall call_of(OpCall *c) {
    SrOpSite site = op_call_site(c, SR_F32);
    size_t scratch = op_scratch_bytes(c->op, &site);
    c->scratch = op_call_alloc(c, scratch);
    memset(c->scratch, 0xA5, scratch); // garbage, so that an op that relies on zeroed scratch fails
    return (SrOpCall){
        .machine = site.machine,
        .params = c->params,
        .design = site.design,
        .train = c->train,
        .again = c->again,
        .n_in = c->n_in,
        .x = c->x,
        .y = c->y,
        .n_w = c->n_w,
        .w = c->w,
        .dw = c->dw,
        .dy = c->dy,
        .dx = c->dx,
        .dx_add = c->dx_add,
        .x_sums = c->x_sums,
        .saved = c->saved,
        .scratch = c->scratch,
        .seed = 7,
        .iteration = 3,
        .node_key = 11,
    };
}

void op_call_forward(OpCall *c) {
    SrOpCall call = call_of(c);
    call.dy = NULL;
    call.dw = call.dx = NULL;
    op_call_prepare(c, SR_PASS_FORWARD, &call);
    c->op->forward(&call);
}

void op_call_backward(OpCall *c) {
    SrOpCall call = call_of(c);
    SrTensor x[SR_OP_MAX_IN];
    unsigned reads = c->op->reads ? c->op->reads(c->params) : 0;
    for (int i = 0; i < c->n_in; i++) {
        x[i] = c->x[i];
        if (!(reads & SR_READS_X(i)))
            x[i].data = NULL; // an op that reads an input it did not declare crashes here
        if (c->dx[i] && c->dx[i] != c->dy && !(c->dx_add >> i & 1))
            memset(c->dx[i], 0xA5, (size_t)sr_shape_count(c->shapes[i]) * sizeof(float));
    }
    call.x = x;
    if (!(reads & SR_READS_Y))
        call.y.data = NULL;
    op_call_prepare(c, SR_PASS_BACKWARD, &call);
    c->op->backward(&call);
}

void op_call_reference(OpCall *c) {
    SrRefCall call = {.params = c->params,
                      .train = c->train,
                      .n_in = c->n_in,
                      .x_shape = c->shapes,
                      .x = (const double *const *)c->x64,
                      .y_shape = c->y_shape,
                      .y = c->y64,
                      .n_w = c->n_w,
                      .slots = c->slots,
                      .w = c->w64,
                      .seed = 7,
                      .iteration = 3,
                      .node_key = 11};
    c->op->reference(&call);
}
