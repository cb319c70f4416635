// Runs golden cases npid_*, npidpp_* and pirl_*: from outputs, image indices and drawn rows the
// loss, gradients, the constant Z and the memory bank after each step. Images with an ignored
// index have no recorded draws.
#include <string.h>

#include "losses/shared/memory_bank.h"
#include "tests/golden/images.h"
#include "tests/golden/loss_case.h"
#include "tests/golden/table.h"

static void *value(LossCase *r, const char *name) {
    return sr_params_at(r->params, sr_params_find(r->params, name))->value;
}

static const char *numbered(LossCase *r, const char *what, int64_t step, int output) {
    const char *name = sr_arena_printf(r->c->arena, "%s%d_%d", what, (int)step, output);
    return name ? name : "";
}

// Returns whether VISSL has already updated the memory bank by an earlier output of the same
// step.
static bool behind(LossCase *r, int output) {
    const SrYaml *p = sr_yaml_find_path(r->c->config, r->kind->subtree);
    const SrYaml *always = sr_yaml_find_path(p, "memory_params.update_mem_on_forward"),
                 *index = sr_yaml_find(p, "update_mem_with_emb_index");
    return output > 0 && ((always && always->b) || (index && index->i >= 0 && index->i < output));
}

// Copies the recorded rows of the images that count into the input (batch, 1 + K).
static SrStatus put_rows(LossCase *r, int64_t step, int output, const int64_t *target) {
    const SrTensor *recorded = golden_tensor(r->c, numbered(r, "idx", step, output));
    const char *node = sr_arena_printf(r->c->arena, "loss.rows%d", output);
    SrTensor rows = sr_plan_input(r->plan, sr_graph_find(r->graph, node ? node : ""));
    if (!recorded || recorded->dtype != SR_I64 || recorded->shape.d[1] != rows.shape.d[1])
        SR_FAIL(SR_ERR_RUN, "no drawn rows for output %d", output);
    size_t M = (size_t)rows.shape.d[1];
    for (int i = 0, k = 0; i < r->batch; i++)
        if (target[i] >= 0 && k < recorded->shape.d[0])
            memcpy((int64_t *)rows.data + (size_t)i * M,
                   (const int64_t *)recorded->data + (size_t)k++ * M, M * sizeof(int64_t));
    if (behind(r, output)) {
        SrMemoryBank bank = {
            .N = r->n_samples,
            .place = sr_arena_alloc(r->c->arena, sizeof(int32_t) * (size_t)r->n_samples)};
        if (!bank.place)
            SR_FAIL(SR_ERR_MEMORY, "out of memory for a bank");
        sr_memory_bank_redirect(&bank, target, r->batch, rows.data, sr_shape_count(rows.shape));
    }
    return SR_OK;
}

static SrStatus recorded(LossCase *r, int64_t step) {
    const int64_t *target = sr_plan_input(r->plan, r->ctx.sample_index).data;
    for (int o = 0; o <= r->n_more; o++)
        SR_TRY(put_rows(r, step, o, target));
    return SR_OK;
}

static SrStatus compare(LossCase *r, int step) {
    SrGoldenCase *c = r->c;
    const char *loss = golden_numbered(c, "loss", step);
    double z;
    int64_t n;
    SR_TRY(golden_number(c, loss, loss_case_value(r), (double)*golden_floats(c, loss, &n), 1e-5));
    for (int o = 0; o <= r->n_more; o++)
        SR_TRY(golden_compare(c, numbered(r, "grad", step, o), loss_case_gradient_of(r, o),
                              sr_shape_count(r->shape), GOLDEN_GRAD));
    const char *name = golden_numbered(c, "Z", step);
    if (golden_value(c, name, &z) && z > 0)
        SR_TRY(golden_number(c, name, (double)*(float *)value(r, "loss.norm_constant"), z, 1e-5));
    return golden_compare(c, golden_numbered(c, "memory", step), value(r, "loss.memory"),
                          r->n_samples * r->shape.d[1], 1e-6);
}

static SrStatus run_step(LossCase *r, int step) {
    SrGoldenCase *c = r->c;
    int64_t n = sr_shape_count(r->shape), count;
    float *x = sr_arena_alloc(c->arena, (size_t)(n * (1 + r->n_more)) * sizeof *x);
    const SrTensor *target = golden_tensor(c, golden_numbered(c, "target", step));
    for (int o = 0; x && o <= r->n_more; o++) {
        const float *out = golden_floats(c, numbered(r, "out", step, o), &count);
        if (!out || count != n)
            SR_FAIL(SR_ERR_RUN, "output %d of step %d is missing", o, step);
        memcpy(x + o * n, out, (size_t)n * sizeof *x);
    }
    memcpy(sr_plan_input(r->plan, r->ctx.sample_index).data, target->data,
           (size_t)r->batch * sizeof(int64_t));
    SR_TRY(loss_case_step(r, x, NULL, step, 100));
    return compare(r, step);
}

static SrStatus run_all(LossCase *r) {
    int64_t n;
    SR_TRY(loss_case_open(r));
    const float *memory = golden_floats(r->c, "memory_init", &n);
    memcpy(value(r, "loss.memory"), memory, (size_t)n * sizeof *memory);
    for (int step = 0; golden_tensor(r->c, golden_numbered(r->c, "target", step)); step++)
        SR_TRY(run_step(r, step));
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    const SrTensor *x = golden_tensor(c, "out0_0"), *memory = golden_tensor(c, "memory_init");
    if (!x || !memory)
        SR_FAIL(SR_ERR_RUN, "%s: no out0_0 or memory_init", c->name);
    LossCase r = {.c = c,
                  .n_views = 1,
                  .batch = x->shape.d[0],
                  .name = "embedding",
                  .shape = x->shape,
                  .n_samples = memory->shape.d[0],
                  .recorded = recorded};
    while (r.n_more < LOSS_CASE_MORE && golden_tensor(c, numbered(&r, "out", 0, 1 + r.n_more)))
        r.n_more++;
    SR_TRY(sr_loss_find("nce_loss_with_memory", &r.kind));
    SrStatus status = run_all(&r);
    loss_case_close(&r);
    return status;
}

const SrGolden sr_golden_nce_memory = {.prefixes = {"npid", "pirl"}, .run = run};
