// Runs golden cases distillation_*, dino_distillation_*, msn_distillation_*, swav_distillation_*,
// ibot_distillation_*, ibot and dist_ibot: from outputs of student and teacher the loss,
// gradients, centres and queues.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/golden/given_loss.h"
#include "tests/golden/images.h"
#include "tests/golden/world.h"

static SrStatus compare_loss(GivenLoss *g, const char *name) {
    int64_t n;
    const float *loss = golden_floats(g->c, name, &n);
    if (!loss)
        SR_FAIL(SR_ERR_RUN, "%s: no %s", g->c->name, name);
    return golden_number(g->c, name, given_loss_value(g), (double)*loss, 1e-5);
}

static int batch_of(SrGoldenCase *c) {
    const SrYaml *bs = sr_yaml_find(c->config, "bs");
    return bs ? (int)bs->i : 0;
}

static int rows_of(SrGoldenCase *c, const char *name) {
    const SrTensor *t = golden_tensor(c, name);
    return t ? t->shape.d[0] : 0;
}

// ---- scores and labels: target0 holds classes, target1 distributions

static SrStatus run_labels(SrGoldenCase *c, int i) {
    const SrTensor *target = golden_tensor(c, golden_numbered(c, "target", i));
    char step[16];
    GivenLoss g = {.c = c,
                   .batch = rows_of(c, "student"),
                   .n_views = 1,
                   .step = "",
                   .student = {{"embedding", "student", 0, false}},
                   .teacher = {{"embedding", "teacher", 0, false}},
                   .labels = *target};
    snprintf(step, sizeof step, "%d", i);
    SR_TRY(sr_loss_find("distillation_loss", &g.kind));
    SrStatus status = given_loss_open(&g);
    if (status == SR_OK)
        status = given_loss_step(&g, "", 0, 0);
    if (status == SR_OK)
        status = compare_loss(&g, golden_numbered(c, "loss", i));
    if (status == SR_OK)
        status = given_loss_compare_gradients(&g, "grad", step, 2e-5);
    given_loss_close(&g);
    return status;
}

static SrStatus run_distillation(SrGoldenCase *c) {
    for (int i = 0; golden_tensor(c, golden_numbered(c, "target", i)); i++)
        SR_TRY(run_labels(c, i));
    return SR_OK;
}

// ---- crops

// The teacher of msn_distillation cases gives probabilities; their logarithms are scores with the
// same softmax.
static SrStatus to_scores(SrGoldenCase *c) {
    SrTensor *t = (SrTensor *)golden_tensor(c, "teacher");
    int64_t n;
    float *p = golden_floats(c, "teacher", &n);
    if (!t || !p)
        SR_FAIL(SR_ERR_RUN, "%s: no teacher", c->name);
    float *scores = sr_arena_alloc(c->arena, (size_t)n * sizeof *scores);
    for (int64_t i = 0; scores && i < n; i++)
        scores[i] = logf(p[i]);
    if (!scores)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for scores");
    t->data = scores;
    return SR_OK;
}

static SrStatus run_crops(SrGoldenCase *c, const char *loss, const char *output) {
    int batch = batch_of(c);
    GivenLoss g = {.c = c,
                   .batch = batch,
                   .n_views = rows_of(c, "student") / (batch > 0 ? batch : 1),
                   .step = "",
                   .student = {{output, "student", 0, false}},
                   .teacher = {{output, "teacher", 0, false}}};
    SR_TRY(sr_loss_find(loss, &g.kind));
    SrStatus status = given_loss_open(&g);
    if (status == SR_OK)
        status = given_loss_step(&g, "", 0, 0);
    if (status == SR_OK)
        status = compare_loss(&g, "loss");
    if (status == SR_OK)
        status = given_loss_compare_gradients(&g, "grad", "", 2e-5);
    given_loss_close(&g);
    return status;
}

// ---- codes: several steps, and a queue

