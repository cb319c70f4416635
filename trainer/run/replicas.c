// Several replicas a step; see the header.
#include "trainer/run/replicas.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "trainer/run/graph_state.h"

enum { MAX_LEVELS = 21 }; // 2^20 replicas

struct SrReplicas {
    const SrTrainGraph *graph;
    SrParams *params;
    SrPlan *plan, *loss_plan;
    int n;
    SrNodeId inputs[SR_MAX_VIEWS + 2]; // that the feed fills
    int n_inputs;
    size_t input_bytes; // of all inputs of a replica
    char *images;       // (n, input_bytes)
    SrGraphState state;
    char *begin, *first;     // (state.bytes): before the step, and after replica 0's forward
    int64_t grads;           // trainable numbers
    float *sums[MAX_LEVELS]; // (grads) of 2^level replicas; allocated where used
    int levels;
    float *own; // (grads) gradients of the loss graph's own parameters, NULL if it has none
    SrLossValue values[SR_LOSS_MAX_KEPT];
    int n_values;
    uint32_t *order; // (n * batch) image at each place of the shuffled views
    uint64_t seed;
};

// ---- plans

static bool two(const SrTrainGraph *g) { return g->loss_graph != g->graph; }

static SrStatus compile_images(const SrTrainGraph *g, const SrPlanOptions *options, SrPlan **out) {
    SrNodeId outputs[SR_MAX_ROWS], losses[SR_MAX_ROWS];
    SrPlanOptions o = *options;
    o.outputs = outputs;
    o.losses = losses;
    o.n_outputs = o.n_losses = 0;
    for (int i = 0; i < g->n_rows; i++) {
        if (sr_graph_at(g->graph, g->rows[i].replica)->op)
            outputs[o.n_outputs++] = g->rows[i].replica;
        if (g->rows[i].learns)
            losses[o.n_losses++] = g->rows[i].replica;
    }
    return sr_plan_compile(g->graph, &o, out);
}

static SrStatus compile_loss(const SrTrainGraph *g, const SrPlanOptions *options, SrPlan **out) {
    SrNodeId outputs[SR_MAX_ROWS + SR_LOSS_MAX_KEPT], grads[SR_MAX_ROWS];
    SrPlanOptions o = *options;
    o.outputs = outputs;
    o.input_grads = grads;
    o.n_outputs = o.n_input_grads = 0;
    o.losses = &g->loss;
    o.n_losses = 1;
    o.splits = 0;
    o.bf16 = false;
    for (int i = 0; i < g->n_rows; i++)
        if (g->rows[i].learns)
            grads[o.n_input_grads++] = g->rows[i].world;
    for (int i = g->n_model_outputs; i < g->n_outputs; i++)
        if (sr_graph_at(g->loss_graph, g->outputs[i])->op)
            outputs[o.n_outputs++] = g->outputs[i];
    return sr_plan_compile(g->loss_graph, &o, out);
}

SrStatus sr_replicas_compile(const SrTrainGraph *g, const SrPlanOptions *options, SrPlan **plan,
                             SrPlan **loss_plan) {
    SrPlanOptions o = *options;
    *plan = *loss_plan = NULL;
    if (two(g)) {
        SR_TRY(compile_images(g, options, plan));
        return compile_loss(g, options, loss_plan);
    }
    o.outputs = g->outputs;
    o.n_outputs = g->n_outputs;
    o.losses = &g->loss;
    o.n_losses = 1;
    return sr_plan_compile(g->graph, &o, plan);
}

// ---- memory

static size_t bytes_of(const SrGraph *graph, SrNodeId id) {
    const SrNode *node = sr_graph_at(graph, id);
    return (size_t)sr_shape_count(node->shape) * sr_dtype_bytes(node->dtype);
}

static void list_inputs(SrReplicas *r) {
    const SrTrainGraph *g = r->graph;
    memcpy(r->inputs, g->views, (size_t)g->n_views * sizeof *r->inputs);
    r->n_inputs = g->n_views;
    if (g->sample_index != SR_NO_NODE)
        r->inputs[r->n_inputs++] = g->sample_index;
    if (g->labels != SR_NO_NODE) // last, where sr_replicas_labels finds it
        r->inputs[r->n_inputs++] = g->labels;
    for (int i = 0; i < r->n_inputs; i++)
        r->input_bytes += bytes_of(g->graph, r->inputs[i]);
}

static int64_t count_grads(SrParams *params) {
    int64_t n = 0;
    for (int i = 0; i < sr_params_count(params); i++)
        n +=
            sr_params_at(params, i)->trainable ? sr_shape_count(sr_params_at(params, i)->shape) : 0;
    return n;
}

