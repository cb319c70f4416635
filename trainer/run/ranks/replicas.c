// Holds plans and memory of a step of several replicas, and runs it.  replica_rows.c moves data
// between images, replicas and the loss.
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "graph/plan/plan_run.h"
#include "trainer/model/train_graph.h"
#include "trainer/run/ranks/replicas_internal.h"

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
    if (options->mode == SR_MODE_EVAL)
        return sr_plan_compile(g->graph, options, plan);
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

SrStatus sr_replicas_compile_teacher(const SrTrainGraph *g, const SrPlanOptions *options,
                                     SrPlan **out) {
    SrPlanOptions o = *options;
    o.mode = SR_MODE_EVAL;
    o.outputs = g->teacher.outputs;
    o.n_outputs = g->teacher.n_outputs;
    o.splits = 0;
    return sr_plan_compile(g->teacher.graph, &o, out);
}

// ---- memory

static void list_inputs(SrReplicas *r) {
    const SrTrainGraph *g = r->graph;
    memcpy(r->inputs, g->views, (size_t)g->n_views * sizeof *r->inputs);
    r->n_inputs = g->n_views;
    if (g->sample_index != SR_NO_NODE)
        r->inputs[r->n_inputs++] = g->sample_index;
    if (g->labels != SR_NO_NODE)
        r->inputs[r->n_inputs++] = g->labels;
    for (int i = 0; i < g->n_extras; i++)
        r->inputs[r->n_inputs++] = g->extras[i].input;
    for (int i = 0; i < g->teacher.n_outputs; i++)
        r->inputs[r->n_inputs++] = g->teacher.inputs[i];
    for (int i = 0; i < r->n_inputs; i++)
        r->input_bytes += sr__replicas_bytes_of(g->graph, r->inputs[i]);
    SR_ASSERT(r->n_inputs <= SR_COUNT(r->inputs));
}

// Finds which replicas are this rank's, and whose images it needs.
static void share_out(SrReplicas *r) {
    r->n = r->graph->replicas;
    r->mine = r->n / sr_comm_size();
    SR_ASSERT(r->mine * sr_comm_size() == r->n);
    r->first = r->mine * sr_comm_rank();
    r->kept = r->graph->n_shuffled > 0 ? r->n : r->mine;
    list_inputs(r);
    for (int i = 0; i < r->graph->n_rows && r->mine < r->n; i++)
        r->row_bytes += sr__replicas_bytes_of(r->graph->graph, r->graph->rows[i].replica);
}

// True if parameters in the loss's own graph learn.
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

// Returns the bytes of the kept nodes of a loss that runs replica by replica, for all replicas.
static size_t value_bytes(const SrTrainGraph *g) {
    size_t bytes = 0;
    for (int i = g->n_model_outputs; i < g->n_outputs && !two(g); i++)
        bytes += sr__replicas_bytes_of(g->graph, g->outputs[i]) * (size_t)g->replicas;
    return bytes;
}

static SrGradSumsOptions sums_of(const SrReplicas *r) {
    return (SrGradSumsOptions){.mine = r->mine,
                               .descending = two(r->graph),
                               .own = loss_learns(r->graph),
                               .library = r->graph->library_sums};
}

size_t sr_replicas_bytes(const SrTrainGraph *g) {
    SrReplicas r = {.graph = g};
    if (g->replicas < 2)
        return 0;
    share_out(&r);
    SrGradSumsOptions sums = sums_of(&r);
    return r.input_bytes * (size_t)r.kept + r.row_bytes * (size_t)r.n + value_bytes(g) +
           sr_grad_sums_bytes(sr_graph_params(g->graph), &sums);
}

static SrStatus allocate(SrReplicas *r) {
    const SrTrainGraph *g = r->graph;
    SrGradSumsOptions sums = sums_of(r);
    bool ok = (r->images = sr_map((size_t)r->kept * r->input_bytes)) != NULL;
    ok = ok && (r->begin = sr_alloc(r->state.bytes + 1));
    ok = ok && (r->after = sr_alloc(r->state.bytes + 1));
    ok = ok &&
         (r->labels = sr_calloc((size_t)r->mine * sr__replicas_label_length(g), sizeof *r->labels));
    ok = ok && (r->order = sr_calloc((size_t)(r->n * g->batch), sizeof *r->order));
    ok = ok && (r->losses = sr_calloc((size_t)r->n, sizeof *r->losses));
    if (ok && r->row_bytes)
        ok = (r->crossing = sr_map((size_t)r->n * r->row_bytes)) != NULL;
    for (int i = g->n_model_outputs; ok && i < g->n_outputs && !two(g); i++) {
        const SrNode *node = sr_graph_at(g->graph, g->outputs[i]);
        SrShape shape = node->shape.rank ? node->shape : SR_SHAPE(1);
        shape.d[0] *= r->n;
        SrLossValue *v = &r->values[r->n_values++];
        SR_ASSERT(r->n_values <= SR_LOSS_MAX_KEPT);
        *v = (SrLossValue){g->outputs[i], {shape, node->dtype, NULL}};
        ok =
            (v->value.data = sr_calloc((size_t)sr_shape_count(shape), sr_dtype_bytes(node->dtype)));
    }
    SR_TRY_MEMORY(ok, "%d replicas; lower DISTRIBUTED.REPLICAS", r->n);
    return sr_grad_sums_new(r->params, &sums, &r->sums);
}

