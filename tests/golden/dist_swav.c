// Runs golden cases dist_swav*: SwAV over several replicas. From embeddings and scores of each
// replica the test compares codes, loss, gradients of the scores and the queue. Sinkhorn sees the
// rows of all replicas, and each replica's queue is a share of sslrun's.
#include <string.h>

#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "kernels/basic/linear.h"
#include "losses/loss.h"
#include "tests/golden/table.h"
#include "tests/golden/world.h"

#define PROTOTYPES "heads.0.prototypes0.weight"

typedef struct {
    SrGoldenCase *c;
    const SrLoss *kind;
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrPlan *plan;
    SrLossContext ctx;
    SrNodeId embedding, scores, loss, codes[SR_MAX_VIEWS];
    void *state;
    int world, n, crops,
        n_codes; // replicas, images per replica, crops per image, crops with codes
} WorldRun;

static const char *name_of(WorldRun *w, const char *fmt, int replica, int a, int b) {
    const char *name = sr_arena_printf(w->c->arena, fmt, replica, a, b);
    return name ? name : "";
}

// ---- building

static SrStatus add_outputs(WorldRun *w) {
    const SrTensor *e = golden_tensor(w->c, "r0.emb0"), *s = golden_tensor(w->c, "r0.scores0");
    if (!e || !s)
        SR_FAIL(SR_ERR_RUN, "the case has no r0.emb0 or r0.scores0");
    int rows = w->world * e->shape.d[0];
    w->embedding = sr_build_input(w->b, "embedding", SR_SHAPE(rows, e->shape.d[1]), SR_F32);
    w->scores = sr_build_input(w->b, "scores0", SR_SHAPE(rows, s->shape.d[1]), SR_F32);
    // The prototypes belong to a head that no one runs, since scores are given.
    SrLinearParams p = {.out_features = s->shape.d[1]};
    sr_builder_push(w->b, "heads.0");
    sr_build(w->b, "linear", "prototypes0", &p, w->embedding);
    sr_builder_pop(w->b);
    w->n = e->shape.d[0] / w->crops;
    return sr_builder_status(w->b);
}

static SrStatus build_loss(WorldRun *w, const void *options) {
    w->ctx = (SrLossContext){.builder = w->b,
                             .name = w->kind->name,
                             .batch = w->world * w->n,
                             .replicas = w->world,
                             .n_views = w->crops,
                             .sample_index = SR_NO_NODE,
                             .labels = SR_NO_NODE};
    w->ctx.outputs.n = 2;
    w->ctx.outputs.v[0] =
        (SrOutput){.name = "embedding", .node = w->embedding, .n_views = w->crops};
    w->ctx.outputs.v[1] = (SrOutput){.name = "scores0", .node = w->scores, .n_views = w->crops};
    sr_builder_set_param_prefix(w->b, "loss.");
    sr_builder_set_node_prefix(w->b, "loss.");
    SR_TRY(w->kind->build(&w->ctx, options, &w->loss, &w->state));
    while (w->n_codes < SR_MAX_VIEWS &&
           (w->codes[w->n_codes] = sr_graph_find(
                w->graph, name_of(w, "loss.codes0_%d", w->n_codes, 0, 0))) != SR_NO_NODE)
        w->n_codes++;
    SrPlanOptions plan = {.mode = SR_MODE_TRAIN,
                          .outputs = w->codes,
                          .n_outputs = w->n_codes,
                          .losses = &w->loss,
                          .n_losses = 1,
                          .input_grads = &w->scores,
                          .n_input_grads = 1};
    return sr_plan_compile(w->graph, &plan, &w->plan);
}

static SrStatus build(WorldRun *w) {
    SR_TRY(sr_loss_find("swav_loss", &w->kind));
    const SrYaml *map = sr_yaml_find_path(w->c->config, w->kind->subtree),
                 *crops = sr_yaml_find(map, "num_crops");
    void *options = sr_arena_alloc(w->c->arena, w->kind->params_bytes);
    if (!options)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the options");
    w->world = golden_world(w->c);
    w->crops = crops ? (int)crops->i : 2;
    SR_TRY(sr_options_parse(w->kind->options, map, w->kind->subtree, w->c->arena, options));
    SR_TRY(sr_params_new(&w->params));
    SR_TRY(sr_graph_new(w->params, &w->graph));
    SR_TRY(sr_builder_new(w->graph, &w->b));
    SR_TRY(add_outputs(w));
    SR_TRY(build_loss(w, options));
    sr_params_init(w->params, 1);
    return SR_OK;
}

// ---- rows of one replica and of all replicas

static SrStatus put(WorldRun *w, const char *name, int r, float *world, int count, int64_t floats) {
    int64_t n;
    float *own = golden_floats(w->c, name, &n);
    if (!own || n != floats)
        SR_FAIL(SR_ERR_RUN, "%s is missing or has another size", name);
    golden_world_move(w->world, world, own, r, count, n, true);
    return SR_OK;
}

// Compares the replica's share of `world` (floats of all replicas), multiplied by `factor`, with
// a tensor of the case.
static SrStatus compare(WorldRun *w, const char *name, int r, float *world, int count,
                        int64_t floats, float factor) {
    int64_t n = floats / w->world;
    float *own = sr_arena_alloc(w->c->arena, (size_t)n * sizeof *own);
    if (!own)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %s", name);
    golden_world_move(w->world, world, own, r, count, n, false);
    for (int64_t k = 0; k < n; k++)
        own[k] *= factor;
    return golden_compare(w->c, name, own, n, GOLDEN_GRAD);
}

