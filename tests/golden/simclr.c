// SimCLR's losses: embeddings in; loss and gradient compared.  dist_*: the rows of two replicas, whose local
// losses average to ours, and whose gathered gradients, before DistributedDataParallel divides them, are
// twice ours.
#include <string.h>

#include "tests/golden/loss_case.h"
#include "tests/golden/table.h"

enum { WORLD = 2 };

static int crops_of(const LossCase *r) {
    const SrYaml *map = sr_yaml_find_path(r->c->config, r->kind->subtree);
    const SrYaml *crops = sr_yaml_find(map ? map : r->c->config, "num_crops");
    return crops ? (int)crops->i : 2;
}

// The shape is that of the case's tensor, `times` as many rows.
static SrStatus open_like(LossCase *r, const char *name, int times) {
    const SrTensor *x = golden_tensor(r->c, name);
    if (!x)
        SR_FAIL(SR_ERR_RUN, "the case has no %s", name);
    r->n_views = crops_of(r);
    r->shape = x->shape;
    r->shape.d[0] *= times;
    r->batch = r->shape.d[0] / r->n_views;
    r->replicas = times;
    return loss_case_open(r);
}

static SrStatus compare(LossCase *r, const char *x, const char *loss, const char *grad, int step) {
    int64_t n;
    SR_TRY(loss_case_step(r, golden_floats(r->c, x, &n), NULL, step, 100));
    float value = (float)loss_case_value(r);
    SR_TRY(golden_compare(r->c, loss, &value, 1, GOLDEN_GRAD));
    return golden_compare(r->c, grad, loss_case_gradient(r), sr_shape_count(r->shape), GOLDEN_GRAD);
}

static SrStatus alone(LossCase *r) {
    SR_TRY(open_like(r, "x", 1));
    return compare(r, "x", "loss", "grad", 0);
}

// ---- two replicas

static const char *tensor(LossCase *r, int replica, const char *what, int step) {
    const char *name = sr_arena_printf(r->c->arena, "r%d.%s%d", replica, what, step);
    return name ? name : "";
}

// Rows of other replicas are no negatives: each replica is a case of its own.
static SrStatus apart(LossCase *r) {
    SR_TRY(open_like(r, "r0.out0", 1));
    for (int step = 0; golden_tensor(r->c, tensor(r, 0, "out", step)); step++)
        for (int k = 0; k < WORLD; k++)
            SR_TRY(compare(r, tensor(r, k, "out", step), tensor(r, k, "loss", step),
                           tensor(r, k, "grad_out", step), step));
    return SR_OK;
}

// Rows of a replica, view-major over its own images, to or from those of the world.
static void move(const LossCase *r, float *world, float *own, int replica, bool in) {
    size_t block = (size_t)(r->batch / WORLD) * (size_t)r->shape.d[1];
    for (int v = 0; v < r->n_views; v++) {
        float *a = world + (size_t)(v * WORLD + replica) * block, *b = own + (size_t)v * block;
        memcpy(in ? a : b, in ? b : a, block * sizeof(float));
    }
}

static SrStatus compare_gradient(LossCase *r, int replica, int step) {
    int64_t n = sr_shape_count(r->shape) / WORLD;
    float *own = sr_arena_alloc(r->c->arena, (size_t)n * sizeof *own);
    if (!own)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a gradient");
    move(r, (float *)loss_case_gradient(r), own, replica, false);
    for (int64_t k = 0; k < n; k++)
        own[k] *= WORLD;
    return golden_compare(r->c, tensor(r, replica, "grad_out", step), own, n, GOLDEN_GRAD);
}

static SrStatus world_step(LossCase *r, int step) {
    float *all = sr_arena_alloc(r->c->arena, (size_t)sr_shape_count(r->shape) * sizeof *all);
    double mean = 0;
    for (int k = 0; all && k < WORLD; k++) {
        int64_t n;
        float *rows = golden_floats(r->c, tensor(r, k, "out", step), &n),
              *loss = golden_floats(r->c, tensor(r, k, "loss", step), &n);
        if (!rows || !loss)
            SR_FAIL(SR_ERR_RUN, "the case lacks step %d of replica %d", step, k);
        move(r, all, rows, k, true);
        mean += (double)loss[0] / WORLD;
    }
    SR_TRY(loss_case_step(r, all, NULL, step, 100));
    SR_TRY(golden_number(r->c, "mean loss", loss_case_value(r), mean, GOLDEN_GRAD));
    for (int k = 0; k < WORLD; k++)
        SR_TRY(compare_gradient(r, k, step));
    return SR_OK;
}

static SrStatus together(LossCase *r) {
    SR_TRY(open_like(r, "r0.out0", WORLD));
    for (int step = 0; golden_tensor(r->c, tensor(r, 0, "out", step)); step++)
        SR_TRY(world_step(r, step));
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    LossCase r = {.c = c, .name = "embedding"};
    bool multicrop = strstr(c->name, "multicrop");
    SR_TRY(sr_loss_find(multicrop ? "multicrop_simclr_info_nce_loss" : "simclr_info_nce_loss",
                        &r.kind));
    SrStatus status = strncmp(c->name, "dist_", 5) != 0 ? alone(&r)
                      : r.kind->rows_are_independent    ? apart(&r)
                                                        : together(&r);
    loss_case_close(&r);
    return status;
}

const SrGolden sr_golden_simclr = {
    .prefixes = {"simclr_info_nce", "multicrop_simclr", "dist_simclr", "dist_multicrop_simclr"},
    .run = run,
};
