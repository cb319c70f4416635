// Runs golden cases nnclr*, mocov3*, byol* and simsiam*: from embeddings, predictions and outputs
// of a target network in each step the loss, the gradient of the predictions and NNCLR's queue.
// The encoders are PyTorch modules and are not run here; byol_steps has its own kind.
#include <string.h>

#include "tests/golden/images.h"
#include "tests/golden/loss_case.h"

typedef struct {
    const char *prefix, *loss;
    bool temperature, target, queue;
} Method;

static const Method methods[] = {
    {"nnclr", "nnclr_loss", true, false, true},
    {"mocov3", "mocov3_loss", true, true, false},
    {"byol", "byol_loss", false, true, false},
    {"simsiam", "simsiam_loss", false, false, false},
};

static const Method *method_of(const SrGoldenCase *c) {
    const Method *m = methods;
    while (strncmp(c->name, m->prefix, strlen(m->prefix)) != 0)
        m++;
    return m;
}

// Returns views 1 and 2 of the tensors "<what>1_<step>", one after the other; NULL if one is
// missing.
static float *both(LossCase *r, const char *what, int64_t step) {
    int64_t n = sr_shape_count(r->shape) / 2, given;
    float *x = sr_arena_alloc(r->c->arena, 2 * (size_t)n * sizeof *x);
    for (int v = 0; x && v < 2; v++) {
        const char *name = sr_arena_printf(r->c->arena, "%s%d_%d", what, v + 1, (int)step);
        const float *view = golden_floats(r->c, name ? name : "", &given);
        if (!view || given != n)
            return NULL;
        memcpy(x + v * n, view, (size_t)n * sizeof *x);
    }
    return x;
}

static SrStatus recorded(LossCase *r, int64_t step) {
    const float *p = both(r, "p", step);
    if (!p)
        SR_FAIL(SR_ERR_RUN, "no predictions for step %lld", (long long)step);
    memcpy(loss_case_prediction(r), p, (size_t)sr_shape_count(r->shape) * sizeof *p);
    return SR_OK;
}

// Returns the queue as rows (Q, D), as the case has it; the parameter table holds columns (D, Q).
static float *queue_of(LossCase *r) {
    int index = sr_params_find(r->params, "loss.queue");
    return index < 0 ? NULL : sr_params_at(r->params, index)->value;
}

static void turn(float *to, const float *from, int rows, int columns) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[(int64_t)j * rows + i] = from[(int64_t)i * columns + j];
}

static SrStatus compare_queue(LossCase *r, int step) {
    const SrTensor *queue = golden_tensor(r->c, "queue_init");
    int Q = queue->shape.d[0], D = queue->shape.d[1];
    float *rows = sr_arena_alloc(r->c->arena, (size_t)Q * (size_t)D * sizeof *rows);
    if (!rows)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a queue");
    turn(rows, queue_of(r), D, Q);
    return golden_compare(r->c, golden_numbered(r->c, "queue", step), rows, (int64_t)Q * D, 1e-6);
}

static SrStatus run_step(LossCase *r, const Method *m, int step) {
    SrGoldenCase *c = r->c;
    int64_t n = sr_shape_count(r->shape) / 2, one;
    const float *target = m->target ? both(r, "target", step) : NULL;
    SR_TRY(loss_case_step(r, both(r, "z", step), target, step, 100));
    const char *loss = golden_numbered(c, "loss", step);
    SR_TRY(golden_number(c, loss, loss_case_value(r), (double)*golden_floats(c, loss, &one), 2e-5));
    const char *grads[2] = {golden_numbered(c, "grad_p1_", step),
                            golden_numbered(c, "grad_p2_", step)};
    for (int v = 0; v < 2; v++)
        SR_TRY(golden_compare(c, grads[v], loss_case_prediction_gradient(r) + v * n, n, 5e-5));
    return m->queue ? compare_queue(r, step) : SR_OK;
}

static SrStatus run_all(LossCase *r, const Method *m) {
    const SrTensor *queue = golden_tensor(r->c, "queue_init");
    int64_t n;
    SR_TRY(loss_case_open(r));
    if (m->queue)
        turn(queue_of(r), golden_floats(r->c, "queue_init", &n), queue->shape.d[0],
             queue->shape.d[1]);
    for (int step = 0; golden_tensor(r->c, golden_numbered(r->c, "z1_", step)); step++)
        SR_TRY(run_step(r, m, step));
    return SR_OK;
}

// Returns the options of the case; the loss's defaults apply to the rest.
static const char *options_of(const SrGoldenCase *c, const Method *m, const SrTensor *queue) {
    const SrYaml *t = m->temperature ? sr_yaml_find(c->config, "temperature") : NULL;
    const char *divisor = t ? sr_arena_printf(c->arena, "temperature: %.9g, ", t->f) : "";
    const char *size =
        m->queue ? sr_arena_printf(c->arena, "queue_size: %d", queue->shape.d[0]) : "";
    return divisor && size ? sr_arena_printf(c->arena, "{%s%s}", divisor, size) : NULL;
}

static SrStatus run(SrGoldenCase *c) {
    const Method *m = method_of(c);
    const SrTensor *z = golden_tensor(c, "z1_0"), *queue = golden_tensor(c, "queue_init");
    if (!z || (m->queue && !queue))
        SR_FAIL(SR_ERR_RUN, "%s: no z1_0 or queue_init", c->name);
    LossCase r = {.c = c,
                  .n_views = 2,
                  .batch = z->shape.d[0],
                  .name = "embedding",
                  .shape = SR_SHAPE(2 * z->shape.d[0], z->shape.d[1]),
                  .recorded = recorded};
    r.prediction = r.shape;
    if (m->target)
        r.teacher = r.shape;
    r.teacher_name = "embedding";
    r.options = options_of(c, m, queue);
    if (!r.options)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for options");
    SR_TRY(sr_loss_find(m->loss, &r.kind));
    SrStatus status = run_all(&r, m);
    loss_case_close(&r);
    return status;
}

const SrGolden sr_golden_predictions = {.prefixes = {"nnclr", "mocov3", "byol", "simsiam"},
                                        .run = run};
