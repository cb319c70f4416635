// Momentum encoder: twin entries, the forward of the teacher, copies and updates.
#include "losses/shared/momentum_encoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "base/text/text.h"

enum { NAME_BYTES = 512 };

// Adds an entry of the same shape, role and initial values under the prefix.  The twin is not
// trainable, so it has no gradient.
static SrStatus add_twin(SrParams *params, const char *prefix, int student, int *teacher) {
    char name[NAME_BYTES];
    SrParam p = *sr_params_at(params, student);
    snprintf(name, sizeof name, "%s%s", prefix, p.name);
    SrSlot slot = {.name = p.name,
                   .shape = p.shape,
                   .dtype = p.dtype,
                   .kind = p.kind,
                   .role = p.role,
                   .init = p.init};
    SR_TRY(sr_params_add(params, name, &slot, teacher));
    sr_params_at(params, *teacher)->trainable = false;
    return SR_OK;
}

// Tells whether the run uses an entry of the student: the trunk, or a head of the run.
static bool is_run(const SrModelRun *run, const char *name) {
    if (sr_text_starts(name, "trunk."))
        return true;
    if (!sr_text_starts(name, "heads.") || run->no_heads)
        return false;
    for (int i = 0; run->heads && i < run->n_heads; i++) {
        char head[32];
        snprintf(head, sizeof head, "heads.%d.", run->heads[i]);
        if (sr_text_starts(name, head))
            return true;
    }
    return !run->heads;
}

static bool is_running(const char *name) {
    return sr_text_ends(name, ".running_mean") || sr_text_ends(name, ".running_var");
}

static SrStatus add_twins(SrLossContext *ctx, const SrModelRun *run, SrMomentumEncoder *out) {
    SrParams *params = sr_graph_params(sr_builder_graph(ctx->builder));
    // The loop ends at the entries that were there first, because it adds the twins at the end.
    for (int i = 0, count = sr_params_count(params); i < count; i++) {
        int teacher;
        if (!is_run(run, sr_params_at(params, i)->name))
            continue;
        SR_TRY(add_twin(params, run->prefix, i, &teacher));
        const SrParam *p = sr_params_at(params, i);
        if (run->statistics == SR_STATISTICS_STUDENT && is_running(p->name))
            SR_TRY(ctx->services->copy_statistics(ctx, teacher, i));
        if (p->kind != SR_SLOT_PARAM && !is_running(p->name))
            continue;
        out->running[out->n] = p->kind != SR_SLOT_PARAM;
        out->student[out->n] = i;
        out->teacher[out->n++] = teacher;
    }
    return sr_builder_status(ctx->builder);
}

SrStatus sr_momentum_encoder_build(SrLossContext *ctx, const SrModelRun *run,
                                   SrMomentumEncoder *out, SrOutputs *outputs) {
    size_t count = (size_t)sr_params_count(sr_graph_params(sr_builder_graph(ctx->builder))) + 1;
    *out = (SrMomentumEncoder){.student = sr_loss_alloc(ctx, count * sizeof *out->student),
                               .teacher = sr_loss_alloc(ctx, count * sizeof *out->teacher),
                               .running = sr_loss_alloc(ctx, count * sizeof *out->running)};
    SR_TRY(sr_builder_status(ctx->builder));
    SR_TRY(add_twins(ctx, run, out));
    return sr_loss_run(ctx, run, outputs);
}

typedef struct {
    const SrMomentumEncoder *encoder;
    SrParams *params;
    float keep, take; // momentum and 1 - momentum
} Update;

// Moves pair i, one task: k <- keep * k + take * q, element by element.
static void update_pair(void *arg, int64_t i, int thread) {
    const Update *u = arg;
    const SrParam *student = sr_params_at(u->params, u->encoder->student[i]);
    const float *q = student->value;
    float *k = sr_params_at(u->params, u->encoder->teacher[i])->value;
    (void)thread;
    if (u->encoder->running[i])
        return;
    for (int64_t j = 0, n = sr_shape_count(student->shape); j < n; j++)
        k[j] = u->keep * k[j] + u->take * q[j];
}

void sr_momentum_encoder_update(const SrMomentumEncoder *encoder, SrParams *params,
                                double momentum) {
    Update update = {encoder, params, (float)momentum, (float)(1 - momentum)};
    sr_parallel_for(encoder->n, update_pair, &update);
}

static void copy(const SrMomentumEncoder *encoder, SrParams *params, bool statistics) {
    for (int i = 0; i < encoder->n; i++) {
        const SrParam *student = sr_params_at(params, encoder->student[i]);
        if (statistics || !encoder->running[i])
            memcpy(sr_params_at(params, encoder->teacher[i])->value, student->value,
                   (size_t)sr_shape_count(student->shape) * sizeof(float));
    }
}

void sr_momentum_encoder_start(void *state, const SrLossStep *step, bool resumed) {
    if (!resumed)
        copy(state, step->params, true);
}

void sr_momentum_encoder_copy_parameters(const SrMomentumEncoder *encoder, SrParams *params) {
    copy(encoder, params, false);
}

double sr_momentum_cosine(double first, const SrLossStep *step) {
    double done = (double)step->iteration / (double)SR_MAX(step->max_iterations, 1);
    return 1 - 0.5 * (1 - first) * (cos(M_PI * done) + 1);
}

SrStatus sr_cosine_teacher_build(SrLossContext *ctx, SrInts crops, double momentum,
                                 SrCosineTeacher *out, SrNodeId *embedding) {
    SrModelRun run = {.prefix = "loss.momentum_encoder.",
                      .views = crops.n > 0 ? crops.v : NULL,
                      .n_views = crops.n,
                      .statistics = SR_STATISTICS_OWN};
    SrOutputs outputs;
    out->momentum = momentum;
    SR_TRY(sr_momentum_encoder_build(ctx, &run, &out->encoder, &outputs));
    return sr_outputs_get(ctx->builder, &outputs, ctx->name, "embedding", embedding);
}

void sr_cosine_teacher_after_update(void *state, const SrLossStep *step) {
    const SrCosineTeacher *teacher = state;
    sr_momentum_encoder_update(&teacher->encoder, step->params,
                               sr_momentum_cosine(teacher->momentum, step));
}