SrStatus sr_replicas_new(const SrTrainGraph *g, SrPlan *plan, SrPlan *loss_plan, uint64_t seed,
                         SrReplicas **out) {
    SrReplicas *r = sr_calloc(1, sizeof *r);
    *out = NULL;
    SR_TRY_MEMORY(r, "%d replicas", g->replicas);
    r->graph = g;
    r->params = sr_graph_params(g->graph);
    r->plan = r->last = plan;
    r->loss_plan = loss_plan;
    r->seed = seed;
    share_out(r);
    SrStatus status = sr_graph_state_init(&r->state, g->graph);
    if (status == SR_OK)
        status = allocate(r);
    if (status != SR_OK)
        sr_replicas_free(r);
    else
        *out = r;
    return status;
}

int sr_replicas_again(const SrTrainGraph *g) {
    return two(g) ? SR_MAX(g->replicas / sr_comm_size() - 1, 0) : 0;
}

SrStatus sr_replicas_keep(SrReplicas *r, const SrPlanOptions *options) {
    int n = sr_replicas_again(r->graph);
    if (n == 0)
        return SR_OK;
    r->kept_plans = sr_calloc((size_t)n, sizeof *r->kept_plans);
    SR_TRY_MEMORY(r->kept_plans, "the plans of %d replicas", n);
    for (int i = 0; i < n; i++)
        SR_TRY(compile_images(r->graph, options, &r->kept_plans[i]));
    return SR_OK;
}

// Selects the plan of this rank's replica i: its own, or the one that all share.
static void use_plan(SrReplicas *r, int i) {
    SR_ASSERT(i >= 0 && i < r->mine);
    r->plan = r->kept_plans && i < r->mine - 1 ? r->kept_plans[i] : r->last;
}

void sr_replicas_free(SrReplicas *r) {
    if (!r)
        return;
    if (r->images)
        sr_unmap(r->images, (size_t)r->kept * r->input_bytes);
    if (r->crossing)
        sr_unmap(r->crossing, (size_t)r->n * r->row_bytes);
    for (int i = 0; r->kept_plans && i < r->mine - 1; i++)
        sr_plan_free(r->kept_plans[i]);
    sr_free(r->kept_plans);
    sr_graph_state_deinit(&r->state);
    sr_free(r->begin);
    sr_free(r->after);
    sr_free(r->order);
    sr_free(r->labels);
    sr_free(r->losses);
    sr_grad_sums_free(r->sums);
    for (int i = 0; i < r->n_values; i++)
        sr_free(r->values[i].value.data);
    sr_free(r);
}

int sr_replicas_mine(const SrReplicas *r) { return r->mine; }

void sr_replicas_take(SrReplicas *r, int i, const int64_t *labels) {
    size_t n = sr__replicas_label_length(r->graph);
    SR_ASSERT(i >= 0 && i < r->mine);
    sr__replicas_move_inputs(r, r->first + i, true);
    if (labels)
        memcpy(r->labels + (size_t)i * n, labels, n * sizeof *labels);
}

const int64_t *sr_replicas_labels(const SrReplicas *r, int i) {
    SR_ASSERT(i >= 0 && i < r->mine);
    return r->labels + (size_t)i * sr__replicas_label_length(r->graph);
}

void sr_replicas_begin(SrReplicas *r) { sr__replicas_begin_rows(r); }

bool sr_replicas_sums(const SrReplicas *r, double *exchange, double *waited) {
    return r && sr_grad_sums_seconds(r->sums, exchange, waited);
}

const SrLossValue *sr_replicas_values(const SrReplicas *r, int *n) {
    *n = r->n_values;
    return r->values;
}

// ---- the step