static const SrParam *entry(WorldRun *w, const char *name) {
    int index = sr_params_find(w->params, name);
    return index < 0 ? NULL : sr_params_at(w->params, index);
}

// ---- the queue: shares of rows, consecutive for each crop

static SrStatus load_queue(WorldRun *w) {
    const SrParam *queue = entry(w, "loss.local_emb_queue");
    for (int r = 0; queue && r < w->world; r++) {
        int64_t n;
        SR_TRY(put(w, name_of(w, "r%d.queue_init.emb", r, 0, 0), r, queue->value, w->n_codes,
                   sr_shape_count(queue->shape) / w->world));
        float *scores = golden_floats(w->c, name_of(w, "r%d.queue_init.scores", r, 0, 0), &n);
        for (int i = 0; scores && i < w->n_codes; i++) {
            const SrParam *p = entry(w, name_of(w, "loss.local_queue0.%d", i, 0, 0));
            golden_world_move(w->world, p->value, scores + i * n / w->n_codes, r, 1, n / w->n_codes,
                              true);
        }
    }
    return SR_OK;
}

static SrStatus compare_queue(WorldRun *w, int step) {
    const SrParam *queue = entry(w, "loss.local_emb_queue");
    for (int r = 0; queue && r < w->world; r++)
        SR_TRY(compare(w, name_of(w, "r%d.queue%d.emb", r, step, 0), r, queue->value, w->n_codes,
                       sr_shape_count(queue->shape), 1));
    return SR_OK;
}

// ---- one step

// Loads the prototypes after the last update, as this step sees them.
static SrStatus load_prototypes(WorldRun *w, int step) {
    const char *name = step == 0 ? "param.prototypes0.weight"
                                 : name_of(w, "after%d.prototypes0.weight", step - 1, 0, 0);
    int64_t n;
    const float *values = golden_floats(w->c, name, &n);
    if (!values)
        SR_FAIL(SR_ERR_RUN, "the case has no %s", name);
    memcpy(entry(w, PROTOTYPES)->value, values, (size_t)n * sizeof *values);
    return SR_OK;
}

static SrStatus fill(WorldRun *w, int step) {
    SrTensor e = sr_plan_input(w->plan, w->embedding), s = sr_plan_input(w->plan, w->scores);
    for (int r = 0; r < w->world; r++) {
        SR_TRY(put(w, name_of(w, "r%d.emb%d", r, step, 0), r, e.data, w->crops,
                   sr_shape_count(e.shape) / w->world));
        SR_TRY(put(w, name_of(w, "r%d.scores%d", r, step, 0), r, s.data, w->crops,
                   sr_shape_count(s.shape) / w->world));
    }
    return SR_OK;
}

static SrStatus compare_codes(WorldRun *w, int step) {
    for (int i = 0; i < w->n_codes; i++) {
        SrTensor codes = sr_plan_output(w->plan, w->codes[i]);
        for (int r = 0; r < w->world; r++)
            SR_TRY(compare(w, name_of(w, "r%d.codes%d_%d", r, step, i), r, codes.data, 1,
                           sr_shape_count(codes.shape), 1));
    }
    return SR_OK;
}

// Each replica's loss is the mean over its own images; sslrun's is the mean over all.
static SrStatus compare_loss(WorldRun *w, int step) {
    double mean;
    SR_TRY(golden_world_loss(w->c, step, &mean));
    double ours = (double)*(const float *)sr_plan_output(w->plan, w->loss).data;
    SR_TRY(golden_number(w->c, "mean loss", ours, mean, GOLDEN_GRAD));
    SrTensor ds = sr_plan_input_grad(w->plan, w->scores);
    for (int r = 0; r < w->world; r++)
        SR_TRY(compare(w, name_of(w, "r%d.grad_scores%d", r, step, 0), r, ds.data, w->crops,
                       sr_shape_count(ds.shape), (float)w->world));
    return SR_OK;
}

static SrStatus run_step(WorldRun *w, int step) {
    SrLossStep hook = {.params = w->params, .plan = w->plan, .iteration = step};
    SR_TRY(load_prototypes(w, step));
    SR_TRY(fill(w, step));
    w->kind->before_step(w->state, &hook);
    sr_plan_forward(w->plan, step);
    SR_TRY(compare_codes(w, step));
    sr_plan_backward(w->plan);
    SR_TRY(compare_loss(w, step));
    w->kind->after_update(w->state, &hook);
    return compare_queue(w, step);
}

static SrStatus steps(WorldRun *w) {
    SR_TRY(build(w));
    SR_TRY(load_queue(w));
    for (int step = 0; golden_tensor(w->c, name_of(w, "r%d.emb%d", 0, step, 0)); step++)
        SR_TRY(run_step(w, step));
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    WorldRun w = {.c = c};
    SrStatus status = steps(&w);
    sr_plan_free(w.plan);
    sr_builder_free(w.b);
    sr_graph_free(w.graph);
    sr_params_free(w.params);
    return status;
}

const SrGolden sr_golden_dist_swav = {
    .prefixes = {"dist_swav"},
    .run = run,
};
