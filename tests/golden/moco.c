// Runs golden cases of MoCo's loss: from queries and keys the loss, the gradient of the queries
// and the queue after each step. In dist_moco the queries and keys of all replicas are given.
// VISSL's processes start with queues of their own, drawn by generators with different seeds,
// until all are filled with the same keys. The case therefore runs once with each replica's
// queue, and compares that replica's rows.
#include <string.h>

#include "tests/golden/loss_case.h"
#include "tests/golden/table.h"
#include "tests/golden/world.h"

typedef struct {
    LossCase r;
    int n, D; // images per replica, and their dimensions
    int own;  // replica that is compared; -1: names have no replica
} MocoRun;

static const char *tensor(MocoRun *m, int replica, const char *what, int step) {
    SrArena *arena = m->r.c->arena;
    const char *name = sr_arena_printf(arena, "%s%d", what, step);
    return replica >= 0 ? golden_replica_name(m->r.c, replica, what, step) : name ? name : "";
}

// Returns the rows of all replicas, one after the other; NULL if a tensor is missing.
static float *gather(MocoRun *m, const char *what, int step) {
    int64_t one = (int64_t)m->n * m->D, n;
    float *all = sr_arena_alloc(m->r.c->arena, (size_t)(one * m->r.replicas) * sizeof *all);
    for (int k = 0; all && k < m->r.replicas; k++) {
        const float *x = golden_floats(m->r.c, tensor(m, m->own < 0 ? -1 : k, what, step), &n);
        if (!x || n != one)
            return NULL;
        memcpy(all + k * one, x, (size_t)one * sizeof *x);
    }
    return all;
}

// Returns the recorded loss, which sets the tolerance. If the positive key is found almost
// surely, the float32 reference has lost digits: the loss is a difference of logits up to 1 /
// temperature, and the gradient has the factor 1 - p with p near 1.
static double reference_loss(MocoRun *m, int step) {
    int64_t n;
    const float *loss = golden_floats(m->r.c, tensor(m, m->own, "loss", step), &n);
    return loss ? (double)loss[0] : 1;
}

// Compares loss and gradient. Each replica's loss is the mean over its own images, and sslrun's
// over all: the gradient is scaled by the number of replicas, and the loss is compared only in
// cases of one replica.
static SrStatus compare(MocoRun *m, int step) {
    int64_t n = (int64_t)m->n * m->D;
    double loss = reference_loss(m, step);
    const float *grad = loss_case_gradient(&m->r) + SR_MAX(m->own, 0) * n;
    float *scaled = sr_arena_copy(m->r.c->arena, grad, (size_t)n * sizeof *grad);
    if (!scaled)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a gradient");
    for (int64_t k = 0; k < n; k++)
        scaled[k] *= (float)m->r.replicas;
    if (m->own < 0)
        SR_TRY(
            golden_number(m->r.c, "loss", loss_case_value(&m->r), loss, GOLDEN_GRAD + 5e-7 / loss));
    return golden_compare(m->r.c, tensor(m, m->own, m->own < 0 ? "grad" : "grad_query", step),
                          scaled, n, GOLDEN_GRAD + 1.2e-7 / loss);
}

static const SrParam *queue_of(MocoRun *m) {
    return sr_params_at(m->r.params, sr_params_find(m->r.params, "loss.queue"));
}

static SrStatus open_run(MocoRun *m) {
    LossCase *r = &m->r;
    int64_t n;
    const SrTensor *q = golden_tensor(r->c, tensor(m, m->own, "query", 0));
    const char *init = sr_arena_printf(r->c->arena, "r%d.queue_init", m->own);
    const float *queue = golden_floats(r->c, m->own < 0 ? "queue_init" : init, &n);
    if (!q || !queue)
        SR_FAIL(SR_ERR_RUN, "the case has no queries or no queue");
    r->replicas = m->own < 0 ? 1 : golden_world(r->c);
    m->n = q->shape.d[0];
    m->D = q->shape.d[1];
    r->batch = r->replicas * m->n;
    r->shape = r->teacher = SR_SHAPE(r->batch, m->D);
    SR_TRY(sr_loss_find("moco_loss", &r->kind));
    SR_TRY(loss_case_open(r));
    if (sr_shape_count(queue_of(m)->shape) != n)
        SR_FAIL(SR_ERR_RUN, "the queue has another size");
    memcpy(queue_of(m)->value, queue, (size_t)n * sizeof *queue);
    return SR_OK;
}

static SrStatus steps(MocoRun *m) {
    SR_TRY(open_run(m));
    for (int step = 0; golden_tensor(m->r.c, tensor(m, m->own, "queue", step)); step++) {
        SR_TRY(loss_case_step(&m->r, gather(m, "query", step), gather(m, "key", step), step, 100));
        SR_TRY(compare(m, step));
        SR_TRY(golden_compare(m->r.c, tensor(m, m->own, "queue", step), queue_of(m)->value,
                              sr_shape_count(queue_of(m)->shape), GOLDEN_GRAD));
    }
    return SR_OK;
}

static SrStatus run_as(SrGoldenCase *c, int own) {
    MocoRun m = {.r = {.c = c, .n_views = 2, .name = "embedding", .teacher_name = "embedding"},
                 .own = own};
    SrStatus status = steps(&m);
    loss_case_close(&m.r);
    return status;
}

static SrStatus run(SrGoldenCase *c) {
    if (!golden_tensor(c, "r0.query0"))
        return run_as(c, -1);
    for (int k = 0; k < golden_world(c); k++)
        SR_TRY(run_as(c, k));
    return SR_OK;
}

const SrGolden sr_golden_moco = {
    .prefixes = {"moco_", "dist_moco"},
    .run = run,
};
