// Runs golden cases barlow_twins_*, vicreg_* and wmse*, and views_* recorded by
// tests/parity/losses.py (any loss, two views and more): the loss of given embeddings and its
// gradient.
#include <string.h>

#include "base/compiler.h"
#include "tests/golden/images.h"
#include "tests/golden/loss_case.h"

static SrStatus compare(LossCase *r, const float *x, double loss, const char *where) {
    SR_TRY(loss_case_step(r, x, NULL, 0, 1));
    return golden_number(r->c, where, loss_case_value(r), loss, 2e-5);
}

static SrStatus run_barlow(SrGoldenCase *c, LossCase *r) {
    const SrYaml *bs = sr_yaml_find(c->config, "bs");
    const SrTensor *x = golden_tensor(c, "x");
    int64_t n;
    if (!bs || !x)
        SR_FAIL(SR_ERR_RUN, "%s: no bs or x", c->name);
    r->batch = (int)bs->i;
    r->shape = x->shape;
    SR_TRY(loss_case_open(r));
    SR_TRY(compare(r, golden_floats(c, "x", &n), (double)*golden_floats(c, "loss", &n), "loss"));
    return golden_compare(c, "grad", loss_case_gradient(r), sr_shape_count(x->shape), 2e-5);
}

static SrStatus run_barlow_twins(SrGoldenCase *c) {
    LossCase r = {.c = c, .n_views = 2, .name = "embedding"};
    SR_TRY(sr_loss_find("barlow_twins_loss", &r.kind));
    SrStatus status = run_barlow(c, &r);
    loss_case_close(&r);
    return status;
}

// Returns the name of view 1 or 2: z1_<i>, z2_<i>, or grad_z1_<i>, grad_z2_<i>.
static const char *of_view(SrGoldenCase *c, const char *stem, int view, int i) {
    return sr_arena_printf(c->arena, "%s%d_%d", stem, view + 1, i);
}

static int n_views(SrGoldenCase *c) {
    int n = 0;
    while (golden_tensor(c, of_view(c, "z", n, 0)))
        n++;
    return n;
}

static SrStatus numbered_input(LossCase *r, int i) {
    SrGoldenCase *c = r->c;
    int64_t n = sr_shape_count(r->shape) / r->n_views, given;
    float *x = sr_arena_alloc(c->arena, (size_t)(r->n_views * n) * sizeof *x);
    for (int v = 0; x && v < r->n_views; v++)
        memcpy(x + v * n, golden_floats(c, of_view(c, "z", v, i), &given), (size_t)n * sizeof *x);
    const char *loss = golden_numbered(c, "loss_", i);
    SR_TRY(compare(r, x, (double)*golden_floats(c, loss, &given), loss));
    for (int v = 0; v < r->n_views; v++)
        SR_TRY(
            golden_compare(c, of_view(c, "grad_z", v, i), loss_case_gradient(r) + v * n, n, 2e-5));
    return SR_OK;
}

static SrStatus run_numbered(LossCase *r) {
    const SrTensor *z = golden_tensor(r->c, "z1_0");
    if (!z)
        SR_FAIL(SR_ERR_RUN, "%s: no z1_0", r->c->name);
    r->n_views = n_views(r->c);
    r->batch = z->shape.d[0];
    r->shape = SR_SHAPE(r->n_views * z->shape.d[0], z->shape.d[1]);
    SrStatus status = loss_case_open(r);
    for (int i = 0; status == SR_OK && golden_tensor(r->c, golden_numbered(r->c, "z1_", i)); i++)
        status = numbered_input(r, i);
    loss_case_close(r);
    return status;
}

// Runs a loss whose cases hold its settings under other names, with `options` instead.
static SrStatus run_with(SrGoldenCase *c, const char *loss, const char *options) {
    LossCase r = {.c = c, .name = "embedding", .options = options};
    if (!options)
        SR_FAIL(SR_ERR_RUN, "%s: no memory", c->name);
    SR_TRY(sr_loss_find(loss, &r.kind));
    return run_numbered(&r);
}

static SrStatus run_views(SrGoldenCase *c) {
    LossCase r = {.c = c, .name = "embedding"};
    SR_TRY(loss_case_find(&r));
    return run_numbered(&r);
}

static SrStatus run_vicreg(SrGoldenCase *c) {
    return run_with(c, "vicreg_loss",
                    sr_arena_printf(c->arena,
                                    "{form: %s, sim_coeff: %.9g, std_coeff: %.9g, cov_coeff: %.9g, "
                                    "gamma: %.9g, eps: %.9g}",
                                    strstr(c->name, "paper") ? "paper" : "official",
                                    golden_setting(c, "sim_coeff", 25),
                                    golden_setting(c, "std_coeff", 25),
                                    golden_setting(c, "cov_coeff", 1),
                                    golden_setting(c, "gamma", 1), golden_setting(c, "eps", 1e-4)));
}

// The groups of rows that are whitened together are consecutive, in the case as here.
static SrStatus run_wmse(SrGoldenCase *c) {
    return run_with(c, "wmse_loss",
                    sr_arena_printf(c->arena, "{eps: %.9g, w_size: %d}",
                                    golden_setting(c, "eps", 0),
                                    (int)golden_setting(c, "w_size", 0)));
}

static SrStatus run(SrGoldenCase *c) {
    if (strncmp(c->name, "views_", 6) == 0)
        return run_views(c);
    if (strncmp(c->name, "wmse", 4) == 0)
        return run_wmse(c);
    return strncmp(c->name, "vicreg", 6) == 0 ? run_vicreg(c) : run_barlow_twins(c);
}

const SrGolden sr_golden_two_views = {.prefixes = {"barlow_twins", "vicreg_", "wmse", "views_"},
                                      .run = run};
