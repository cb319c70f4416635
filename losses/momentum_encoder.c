// A momentum encoder; see the header.
#include "losses/momentum_encoder.h"

#include <stdio.h>

#include "base/parallel.h"
#include "base/text.h"
#include "kernels/copy_state.h"

enum { NAME_BYTES = 512 };

static bool of_student(const char *name) {
    return sr_text_starts(name, "trunk.") || sr_text_starts(name, "heads.");
}

// The same shape, role and first values under the prefix; what is never trained needs no gradient.
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

// The node's input only puts it behind the student's forward.
static void copy_statistics(SrLossContext *ctx, const SrParam *p, int student, int teacher) {
    bool running = sr_text_ends(p->name, ".running_mean") || sr_text_ends(p->name, ".running_var");
    if (!running)
        return;
    SrCopyStateParams copy = {.count = (int)sr_shape_count(p->shape)};
    sr_build_bound(ctx->builder, "copy_state", "copy_state", &copy, &ctx->outputs[0], 1,
                   (int[]){teacher, student}, 2);
}

SrStatus sr_momentum_encoder_build(SrLossContext *ctx, const char *prefix, SrMomentumEncoder *out) {
    SrGraph *graph = sr_builder_graph(ctx->builder);
    SrParams *params = sr_graph_params(graph);
    int count = sr_params_count(params);
    *out = (SrMomentumEncoder){.n = 0};
    out->student = sr_arena_alloc(sr_graph_arena(graph), (size_t)count * sizeof *out->student);
    out->teacher = sr_arena_alloc(sr_graph_arena(graph), (size_t)count * sizeof *out->teacher);
    if (count > 0 && (!out->student || !out->teacher))
        return sr_builder_fail(ctx->builder, SR_ERR_MEMORY,
                               "out of memory for the momentum encoder");
    // `count` was taken before the twins are added behind.
    for (int i = 0; i < count; i++) {
        int teacher;
        if (!of_student(sr_params_at(params, i)->name))
            continue;
        SR_TRY(add_twin(params, prefix, i, &teacher));
        const SrParam *p = sr_params_at(params, i);
        copy_statistics(ctx, p, i, teacher);
        if (p->kind != SR_SLOT_PARAM)
            continue;
        out->student[out->n] = i;
        out->teacher[out->n++] = teacher;
    }
    return sr_builder_status(ctx->builder);
}

typedef struct {
    const SrMomentumEncoder *encoder;
    SrParams *params;
    float keep, take; // momentum and 1 - momentum
} Update;

// One task a parameter: k <- keep * k + take * q, element by element.
static void update_pair(void *arg, int64_t i, int thread) {
    const Update *u = arg;
    const SrParam *student = sr_params_at(u->params, u->encoder->student[i]);
    const float *q = student->value;
    float *k = sr_params_at(u->params, u->encoder->teacher[i])->value;
    (void)thread;
    for (int64_t j = 0, n = sr_shape_count(student->shape); j < n; j++)
        k[j] = u->keep * k[j] + u->take * q[j];
}

void sr_momentum_encoder_update(const SrMomentumEncoder *encoder, SrParams *params,
                                double momentum) {
    Update update = {encoder, params, (float)momentum, (float)(1 - momentum)};
    sr_parallel_for(encoder->n, update_pair, &update);
}

// 0 * k + 1 * q is q, bit for bit, for every finite k.
void sr_momentum_encoder_copy(const SrMomentumEncoder *encoder, SrParams *params) {
    sr_momentum_encoder_update(encoder, params, 0);
}