// Bits of n: subtrees that wait at once.
static int levels_of(int n) {
    int levels = 0;
    while (levels < MAX_LEVELS && n >> levels)
        levels++;
    return levels;
}

// Do nodes of the loss's own graph learn anything?
static bool loss_learns(const SrTrainGraph *g) {
    SrParams *params = sr_graph_params(g->loss_graph);
    for (SrNodeId id = 0; two(g) && id < sr_graph_count(g->loss_graph); id++) {
        const SrNode *node = sr_graph_at(g->loss_graph, id);
        for (int i = 0; i < node->n_w; i++)
            if (sr_params_at(params, node->w[i])->trainable)
                return true;
    }
    return false;
}

// A kept node of a loss that runs replica by replica: its values of all replicas, one behind the other.
static size_t value_bytes(const SrTrainGraph *g) {
    size_t bytes = 0;
    for (int i = g->n_model_outputs; i < g->n_outputs && !two(g); i++)
        bytes += bytes_of(g->graph, g->outputs[i]) * (size_t)g->replicas;
    return bytes;
}

size_t sr_replicas_bytes(const SrTrainGraph *g) {
    SrReplicas r = {.graph = g};
    SrParams *params = sr_graph_params(g->graph);
    if (g->replicas < 2)
        return 0;
    list_inputs(&r);
    size_t sums =
        (size_t)(levels_of(g->replicas - 1) + loss_learns(g)) * (size_t)count_grads(params);
    return r.input_bytes * (size_t)g->replicas + sums * sizeof(float) + value_bytes(g);
}

static SrStatus allocate(SrReplicas *r) {
    const SrTrainGraph *g = r->graph;
    size_t block = (size_t)r->grads * sizeof(float) + 1;
    bool ok = (r->images = sr_map((size_t)r->n * r->input_bytes)) != NULL;
    ok = ok && (r->begin = sr_alloc(r->state.bytes + 1));
    ok = ok && (r->first = sr_alloc(r->state.bytes + 1));
    ok = ok && (r->order = sr_calloc((size_t)(r->n * g->batch), sizeof *r->order));
    for (int i = 0; ok && i < r->levels; i++)
        ok = (r->sums[i] = sr_alloc(block)) != NULL;
    if (ok && loss_learns(g))
        ok = (r->own = sr_alloc(block)) != NULL;
    for (int i = g->n_model_outputs; ok && i < g->n_outputs && !two(g); i++) {
        const SrNode *node = sr_graph_at(g->graph, g->outputs[i]);
        SrShape shape = node->shape.rank ? node->shape : SR_SHAPE(1);
        shape.d[0] *= r->n;
        SrLossValue *v = &r->values[r->n_values++];
        *v = (SrLossValue){g->outputs[i], {shape, node->dtype, NULL}};
        ok =
            (v->value.data = sr_calloc((size_t)sr_shape_count(shape), sr_dtype_bytes(node->dtype)));
    }
    if (!ok)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %d replicas; lower DISTRIBUTED.REPLICAS", r->n);
    return SR_OK;
}

SrStatus sr_replicas_new(const SrTrainGraph *g, SrPlan *plan, SrPlan *loss_plan, uint64_t seed,
                         SrReplicas **out) {
    SrReplicas *r = sr_calloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %d replicas", g->replicas);
    r->graph = g;
    r->params = sr_graph_params(g->graph);
    r->plan = plan;
    r->loss_plan = loss_plan;
    r->n = g->replicas;
    r->seed = seed;
    list_inputs(r);
    r->grads = count_grads(r->params);
    r->levels = levels_of(r->n - 1);
    SrStatus status = sr_graph_state_init(&r->state, g->graph);
    if (status == SR_OK)
        status = allocate(r);
    if (status != SR_OK)
        sr_replicas_free(r);
    else
        *out = r;
    return status;
}

void sr_replicas_free(SrReplicas *r) {
    if (!r)
        return;
    if (r->images)
        sr_unmap(r->images, (size_t)r->n * r->input_bytes);
    sr_graph_state_deinit(&r->state);
    sr_free(r->begin);
    sr_free(r->first);
    sr_free(r->order);
    for (int i = 0; i < r->levels; i++)
        sr_free(r->sums[i]);
    sr_free(r->own);
    for (int i = 0; i < r->n_values; i++)
        sr_free(r->values[i].value.data);
    sr_free(r);
}

// ---- images in and rows across

static void move_inputs(SrReplicas *r, int replica, bool take) {
    char *at = r->images + (size_t)replica * r->input_bytes;
    for (int i = 0; i < r->n_inputs; i++) {
        char *input = sr_plan_input(r->plan, r->inputs[i]).data;
        size_t bytes = bytes_of(r->graph->graph, r->inputs[i]);
        memcpy(take ? at : input, take ? input : at, bytes);
        at += bytes;
    }
}

