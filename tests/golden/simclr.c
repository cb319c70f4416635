// Runs golden cases of SimCLR's losses, and dist_views_* of any loss: from embeddings the loss
// and its gradient. In dist_* cases the local losses of the replicas average to sslrun's. Their
// gathered gradients, before DistributedDataParallel divides them, are the number of replicas
// times sslrun's.
#include <string.h>

#include "tests/golden/loss_case.h"
#include "tests/golden/table.h"
#include "tests/golden/world.h"

static int crops_of(const LossCase *r) {
    const SrYaml *map = sr_yaml_find_path(r->c->config, r->kind->subtree);
    const SrYaml *crops = sr_yaml_find(map ? map : r->c->config, "num_crops");
    return crops ? (int)crops->i : 2;
}

// Opens the loss with the shape of the case's tensor and `times` as many rows.
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

// ---- replicas

// Checks a loss whose negatives come from the own replica only: each replica is a case of its
// own.
static SrStatus apart(LossCase *r) {
    SrGoldenCase *c = r->c;
    SR_TRY(open_like(r, "r0.out0", 1));
    for (int step = 0; golden_tensor(c, golden_replica_name(c, 0, "out", step)); step++)
        for (int k = 0; k < golden_world(c); k++)
            SR_TRY(compare(r, golden_replica_name(c, k, "out", step),
                           golden_replica_name(c, k, "loss", step),
                           golden_replica_name(c, k, "grad_out", step), step));
    return SR_OK;
}

static SrStatus compare_gradient(LossCase *r, int replica, int step) {
    int64_t n = sr_shape_count(r->shape) / r->replicas;
    float *own = sr_arena_alloc(r->c->arena, (size_t)n * sizeof *own);
    if (!own)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a gradient");
    golden_world_move(r->replicas, (float *)loss_case_gradient(r), own, replica, r->n_views, n,
                      false);
    for (int64_t k = 0; k < n; k++)
        own[k] *= (float)r->replicas;
    return golden_compare(r->c, golden_replica_name(r->c, replica, "grad_out", step), own, n,
                          GOLDEN_GRAD);
}

static SrStatus world_step(LossCase *r, int step) {
    float *all = sr_arena_alloc(r->c->arena, (size_t)sr_shape_count(r->shape) * sizeof *all);
    double mean;
    for (int k = 0; all && k < r->replicas; k++) {
        int64_t n;
        float *rows = golden_floats(r->c, golden_replica_name(r->c, k, "out", step), &n);
        if (!rows || n * r->replicas != sr_shape_count(r->shape))
            SR_FAIL(SR_ERR_RUN, "the case lacks step %d of replica %d", step, k);
        golden_world_move(r->replicas, all, rows, k, r->n_views, n, true);
    }
    SR_TRY(loss_case_step(r, all, NULL, step, 100));
    SR_TRY(golden_world_loss(r->c, step, &mean));
    SR_TRY(golden_number(r->c, "mean loss", loss_case_value(r), mean, GOLDEN_GRAD));
    for (int k = 0; k < r->replicas; k++)
        SR_TRY(compare_gradient(r, k, step));
    return SR_OK;
}

static SrStatus together(LossCase *r) {
    SR_TRY(open_like(r, "r0.out0", golden_world(r->c)));
    for (int step = 0; golden_tensor(r->c, golden_replica_name(r->c, 0, "out", step)); step++)
        SR_TRY(world_step(r, step));
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    LossCase r = {.c = c, .name = "embedding"};
    const char *name =
        strstr(c->name, "multicrop") ? "multicrop_simclr_info_nce_loss" : "simclr_info_nce_loss";
    SR_TRY(sr_text_starts(c->name, "dist_views") ? loss_case_find(&r)
                                                 : sr_loss_find(name, &r.kind));
    SrStatus status = strncmp(c->name, "dist_", 5) != 0 ? alone(&r)
                      : r.kind->rows_are_independent    ? apart(&r)
                                                        : together(&r);
    loss_case_close(&r);
    return status;
}

const SrGolden sr_golden_simclr = {
    .prefixes = {"simclr_info_nce", "multicrop_simclr", "dist_simclr", "dist_multicrop_simclr",
                 "dist_views"},
    .run = run,
};
