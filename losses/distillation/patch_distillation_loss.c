// Distillation of images and of their patches without labels (the third version of lightly-train's
// `distillation`): a student learns how similar the teacher, DISTILLATION.TEACHER_MODEL, finds an
// image to many others, and how similar it finds the patches of one image to each other.
//
//   L = KL(softmax(t Q' / T_g) || softmax(s Q' / T_g))
//       + w mean over patches i of KL(softmax(t_i t' / T_l) || softmax(s_i s' / T_l))
//
// The first term is feature_distillation_loss, with the linear layer loss.heads.projection_global.
// t_i: patch i of the teacher's last map.  s_i: the student's last map through the linear layer
// loss.heads.projection_local, resized to the teacher's grid.  All have length 1.
//
// lightly-train mixes the images by mixup, which is mixup_collator here.
//
// The local term needs only the teacher's cosines.  They are computed in the graph of the images,
// so that they, or the patches themselves if these are fewer numbers, cross to the loss and lie in
// the file of DISTILLATION.CACHED_VIEWS.
#include "kernels/basic/scale.h"
#include "losses/shared/crop_terms.h"
#include "losses/shared/feature_queue.h"
#include "losses/shared/patch_cosines.h"

typedef struct {
    double temperature_global, temperature_local, local_weight;
    int queue_size;
} PatchDistillation;

#define FIELD(f) offsetof(PatchDistillation, f)
static const SrOption options[] = {
    {"temperature_global", SR_OPT_FLOAT, FIELD(temperature_global), "0.07", 1e-6, 1e6,
     .help = "Temperature that divides the cosines with the queue."},
    {"temperature_local", SR_OPT_FLOAT, FIELD(temperature_local), "0.07", 1e-6, 1e6,
     .help = "Temperature that divides the cosines between patches of an image."},
    {"loss_local_weight", SR_OPT_FLOAT, FIELD(local_weight), "1.0", 0, 1e6,
     .help = "Weight of the patches' term; that of the images is 1."},
    SR_FEATURE_QUEUE_SIZE(FIELD(queue_size)),
    SR_OPTION_END,
};
#undef FIELD

// ---- patches

// Replaces the teacher's outputs by its feature and by its cosines (N, L, L), or by its patches
// (N, L, D) if D < L.
static SrStatus reduce(SrBuilder *b, const char *loss, SrOutputs *outputs) {
    SrNodeId pooled, map;
    SR_TRY(sr_outputs_get(b, outputs, loss, "pooled", &pooled));
    SR_TRY(sr_outputs_get(b, outputs, loss, "map", &map));
    SrShape m = sr_build_shape(b, map);
    bool few = m.d[3] < m.d[1] * m.d[2];
    SrNodeId patches = sr_unit_patches(b, map);
    *outputs = (SrOutputs){.n = 2,
                           .v = {{.name = "pooled", .node = pooled, .n_views = 1},
                                 {.name = few ? "patches" : "cosines",
                                  .node = few ? patches : sr_patch_cosines(b, patches),
                                  .n_views = 1,
                                  .grid_h = m.d[1],
                                  .grid_w = m.d[2]}}};
    return sr_builder_status(b);
}

// ---- the whole

static SrStatus local_term(SrLossContext *ctx, const PatchDistillation *p, const SrOutputs *teacher,
                           int D, SrNodeId *out) {
    SrBuilder *b = ctx->builder;
    const SrOutput *t = &teacher->v[1];
    SrNodeId map, wanted = t->node;
    SR_TRY(sr_loss_output(ctx, "map", &map));
    if (sr_outputs_find(teacher, "patches", 0))
        wanted = sr_patch_cosines(b, wanted);
    map = sr_student_map(ctx, "heads.projection_local", map, SR_SHAPE(1, t->grid_h, t->grid_w, D));
    *out = sr_divergence(ctx, p->temperature_local, wanted,
                         sr_patch_cosines(b, sr_unit_patches(b, map)));
    *out = sr_build(b, "scale", "local", &(SrScaleParams){.factor = p->local_weight}, *out);
    return sr_builder_status(b);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const PatchDistillation *p = params;
    SrBuilder *b = ctx->builder;
    SrFeatureQueue *queue = *state = sr_loss_alloc(ctx, sizeof *queue);
    SrModelRun run = sr_teacher_run(1);
    SrFeatureTerm term = {.projection = "heads.projection_global",
                          .temperature = p->temperature_global,
                          .size = p->queue_size};
    SrOutputs teacher;
    SrNodeId images, patches;
    run.no_heads = run.trunk_outputs = true;
    run.reduce = reduce;
    SR_TRY(sr_builder_status(b));
    SR_TRY(sr_loss_run(ctx, &run, &teacher));
    term.teacher = teacher.v[0].node;
    SR_TRY(sr_loss_output(ctx, "pooled", &term.student));
    SR_TRY(sr_feature_queue_build(ctx, &term, queue, &images));
    SR_TRY(local_term(ctx, p, &teacher, queue->D, &patches));
    *loss = sr_build_n(b, "add", "add", NULL, (SrNodeId[]){images, patches}, 2);
    return sr_builder_status(b);
}

static void after_update(void *queue, const SrLossStep *step) {
    sr_feature_queue_enter(queue, step);
}

static const SrLossExample examples[] = {
    {"{queue_size: 24}", "[[identity, {}]]", {16}, .may_rise = true}, // the queue fills
    {"{queue_size: 24}", "[[identity, {}]]", {16}, .may_rise = true, .trunk = SR_LOSS_EXAMPLE_VIT}};

const SrLoss sr_loss_patch_distillation_loss = {
    .name = "patch_distillation_loss",
    .has_teacher = true,
    .help = "distillation without labels: the teacher's similarities between images, and between "
            "the patches of an image",
    .subtree = "LOSS.patch_distillation_loss",
    .options = options,
    .params_bytes = sizeof(PatchDistillation),
    .student_views = 1,
    .trunk_outputs = true,
    .needs_samples = true,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .after_update = after_update,
};