static SrStatus swav_step(GivenLoss *g, int i) {
    char step[16];
    snprintf(step, sizeof step, "%d", i);
    SR_TRY(given_loss_step(g, step, i, 0));
    SR_TRY(compare_loss(g, golden_numbered(g->c, "loss", i)));
    SR_TRY(given_loss_compare_gradients(g, "grad", step, 2e-5));
    const char *queue = golden_numbered(g->c, "queue", i);
    const SrTensor *t = golden_tensor(g->c, queue);
    if (!t)
        return SR_OK;
    // VISSL's queue starts with random rows that never count: only counted rows are compared.
    const SrParam *p = sr_params_at(g->params, sr_params_find(g->params, "loss.queue"));
    const int64_t *rows =
        sr_params_at(g->params, sr_params_find(g->params, "loss.queue_rows"))->value;
    double counted;
    if (!golden_value(g->c, golden_numbered(g->c, "queue_length", i), &counted))
        SR_FAIL(SR_ERR_RUN, "%s: no queue_length%d", g->c->name, i);
    SR_TRY(golden_number(g->c, "queue_length", (double)*rows, counted, 0));
    int64_t n;
    float *ours = golden_floats(g->c, queue, &n);
    float *whole = sr_arena_alloc(g->c->arena, (size_t)n * sizeof *whole);
    memcpy(whole, ours, (size_t)n * sizeof *whole);
    memcpy(whole, p->value, (size_t)(*rows * t->shape.d[1]) * sizeof *whole);
    return golden_compare(g->c, queue, whole, n, 1e-6);
}

static SrStatus run_swav(SrGoldenCase *c) {
    int batch = batch_of(c);
    const SrYaml *o = sr_yaml_find_path(c->config, "LOSS.swav_distillation_loss"),
                 *own = sr_yaml_find(o, "use_student_prototypes");
    bool scores = !own || own->b;
    GivenLoss g = {.c = c,
                   .batch = batch,
                   .n_views = rows_of(c, "student0") / (batch > 0 ? batch : 1),
                   .step = "0",
                   .student = {{scores ? "scores0" : "embedding", "student", 0, false}},
                   .teacher = {{"scores0", "teacher", 0, false}},
                   .prototypes =
                       golden_tensor(c, "teacher_prototypes") ? "teacher_prototypes" : NULL};
    SR_TRY(sr_loss_find("swav_distillation_loss", &g.kind));
    SrStatus status = given_loss_open(&g);
    for (int i = 0; status == SR_OK && golden_tensor(c, golden_numbered(c, "student", i)); i++)
        status = swav_step(&g, i);
    given_loss_close(&g);
    return status;
}

// ---- class tokens and patches

static GivenLoss tokens_of(SrGoldenCase *c, const char *prefix, int batch, const char *step) {
    int rows = rows_of(c, sr_arena_printf(c->arena, "%sstudent_cls%s", prefix, step)),
        local = rows_of(c, sr_arena_printf(c->arena, "%sstudent_local_cls%s", prefix, step));
    GivenLoss g = {.c = c,
                   .prefix = prefix,
                   .batch = batch,
                   .n_views = batch ? (rows + local) / batch : 0,
                   .n_masks = batch ? rows / batch : 0,
                   .step = step,
                   .student = {{"scores0", "student_cls", 0, false},
                               {"patch_scores", "student_patch", 0, false}},
                   .teacher = {{"scores0", "teacher_cls", 0, false},
                               {"patch_scores", "teacher_patch", 0, false}}};
    if (local > 0)
        g.student[2] = (GivenOutput){.name = "scores0", .tensor = "student_local_cls"};
    return g;
}

static SrStatus run_ibot_distillation(SrGoldenCase *c) {
    GivenLoss g = tokens_of(c, "", batch_of(c), "");
    SR_TRY(sr_loss_find("ibot_distillation_loss", &g.kind));
    SrStatus status = given_loss_open(&g);
    if (status == SR_OK)
        status = given_loss_step(&g, "", 0, 0);
    if (status == SR_OK)
        status = compare_loss(&g, "loss");
    if (status == SR_OK)
        status = given_loss_compare_gradients(&g, "grad", "", 2e-5);
    given_loss_close(&g);
    return status;
}

static SrStatus compare_state(GivenLoss *g, const char *entry, const char *tensor) {
    const SrParam *p = sr_params_at(g->params, sr_params_find(g->params, entry));
    return golden_compare(g->c, tensor, p->value, sr_shape_count(p->shape), 1e-5);
}

// Step i of the case is epoch i.
static SrStatus ibot_step(GivenLoss *g, int i) {
    char step[16];
    snprintf(step, sizeof step, "%d", i);
    SR_TRY(given_loss_step(g, step, i, i));
    SR_TRY(compare_loss(g, golden_numbered(g->c, "loss_value", i)));
    SR_TRY(given_loss_compare_gradients(g, "grad", step, 2e-5));
    SR_TRY(compare_state(g, "loss.center", golden_numbered(g->c, "center", i)));
    return compare_state(g, "loss.center2", golden_numbered(g->c, "center2_", i));
}

