// Distillation of a trained masked siamese network (MSN, arXiv:2204.07141; VISSL's
// msn_distillation_loss).  The student's crops learn the teacher's probabilities of the
// prototypes. VISSL's head gives probabilities.  Here msn_head gives scores, and this loss
// applies the softmax to the teacher's.
#include "losses/shared/crop_terms.h"

typedef struct {
    bool swapped;
    int teacher_crops, student_crops;
    double student_temperature;
} MsnDistillation;

#define FIELD(f) offsetof(MsnDistillation, f)
static const SrOption options[] = {
    {"swapped_assignment", SR_OPT_BOOL, FIELD(swapped), "False",
     .help = "A crop learns from the teacher's scores of other crops; False: from its own, and "
             "small crops from those of all crops."},
    {"teacher_num_crops", SR_OPT_INT, FIELD(teacher_crops), "2", 1, SR_MAX_VIEWS,
     .help = "Number of crops, from the first, that the teacher sees."},
    {"teacher_temperature", SR_OPT_IGNORED, 0, "0.07",
     .help = "the teacher's head has the temperature of its probabilities"},
    {"student_num_crops", SR_OPT_INT, FIELD(student_crops), "12", 1, SR_MAX_VIEWS,
     .help = "Crops per image."},
    {"student_temperature", SR_OPT_FLOAT, FIELD(student_temperature), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the student's scores."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const MsnDistillation *p = params;
    SrOutputs teacher;
    SrNodeId scores;
    SrCropTerms terms = {.n_student = p->student_crops,
                         .n_teacher = p->teacher_crops,
                         .pairs = p->swapped ? SR_CROPS_OTHERS : SR_CROPS_SAME,
                         .temperature = p->student_temperature};
    *state = NULL;
    SR_TRY(sr_crop_terms_check(ctx, "student_num_crops", p->student_crops));
    SR_TRY(sr_all_views(ctx, &ctx->outputs, "scores", &terms.student));
    SR_TRY(sr_teacher_model_build(ctx, p->teacher_crops, &teacher));
    SR_TRY(sr_all_views(ctx, &teacher, "scores", &scores));
    terms.targets = sr_teacher_targets(ctx, "teacher", scores, 1, SR_NO_NODE, -1);
    return sr_crop_terms_build(ctx, &terms, loss);
}

static const SrLossExample examples[] = {
    {"{student_num_crops: 3}",
     "[[msn_head, {in_dim: 32, hidden_dim: 16, output_dim: 8, num_prototypes: 12}]]",
     {16, 16, 8},
     .may_rise = true}};

const SrLoss sr_loss_msn_distillation_loss = {
    .name = "msn_distillation_loss",
    .has_teacher = true,
    .help = "distillation: a trained masked siamese network's probabilities of its prototypes",
    .subtree = "LOSS.msn_distillation_loss",
    .options = options,
    .params_bytes = sizeof(MsnDistillation),
    .rows_are_independent = true,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
