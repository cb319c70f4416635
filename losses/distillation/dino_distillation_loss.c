// Distillation of a trained DINO model into a student of another architecture (VISSL's
// dino_distillation_loss).  Every crop learns the teacher's distributions of other crops or of the
// same crop.  The loss is that of losses/dino_loss.c (arXiv:2104.14294, eq. 1), without a centre.
// The teacher, DISTILLATION.TEACHER_MODEL, does not move.
#include "losses/shared/crop_terms.h"

typedef struct {
    bool swapped;
    int teacher_crops, student_crops;
    double teacher_temperature, student_temperature;
} DinoDistillation;

#define FIELD(f) offsetof(DinoDistillation, f)
static const SrOption options[] = {
    {"swapped_assignment", SR_OPT_BOOL, FIELD(swapped), "False",
     .help = "A crop learns from the teacher's scores of other crops; False: from its own, and "
             "small crops from those of all crops."},
    {"teacher_num_crops", SR_OPT_INT, FIELD(teacher_crops), "2", 1, SR_MAX_VIEWS,
     .help = "Number of crops, from the first, that the teacher sees."},
    {"teacher_temperature", SR_OPT_FLOAT, FIELD(teacher_temperature), "0.07", 1e-6, 1e6,
     .help = "Temperature that divides the teacher's scores."},
    {"student_num_crops", SR_OPT_INT, FIELD(student_crops), "10", 1, SR_MAX_VIEWS,
     .help = "Crops per image."},
    {"student_temperature", SR_OPT_FLOAT, FIELD(student_temperature), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the student's scores."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const DinoDistillation *p = params;
    SrOutputs teacher;
    SrNodeId scores;
    SrCropTerms terms = {.n_student = p->student_crops,
                         .n_teacher = p->teacher_crops,
                         .pairs = p->swapped ? SR_CROPS_OTHERS : SR_CROPS_SAME,
                         .temperature = p->student_temperature};
    *state = NULL;
    SR_TRY(sr_crop_terms_check(ctx, "student_num_crops", p->student_crops));
    SR_TRY(sr_all_views(ctx, &ctx->outputs, "scores0", &terms.student));
    SR_TRY(sr_teacher_model_build(ctx, p->teacher_crops, &teacher));
    SR_TRY(sr_all_views(ctx, &teacher, "scores0", &scores));
    terms.targets =
        sr_teacher_targets(ctx, "teacher", scores, p->teacher_temperature, SR_NO_NODE, -1);
    return sr_crop_terms_build(ctx, &terms, loss);
}

#define HEAD "[[dino_head, {in_dim: 32, num_clusters: [12], hidden_dim: 16, bottleneck_dim: 8}]]"
static const SrLossExample examples[] = {
    {"{student_num_crops: 3}", HEAD, {16, 16, 8}, .may_rise = true},
    {"{student_num_crops: 2, teacher_num_crops: 1, swapped_assignment: True}",
     HEAD,
     {16, 16},
     .may_rise = true}};

const SrLoss sr_loss_dino_distillation_loss = {
    .name = "dino_distillation_loss",
    .has_teacher = true,
    .help = "distillation: a student learns the DINO scores of a trained teacher",
    .subtree = "LOSS.dino_distillation_loss",
    .options = options,
    .params_bytes = sizeof(DinoDistillation),
    .rows_are_independent = true,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