static SrStatus run_ibot(SrGoldenCase *c) {
    GivenLoss g = tokens_of(c, "", batch_of(c), "0");
    SR_TRY(sr_loss_find("ibot_loss", &g.kind));
    SrStatus status = given_loss_open(&g);
    for (int i = 0; status == SR_OK && golden_tensor(c, golden_numbered(c, "student_cls", i)); i++)
        status = ibot_step(&g, i);
    given_loss_close(&g);
    return status;
}

// ---- replicas: each has its own loss, and the centres move by the rows of all

// Gathers the teacher's rows of all replicas, one after the other, as a hook sees them if the
// loss treats rows independently.
static SrStatus gather_teacher(GivenLoss *g, const char *step, SrLossValue *values) {
    int world = golden_world(g->c);
    for (int i = 0; i < 2; i++) {
        SrShape shape = sr_graph_at(g->graph, g->teacher[i].node)->shape;
        int64_t n = sr_shape_count(shape), given;
        float *all = sr_arena_alloc(g->c->arena, (size_t)world * (size_t)n * sizeof *all);
        for (int k = 0; all && k < world; k++) {
            const char *name =
                sr_arena_printf(g->c->arena, "r%d.%s%s", k, g->teacher[i].tensor, step);
            const float *own = golden_floats(g->c, name, &given);
            if (!own || given != n)
                SR_FAIL(SR_ERR_RUN, "%s: no %s of that size", g->c->name, name);
            memcpy(all + k * n, own, (size_t)n * sizeof *all);
        }
        shape.d[0] *= world;
        values[i] = (SrLossValue){g->teacher[i].node, {shape, SR_F32, all}};
    }
    return SR_OK;
}

static SrStatus dist_ibot_step(GivenLoss *g, const SrLoss *whole, int i) {
    SrLossValue values[2];
    char step[16], prefix[16];
    snprintf(step, sizeof step, "%d", i);
    for (int k = 0; k < golden_world(g->c); k++) {
        snprintf(prefix, sizeof prefix, "r%d.", k);
        g->prefix = prefix;
        SR_TRY(given_loss_step(g, step, i, i));
        SR_TRY(compare_loss(g, sr_arena_printf(g->c->arena, "r%d.loss_value%d", k, i)));
        SR_TRY(given_loss_compare_gradients(g, "grad", step, 2e-5));
    }
    SR_TRY(gather_teacher(g, step, values));
    g->at.values = values;
    g->at.n_values = 2;
    whole->after_update(g->state, &g->at);
    SR_TRY(compare_state(g, "loss.center", golden_numbered(g->c, "center", i)));
    return compare_state(g, "loss.center2", golden_numbered(g->c, "center2_", i));
}

static SrStatus run_dist_ibot(SrGoldenCase *c) {
    const SrYaml *bs = sr_yaml_find(c->config, "bs_per_replica");
    GivenLoss g = tokens_of(c, "r0.", bs ? (int)bs->i : 0, "0");
    const SrLoss *whole;
    SR_TRY(sr_loss_find("ibot_loss", &whole));
    SrLoss part = *whole; // the loss without the hook that needs all replicas
    part.after_update = NULL;
    g.kind = &part;
    SrStatus status = given_loss_open(&g);
    for (int i = 0; status == SR_OK && golden_tensor(c, golden_numbered(c, "r0.student_cls", i));
         i++)
        status = dist_ibot_step(&g, whole, i);
    given_loss_close(&g);
    return status;
}

static SrStatus run(SrGoldenCase *c) {
    if (strncmp(c->name, "dist_ibot", 9) == 0)
        return run_dist_ibot(c);
    if (strncmp(c->name, "dino_", 5) == 0)
        return run_crops(c, "dino_distillation_loss", "scores0");
    if (strncmp(c->name, "msn_", 4) == 0) {
        SR_TRY(to_scores(c));
        return run_crops(c, "msn_distillation_loss", "scores");
    }
    if (strncmp(c->name, "swav_", 5) == 0)
        return run_swav(c);
    if (strncmp(c->name, "ibot_distillation", 17) == 0)
        return run_ibot_distillation(c);
    return strncmp(c->name, "ibot", 4) == 0 ? run_ibot(c) : run_distillation(c);
}

const SrGolden sr_golden_distillation = {.prefixes = {"distillation_", "dino_distillation",
                                                      "msn_distillation", "ibot_distillation",
                                                      "swav_distillation", "ibot", "dist_ibot"},
                                         .run = run};
