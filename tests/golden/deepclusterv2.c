// Runs golden cases deepclusterv2*: from a given memory and given first rows the centroids and
// assignments; then training steps: loss, gradient and the memory after each.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "measure/clusters/kmeans.h"
#include "tests/golden/images.h"
#include "tests/golden/loss_case.h"

static void *value(LossCase *r, const char *name) {
    return sr_params_at(r->params, sr_params_find(r->params, name))->value;
}

// Runs k-means as the loss does, from the recorded rows, and stores the result in the state of
// the loss.
static SrStatus run_clustering(LossCase *r, int k, int iterations) {
    SrGoldenCase *c = r->c;
    const SrTensor *first = golden_tensor(c, golden_numbered(c, "kmeans_init_rows", k)),
                   *memory = golden_tensor(c, "memory_emb"),
                   *index = golden_tensor(c, "memory_index");
    int64_t N = memory->shape.d[1], n;
    int K = first->shape.d[0], D = memory->shape.d[2], bank = k % memory->shape.d[0];
    SrRowView rows = {.n = N, .d = D, .x = golden_floats(c, "memory_emb", &n) + bank * N * D};
    SrKmeansOptions o = {.k = K,
                         .iterations = iterations,
                         .spherical = true,
                         .first = first->data,
                         .keep_empty = true};
    SrKmeans km;
    int64_t label[4096], *out = (int64_t *)value(r, "loss.assignments") + k * N;
    if (N > 4096)
        SR_FAIL(SR_ERR_RUN, "%s: a memory of %lld rows", c->name, (long long)N);
    SR_TRY(sr_kmeans(&o, &rows, &km));
    SrStatus status = sr_kmeans_assign(&km, &rows, label, NULL);
    char name[40];
    snprintf(name, sizeof name, "loss.centroids%d", k);
    memcpy(value(r, name), km.centre, (size_t)K * (size_t)D * sizeof(float));
    if (status == SR_OK)
        status =
            golden_compare(c, golden_numbered(c, "centroids", k), km.centre, (int64_t)K * D, 1e-5);
    for (int64_t i = 0; i < N; i++)
        out[((const int64_t *)index->data)[i]] = label[i];
    sr_kmeans_deinit(&km);
    return status;
}

static SrStatus compare_assignments(LossCase *r) {
    int64_t n;
    float ours[16 * 4096];
    golden_floats(r->c, "assignments", &n);
    for (int64_t i = 0; i < n; i++)
        ours[i] = (float)((const int64_t *)value(r, "loss.assignments"))[i];
    return golden_compare(r->c, "assignments", ours, n, 1e-7);
}

static SrStatus run_step(LossCase *r, int i) {
    SrGoldenCase *c = r->c;
    int64_t n;
    const SrTensor *index = golden_tensor(c, golden_numbered(c, "idx", i)),
                   *memory = golden_tensor(c, "memory_emb");
    memcpy(sr_plan_input(r->plan, r->ctx.sample_index).data, index->data,
           (size_t)r->batch * sizeof(int64_t));
    SR_TRY(loss_case_step(r, golden_floats(c, golden_numbered(c, "x", i), &n), NULL, i, 100));
    const char *loss = golden_numbered(c, "loss", i);
    SR_TRY(golden_number(c, loss, loss_case_value(r), (double)*golden_floats(c, loss, &n), 1e-5));
    SR_TRY(golden_compare(c, golden_numbered(c, "grad", i), loss_case_gradient(r),
                          sr_shape_count(r->shape), 2e-5));
    return golden_compare(c, golden_numbered(c, "memory_emb_after", i), value(r, "loss.memory"),
                          sr_shape_count(memory->shape), 1e-6);
}

static SrStatus run_all(LossCase *r) {
    SrGoldenCase *c = r->c;
    const SrTensor *memory = golden_tensor(c, "memory_emb"),
                   *index = golden_tensor(c, "memory_index");
    int iterations = (int)golden_setting(c, "LOSS.deepclusterv2_loss.kmeans_iters", 10);
    SR_TRY(loss_case_open(r));
    memcpy(value(r, "loss.memory"), memory->data,
           (size_t)sr_shape_count(memory->shape) * sizeof(float));
    memcpy(value(r, "loss.memory_index"), index->data, (size_t)r->n_samples * sizeof(int64_t));
    for (int k = 0; golden_tensor(c, golden_numbered(c, "kmeans_init_rows", k)); k++)
        SR_TRY(run_clustering(r, k, iterations));
    SR_TRY(compare_assignments(r));
    for (int i = 0; golden_tensor(c, golden_numbered(c, "x", i)); i++)
        SR_TRY(run_step(r, i));
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    const SrTensor *x = golden_tensor(c, "x0"), *memory = golden_tensor(c, "memory_emb");
    int views = (int)golden_setting(c, "LOSS.deepclusterv2_loss.num_crops", 2);
    if (!x || !memory)
        SR_FAIL(SR_ERR_RUN, "%s: no x0 or memory_emb", c->name);
    LossCase r = {.c = c,
                  .n_views = views,
                  .batch = x->shape.d[0] / views,
                  .name = "embedding",
                  .shape = x->shape,
                  .n_samples = memory->shape.d[1]};
    SR_TRY(sr_loss_find("deepclusterv2_loss", &r.kind));
    SrStatus status = run_all(&r);
    loss_case_close(&r);
    return status;
}

const SrGolden sr_golden_deepclusterv2 = {.prefixes = {"deepclusterv2"}, .run = run};
