// Distillation of a trained iBOT model (arXiv:2111.07832; VISSL's ibot_distillation_loss).  The
// student's crops learn the teacher's scores of the class token.  The student's hidden patches
// learn the teacher's scores of these patches.  The loss is that of losses/ibot_loss.c without
// centres, and the teacher, DISTILLATION.TEACHER_MODEL, does not move.
#include "kernels/basic/scale.h"
#include "losses/shared/crop_terms.h"

typedef struct {
    bool swapped;
    int num_global_crops, student_num_crops;
    double student_temp, teacher_temp, teacher_patch_temp, lambda1, lambda2;
} IbotDistillation;

#define FIELD(f) offsetof(IbotDistillation, f)
static const SrOption options[] = {
    {"swapped_assignment", SR_OPT_BOOL, FIELD(swapped), "False",
     .help = "A global crop learns from the teacher's scores of other crops; False: from its own."},
    {"use_teacher_prototypes", SR_OPT_IGNORED, 0, "False", .choices = SR_REFUSED,
     .help = "the student always learns with the scores of its own head; every recipe of VISSL has "
             "False"},
    {"num_global_crops", SR_OPT_INT, FIELD(num_global_crops), "2", 1, SR_MAX_VIEWS,
     .help = "Number of large crops, which the teacher sees."},
    {"student_num_crops", SR_OPT_INT, FIELD(student_num_crops), "12", 1, SR_MAX_VIEWS,
     .help = "Crops per image."},
    {"student_temp", SR_OPT_FLOAT, FIELD(student_temp), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the student's scores."},
    {"teacher_temp", SR_OPT_FLOAT, FIELD(teacher_temp), "0.07", 1e-6, 1e6,
     .help = "Temperature that divides the teacher's scores of the class token."},
    {"teacher_patch_temp", SR_OPT_FLOAT, FIELD(teacher_patch_temp), "0.07", 1e-6, 1e6,
     .help = "Temperature that divides the teacher's scores of patches."},
    {"lambda1", SR_OPT_FLOAT, FIELD(lambda1), "1", 0, 1e6,
     .help = "Weight of the class token's term."},
    {"lambda2", SR_OPT_FLOAT, FIELD(lambda2), "1", 0, 1e6, .help = "Weight of the patches' term."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const IbotDistillation *p = params;
    SrBuilder *b = ctx->builder;
    int G = p->num_global_crops;
    SrOutputs teacher;
    SrNodeId scores, patches, teacher_patches, mask, cls;
    SrCropTerms terms = {.n_student = p->student_num_crops,
                         .n_teacher = G,
                         .pairs = p->swapped ? SR_CROPS_OTHERS : SR_CROPS_SAME,
                         .temperature = p->student_temp};
    *state = NULL;
    SR_TRY(sr_crop_terms_check(ctx, "student_num_crops", p->student_num_crops));
    SR_TRY(sr_all_views(ctx, &ctx->outputs, "scores0", &terms.student));
    SR_TRY(sr_outputs_get(b, &ctx->outputs, ctx->name, "patch_scores", &patches));
    SR_TRY(sr_teacher_model_build(ctx, G, &teacher));
    SR_TRY(sr_all_views(ctx, &teacher, "scores0", &scores));
    SR_TRY(sr_outputs_get(b, &teacher, ctx->name, "patch_scores", &teacher_patches));
    SrShape own = sr_build_shape(b, patches), wanted = sr_build_shape(b, teacher_patches);
    if (own.d[1] != wanted.d[1])
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s compares patch with patch, but the student has %d patches per "
                               "image and the teacher %d; choose DISTILLATION.TEACHER_INPUT_SIZE "
                               "so that both have the same grid",
                               ctx->name, own.d[1], wanted.d[1]);
    SR_TRY(sr_view_masks(ctx, G, &mask));
    terms.targets = sr_teacher_targets(ctx, "teacher", scores, p->teacher_temp, SR_NO_NODE, -1);
    SR_TRY(sr_crop_terms_build(ctx, &terms, &cls));
    SrNodeId targets = sr_teacher_targets(ctx, "teacher_patch", teacher_patches,
                                          p->teacher_patch_temp, SR_NO_NODE, -1);
    SrNodeId patch = sr_patch_term(ctx, patches, targets, mask, p->student_temp);
    *loss = sr_build_n(
        b, "add", "add", NULL,
        (SrNodeId[]){sr_build(b, "scale", "cls", &(SrScaleParams){.factor = p->lambda1}, cls),
                     sr_build(b, "scale", "patch", &(SrScaleParams){.factor = p->lambda2}, patch)},
        2);
    return sr_builder_status(b);
}

static const SrLossExample examples[] = {{"{student_num_crops: 3}",
                                          "[[ibot_head, {in_dim: 16, out_dim: 12, patch_out_dim: "
                                          "10, hidden_dim: 16, bottleneck_dim: 8}]]",
                                          {16, 16, 8},
                                          .may_rise = true,
                                          .trunk = SR_LOSS_EXAMPLE_VIT,
                                          .patch = 4,
                                          .more = SR_LOSS_EXAMPLE_GLOBAL_AND_LOCAL}};

const SrLoss sr_loss_ibot_distillation_loss = {
    .name = "ibot_distillation_loss",
    .has_teacher = true,
    .help = "distillation: a trained iBOT model's scores of class tokens and hidden patches",
    .subtree = "LOSS.ibot_distillation_loss",
    .options = options,
    .params_bytes = sizeof(IbotDistillation),
    .rows_are_independent = true,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
