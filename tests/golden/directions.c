// Runs golden cases lejepa*, and visreg_* recorded by tests/parity/losses.py: from embeddings and
// recorded directions the loss and its gradient.
#include <string.h>

#include "tests/golden/images.h"
#include "tests/golden/loss_case.h"

static SrStatus recorded(LossCase *r, int64_t step) {
    int64_t n;
    SrTensor input = sr_plan_input(r->plan, sr_graph_find(r->graph, "loss.directions"));
    const float *a = golden_floats(r->c, golden_numbered(r->c, "directions_", (int)step), &n);
    if (!a || n != sr_shape_count(input.shape))
        SR_FAIL(SR_ERR_RUN, "no directions for step %lld", (long long)step);
    memcpy(input.data, a, (size_t)n * sizeof *a);
    return SR_OK;
}

static SrStatus run_step(LossCase *r, int step) {
    SrGoldenCase *c = r->c;
    int64_t n;
    const char *loss = golden_numbered(c, "loss_", step);
    SR_TRY(
        loss_case_step(r, golden_floats(c, golden_numbered(c, "z_", step), &n), NULL, step, 100));
    SR_TRY(golden_number(c, loss, loss_case_value(r), (double)*golden_floats(c, loss, &n), 2e-5));
    return golden_compare(c, golden_numbered(c, "grad_z_", step), loss_case_gradient(r),
                          sr_shape_count(r->shape), 5e-5);
}

// Finds the loss of a case that holds LeJEPA's settings under the names of its program.
static SrStatus find_lejepa(LossCase *r, const SrTensor *directions) {
    SrGoldenCase *c = r->c;
    r->options = sr_arena_printf(
        c->arena,
        "{lambda: %.9g, global_views: %d, slices: %d, knots: %d, "
        "t_max: %.9g}",
        golden_setting(c, "lambda", 0.05), (int)golden_setting(c, "global_views", 2),
        directions->shape.d[1], (int)golden_setting(c, "knots", 17), golden_setting(c, "t_max", 5));
    return sr_loss_find("lejepa_loss", &r->kind);
}

static SrStatus run(SrGoldenCase *c) {
    const SrTensor *z = golden_tensor(c, "z_0"), *a = golden_tensor(c, "directions_0");
    if (!z || !a)
        SR_FAIL(SR_ERR_RUN, "%s: no z_0 or directions_0", c->name);
    LossCase r = {.c = c,
                  .n_views = z->shape.d[0],
                  .batch = z->shape.d[1],
                  .name = "embedding",
                  .shape = SR_SHAPE(z->shape.d[0] * z->shape.d[1], z->shape.d[2]),
                  .recorded = recorded};
    SR_TRY(strncmp(c->name, "lejepa", 6) == 0 ? find_lejepa(&r, a) : loss_case_find(&r));
    SrStatus status = loss_case_open(&r);
    for (int i = 0; status == SR_OK && golden_tensor(c, golden_numbered(c, "z_", i)); i++)
        status = run_step(&r, i);
    loss_case_close(&r);
    return status;
}

const SrGolden sr_golden_directions = {.prefixes = {"lejepa", "visreg_"}, .run = run};