// Each replica starts from the state before the step; only the state after replica 0 is kept.
static SrStatus run_forward(SrReplicas *r, int replica, int64_t iteration) {
    const SrLoss *kind = r->graph->loss_kind;
    SrLossStep step = {.params = r->params, .plan = r->plan, .iteration = iteration};
    sr__replicas_move_inputs(r, replica, false);
    if (kind->before_rows)
        kind->before_rows(r->graph->loss_state, &step, (int64_t)replica * r->graph->batch);
    sr__replicas_fill_shuffled(r, replica);
    sr_graph_state_restore(&r->state, r->begin);
    sr_plan_set_replica(r->plan, replica);
    return sr_plan_forward(r->plan, iteration);
}

static SrStatus first_forward(SrReplicas *r, int replica, int64_t iteration,
                              const SrReplicaHook *hook) {
    SR_TRY(run_forward(r, replica, iteration));
    if (replica == 0)
        sr_graph_state_save(&r->state, r->after);
    if (hook && hook->after_forward)
        hook->after_forward(hook->arg, replica - r->first);
    return SR_OK;
}

// Gathers kept values and losses of all ranks.
static void gather_values(SrReplicas *r) {
    for (int i = 0; i < r->n_values; i++) {
        const SrTensor *v = &r->values[i].value;
        size_t bytes = (size_t)(sr_shape_count(v->shape) / r->n) * sr_dtype_bytes(v->dtype);
        sr_comm_all_gather((char *)v->data + (size_t)r->first * bytes, (size_t)r->mine * bytes,
                           v->data);
    }
    sr_comm_all_gather(r->losses + r->first, (size_t)r->mine * sizeof *r->losses, r->losses);
}

// Runs forward and backward replica by replica, for a loss whose rows are independent.
static SrStatus independent(SrReplicas *r, int64_t iteration, const SrReplicaHook *hook,
                            double *loss) {
    for (int i = 0; i < r->mine; i++) {
        SR_TRY(first_forward(r, r->first + i, iteration, hook));
        sr__replicas_keep_values(r, r->first + i);
        r->losses[r->first + i] =
            (double)*(const float *)sr_plan_output(r->plan, r->graph->loss).data;
        sr_params_zero_grad(r->params);
        SR_TRY(sr_grad_sums_backward(r->sums, r->plan, i));
        sr_grad_sums_add(r->sums, i);
    }
    sr_grad_sums_end(r->sums, 1.0F / (float)r->n);
    gather_values(r);
    *loss = 0;
    for (int i = 0; i < r->n; i++)
        *loss += r->losses[i];
    *loss /= r->n;
    return SR_OK;
}

// Runs the trunk for each replica, then the loss over the rows of all replicas.
static SrStatus joined(SrReplicas *r, int64_t iteration, const SrReplicaHook *hook, double *loss) {
    for (int i = 0; i < r->mine; i++) {
        use_plan(r, i);
        SR_TRY(first_forward(r, r->first + i, iteration, hook));
        sr__replicas_take_rows(r, r->first + i);
    }
    sr__replicas_gather_rows(r);
    SR_TRY(sr_plan_forward(r->loss_plan, iteration));
    *loss = (double)*(const float *)sr_plan_output(r->loss_plan, r->graph->loss).data;
    return SR_OK;
}

SrStatus sr_replicas_forward(SrReplicas *r, int64_t iteration, const SrReplicaHook *hook,
                             double *loss) {
    sr__replicas_draw_order(r, iteration);
    sr__replicas_gather_images(r);
    sr_graph_state_save(&r->state, r->begin);
    SR_TRY(r->loss_plan ? joined(r, iteration, hook, loss) : independent(r, iteration, hook, loss));
    sr_comm_broadcast(r->after, r->state.bytes, 0);
    sr_graph_state_restore(&r->state, r->after);
    return SR_OK;
}

// Goes from the last replica to the first: the last one's values are still in the plan, which
// saves a forward pass.
SrStatus sr_replicas_backward(SrReplicas *r, int64_t iteration) {
    if (!r->loss_plan) // done after each forward
        return SR_OK;
    SR_TRY(sr_plan_backward(r->loss_plan));
    sr_grad_sums_keep_own(r->sums);
    for (int done = 0; done < r->mine; done++) {
        int replica = r->first + r->mine - 1 - done;
        use_plan(r, r->mine - 1 - done);
        if (done > 0 && !r->kept_plans)
            SR_TRY(run_forward(r, replica, iteration));
        sr_params_zero_grad(r->params);
        sr__replicas_seed_rows(r, replica);
        SR_TRY(sr_grad_sums_backward(r->sums, r->plan, done));
        sr_grad_sums_add(r->sums, done);
    }
    use_plan(r, r->mine - 1);
    sr_graph_state_restore(&r->state, r->after);
    sr_grad_sums_end(r->sums, 1);
    return SR_OK;
}