void sr_replicas_take(SrReplicas *r, int replica) { move_inputs(r, replica, true); }

const int64_t *sr_replicas_labels(const SrReplicas *r, int replica) {
    if (r->graph->labels == SR_NO_NODE)
        return NULL;
    size_t bytes = bytes_of(r->graph->graph, r->graph->labels);
    return (const int64_t *)(r->images + (size_t)(replica + 1) * r->input_bytes - bytes);
}

// Where the image of that view starts among the kept ones.
static const char *kept_image(const SrReplicas *r, int view, int image) {
    const SrGraph *graph = r->graph->graph;
    const char *at = r->images + (size_t)(image / r->graph->batch) * r->input_bytes;
    for (int v = 0; v < view; v++)
        at += bytes_of(graph, r->graph->views[v]);
    size_t bytes = bytes_of(graph, r->graph->views[view]) / (size_t)r->graph->batch;
    return at + (size_t)(image % r->graph->batch) * bytes;
}

static void fill_shuffled(SrReplicas *r, int replica) {
    const SrTrainGraph *g = r->graph;
    for (int k = 0; k < g->n_shuffled; k++) {
        char *to = sr_plan_input(r->plan, g->shuffled[k].input).data;
        size_t bytes = bytes_of(g->graph, g->shuffled[k].input) / (size_t)g->batch;
        for (int i = 0; i < g->batch; i++)
            memcpy(to + (size_t)i * bytes,
                   kept_image(r, g->shuffled[k].view, (int)r->order[replica * g->batch + i]),
                   bytes);
    }
}

// The same for every run of the step, whoever runs it.
static void draw_order(SrReplicas *r, int64_t iteration) {
    SrRng rng = sr_rng(r->seed, SR_RNG_SHUFFLE, (uint64_t)iteration, 0, 0, 0);
    if (r->graph->n_shuffled > 0)
        sr_rng_permutation(&rng, r->order, (uint32_t)(r->n * r->graph->batch));
}

// The rows of a shuffled node back to their images' places.
static void unshuffle_rows(const SrReplicas *r, int replica, SrTensor own, SrTensor world) {
    int n = r->graph->batch;
    size_t row = (size_t)(sr_shape_count(own.shape) / own.shape.d[0]) * sr_dtype_bytes(own.dtype);
    for (int k = 0; k < own.shape.d[0]; k++) {
        size_t to = (size_t)(k / n) * (size_t)(r->n * n) + r->order[replica * n + k % n];
        memcpy((char *)world.data + to * row, (char *)own.data + (size_t)k * row, row);
    }
}

// The rows of a replica between its node and the world's: both view-major, row = view * batch + image.
static void move_rows(const SrReplicas *r, int replica, SrTensor own, SrTensor world, bool out) {
    int n = r->graph->batch, views = own.shape.d[0] / n;
    size_t row = (size_t)(sr_shape_count(own.shape) / own.shape.d[0]) * sr_dtype_bytes(own.dtype);
    for (int v = 0; v < views; v++) {
        char *a = (char *)own.data + (size_t)v * (size_t)n * row;
        char *b =
            (char *)world.data + ((size_t)v * (size_t)r->n + (size_t)replica) * (size_t)n * row;
        memcpy(out ? b : a, out ? a : b, (size_t)n * row);
    }
}

static void gather_rows(const SrReplicas *r, int replica) {
    const SrTrainGraph *g = r->graph;
    for (int i = 0; i < g->n_rows; i++) {
        SrTensor own = sr_plan_output(r->plan, g->rows[i].replica),
                 world = sr_plan_input(r->loss_plan, g->rows[i].world);
        if (g->rows[i].shuffled)
            unshuffle_rows(r, replica, own, world);
        else
            move_rows(r, replica, own, world, true);
    }
}

static void seed_rows(const SrReplicas *r, int replica) {
    const SrTrainGraph *g = r->graph;
    for (int i = 0; i < g->n_rows; i++) {
        if (!g->rows[i].learns)
            continue;
        SrTensor own = sr_plan_output(r->plan, g->rows[i].replica);
        own.data = sr_plan_seed(r->plan, g->rows[i].replica);
        own.dtype = SR_F32;
        move_rows(r, replica, own, sr_plan_input_grad(r->loss_plan, g->rows[i].world), false);
    }
}

