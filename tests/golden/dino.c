// Runs golden cases dino_*: from student and teacher scores of several steps the loss, the
// gradient of the student's scores and the centre, and the teacher's temperature and momentum per
// step.
#include <string.h>

#include "losses/shared/momentum_encoder.h"
#include "tests/golden/images.h"
#include "tests/golden/loss_case.h"

static SrStatus compare_step(LossCase *r, int i, int64_t max_iterations) {
    SrGoldenCase *c = r->c;
    int64_t n;
    const float *x = golden_floats(c, golden_numbered(c, "student", i), &n),
                *t = golden_floats(c, golden_numbered(c, "teacher", i), &n);
    SR_TRY(loss_case_step(r, x, t, i, max_iterations));
    const char *loss = golden_numbered(c, "loss", i);
    SR_TRY(golden_number(c, loss, loss_case_value(r), (double)*golden_floats(c, loss, &n), 1e-5));
    SR_TRY(golden_compare(c, golden_numbered(c, "grad", i), loss_case_gradient(r),
                          sr_shape_count(r->shape), 2e-5));
    const SrParam *center = sr_params_at(r->params, sr_params_find(r->params, "loss.center"));
    SR_TRY(golden_compare(c, golden_numbered(c, "center", i), center->value, r->shape.d[1], 1e-5));
    SrLossStep step = {.iteration = i, .max_iterations = max_iterations};
    double momentum =
        sr_momentum_cosine(golden_setting(c, "LOSS.dino_loss.momentum", 0.996), &step);
    const float *temp = sr_plan_input(r->plan, sr_graph_find(r->graph, "loss.teacher_temp")).data;
    SR_TRY(golden_scheduled(c, "teacher_momentum_per_step", i, momentum, 1e-9));
    return golden_scheduled(c, "teacher_temp_per_step", i, (double)*temp, 1e-6);
}

static SrStatus run(SrGoldenCase *c) {
    const SrTensor *student = golden_tensor(c, "student0"), *teacher = golden_tensor(c, "teacher0");
    const SrYaml *bs = sr_yaml_find(c->config, "bs"),
                 *max = sr_yaml_find(c->config, "max_iteration");
    if (!student || !teacher || !bs || !max)
        SR_FAIL(SR_ERR_RUN, "%s: no student0, teacher0, bs or max_iteration", c->name);
    LossCase r = {.c = c,
                  .batch = (int)bs->i,
                  .n_views = student->shape.d[0] / (int)bs->i,
                  .name = "scores0",
                  .teacher_name = "scores0",
                  .shape = student->shape,
                  .teacher = teacher->shape};
    SR_TRY(sr_loss_find("dino_loss", &r.kind));
    SrStatus status = loss_case_open(&r);
    for (int i = 0; status == SR_OK && golden_tensor(c, golden_numbered(c, "student", i)); i++)
        status = compare_step(&r, i, max->i);
    loss_case_close(&r);
    return status;
}

const SrGolden sr_golden_dino = {.prefixes = {"dino_"}, .run = run};