static void keep_values(SrReplicas *r, int replica) {
    for (int i = 0; i < r->n_values; i++) {
        SrTensor from = sr_plan_output(r->plan, r->values[i].node);
        size_t bytes = (size_t)sr_shape_count(from.shape) * sr_dtype_bytes(from.dtype);
        memcpy((char *)r->values[i].value.data + (size_t)replica * bytes, from.data, bytes);
    }
}

const SrLossValue *sr_replicas_values(const SrReplicas *r, int *n) {
    *n = r->n_values;
    return r->values;
}

// ---- sums of gradients

typedef enum { STORE, ADD } Move; // block = table; table = block + table

static void move_grads(SrReplicas *r, float *block, Move how) {
    for (int i = 0; i < sr_params_count(r->params); i++) {
        const SrParam *p = sr_params_at(r->params, i);
        int64_t n = p->grad ? sr_shape_count(p->shape) : 0;
        if (how == STORE && n)
            memcpy(block, p->grad, (size_t)n * sizeof *block);
        for (int64_t k = 0; how == ADD && k < n; k++)
            p->grad[k] = block[k] + p->grad[k];
        block += n;
    }
}

// The table holds the gradient of one replica, the `done`-th that arrives; it climbs the tree as far as
// its neighbours have arrived before it.
static void add_to_tree(SrReplicas *r, int done) {
    int level = 0;
    for (; done >> level & 1; level++)
        move_grads(r, r->sums[level], ADD);
    if (done + 1 < r->n)
        move_grads(r, r->sums[level], STORE);
    // What is left of an uneven number joins from the smallest subtree up.
    for (int rest = level + 1; done + 1 == r->n && rest < r->levels; rest++)
        if (done >> rest & 1)
            move_grads(r, r->sums[rest], ADD);
}

static void divide_grads(SrReplicas *r) {
    float share = 1.0F / (float)r->n;
    for (int i = 0; i < sr_params_count(r->params); i++) {
        const SrParam *p = sr_params_at(r->params, i);
        for (int64_t k = 0; p->grad && k < sr_shape_count(p->shape); k++)
            p->grad[k] *= share;
    }
}

// ---- the step

// Every replica starts from the statistics that replica 0 left, and leaves none of its own.
static void run_forward(SrReplicas *r, int replica, int64_t iteration) {
    move_inputs(r, replica, false);
    fill_shuffled(r, replica);
    sr_graph_state_restore(&r->state, r->begin);
    sr_plan_set_replica(r->plan, replica);
    sr_plan_forward(r->plan, iteration);
}

static void first_forward(SrReplicas *r, int replica, int64_t iteration,
                          const SrReplicaHook *hook) {
    run_forward(r, replica, iteration);
    if (replica == 0)
        sr_graph_state_save(&r->state, r->first);
    if (hook && hook->after_forward)
        hook->after_forward(hook->arg, replica);
}

// Replica by replica, backward behind forward.
static double independent(SrReplicas *r, int64_t iteration, const SrReplicaHook *hook) {
    double loss = 0;
    for (int i = 0; i < r->n; i++) {
        first_forward(r, i, iteration, hook);
        keep_values(r, i);
        loss += (double)*(const float *)sr_plan_output(r->plan, r->graph->loss).data;
        sr_params_zero_grad(r->params);
        sr_plan_backward(r->plan);
        add_to_tree(r, i);
    }
    divide_grads(r);
    return loss / r->n;
}

double sr_replicas_forward(SrReplicas *r, int64_t iteration, const SrReplicaHook *hook) {
    double loss;
    draw_order(r, iteration);
    sr_graph_state_save(&r->state, r->begin);
    if (!r->loss_plan) {
        loss = independent(r, iteration, hook);
    } else {
        for (int i = 0; i < r->n; i++) {
            first_forward(r, i, iteration, hook);
            gather_rows(r, i);
        }
        sr_plan_forward(r->loss_plan, iteration);
        loss = (double)*(const float *)sr_plan_output(r->loss_plan, r->graph->loss).data;
    }
    sr_graph_state_restore(&r->state, r->first);
    return loss;
}

// From the last replica down, whose values still stand in the plan: one forward less.
void sr_replicas_backward(SrReplicas *r, int64_t iteration) {
    if (!r->loss_plan) // done behind each forward
        return;
    sr_plan_backward(r->loss_plan);
    if (r->own)
        move_grads(r, r->own, STORE);
    for (int done = 0; done < r->n; done++) {
        int replica = r->n - 1 - done;
        if (done > 0)
            run_forward(r, replica, iteration);
        sr_params_zero_grad(r->params);
        seed_rows(r, replica);
        sr_plan_backward(r->plan);
        add_to_tree(r, done);
    }
    sr_graph_state_restore(&r->state, r->first);
    if (r->own)
        move_grads(r, r->own, ADD);
}
