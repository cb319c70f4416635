// Distillation of a trained SwAV model (Caron et al., arXiv:2006.09882; VISSL's
// swav_distillation_loss).  Sinkhorn-Knopp over the teacher's scores gives each of the teacher's
// crops a code, and crops of the student predict the codes.  The teacher,
// DISTILLATION.TEACHER_MODEL, does not move.
//
// One queue holds the teacher's scores of all its crops.  It starts empty, and only rows that were
// pushed count.  Rows are pushed from step queue_start_iter on.
#include <math.h>
#include <string.h>

#include "kernels/assign/sinkhorn.h"
#include "kernels/basic/linear.h"
#include "kernels/basic/slice.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/shared/crop_terms.h"
#include "losses/shared/prototypes.h"

typedef struct {
    SrSinkhornParams sinkhorn; // queue_length comes from the state
    double temperature;
    bool swapped, two_crops, normalize, student_prototypes, teacher_prototypes;
    int num_crops, queue_length, queue_start;
    SrInts num_prototypes;
} SwavDistillation;

#define FIELD(f) offsetof(SwavDistillation, f)
static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the student's scores."},
    {"use_double_precision", SR_OPT_BOOL, FIELD(sinkhorn.double_precision), "False",
     .help = "Sinkhorn-Knopp in double precision."},
    {"num_iters", SR_OPT_INT, FIELD(sinkhorn.num_iters), "3", 0, 10000,
     .help = "Iterations of Sinkhorn-Knopp; 0: codes are the softmax of scores / epsilon."},
    {"epsilon", SR_OPT_FLOAT, FIELD(sinkhorn.epsilon), "0.03", 1e-9, 1e9,
     .help = "Entropy regularisation of the codes: the smaller, the sharper."},
    {"num_crops", SR_OPT_INT, FIELD(num_crops), "6", 1, SR_MAX_VIEWS, .help = "Crops per image."},
    {"num_prototypes", SR_OPT_INTS, FIELD(num_prototypes), "[3000]", 1, 1 << 24,
     .help = "Number of prototypes, as a list of one number."},
    {"temp_hard_assignment_iters", SR_OPT_INT, FIELD(sinkhorn.hard_iters), "0", 0, 1 << 30,
     .help = "Number of first steps in which each code is a single prototype."},
    {"local_queue_length", SR_OPT_INT, FIELD(queue_length), "0", 0, 1 << 30,
     .help = "Rows in the queue of each replica; 0: no queue."},
    {"queue_start_iter", SR_OPT_INT, FIELD(queue_start), "0", 0, 1 << 30,
     .help = "First step that uses the queue."},
    {"normalize_student_feats", SR_OPT_BOOL, FIELD(normalize), "False",
     .help = "Divide the student's output by its length first."},
    {"use_student_prototypes", SR_OPT_BOOL, FIELD(student_prototypes), "True",
     .help = "Compare scores of the student's own prototypes; False: its first output."},
    {"use_teacher_prototypes", SR_OPT_BOOL, FIELD(teacher_prototypes), "False",
     .help = "Compare the student's output with the teacher's prototypes."},
    {"use_two_crops_for_teacher", SR_OPT_BOOL, FIELD(two_crops), "True",
     .help = "The teacher sees the first two crops; False: only the first."},
    {"swapped_assignment", SR_OPT_BOOL, FIELD(swapped), "False",
     .help = "A crop predicts the codes of other crops; False: its own, and small crops predict "
             "those of all."},
    {"output_dir", SR_OPT_IGNORED, 0, ".", .help = "a loss that is not finite ends the run"},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SwavDistillation p;
    SrNodeId scores; // the teacher's, (T * batch, K), T crops of the teacher
    // Table indices: num_iteration, I64 (1), the steps done; queue (length, K), newest rows first;
    // rows, I64 (1), the rows of the queue that were pushed.  K: prototypes.
    int num_iteration, queue, rows, K;
    int replicas, batch, length; // batch, length: images, rows of the queue, over all replicas
} State;

static SrStatus check(SrLossContext *ctx, const State *state, SrNodeId student) {
    const SwavDistillation *p = &state->p;
    int K = sr_shape_last(sr_build_shape(ctx->builder, student));
    SR_TRY(sr_crop_terms_check(ctx, "num_crops", p->num_crops));
    if (p->num_prototypes.n != 1 || p->num_prototypes.v[0] != state->K)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.num_prototypes: expected one set of %d, as the teacher has",
                               ctx->name, state->K);
    if (K == state->K)
        return SR_OK;
    return sr_builder_fail(
        ctx->builder, SR_ERR_CONFIG,
        "%s: the student gives %d scores, but the teacher %d; set use_student_prototypes or "
        "use_teacher_prototypes, or change the student's head",
        ctx->name, K, state->K);
}

// Builds the student's scores, which must be as many as the teacher's.
static SrStatus student_scores(SrLossContext *ctx, const State *state, SrNodeId *x) {
    const SwavDistillation *p = &state->p;
    SrBuilder *b = ctx->builder;
    SrPrototypes prototypes;
    SR_TRY(sr_all_views(ctx, &ctx->outputs, p->student_prototypes ? "scores0" : "embedding", x));
    if (p->normalize)
        *x = sr_build(b, "l2_normalize", "normalized", &(SrL2NormalizeParams){0}, *x);
    if (!p->teacher_prototypes)
        return sr_builder_status(b);
    SR_TRY(sr_prototypes_find(sr_graph_params(sr_builder_graph(b)), SR_TEACHER_PREFIX, 0,
                              &prototypes));
    if (prototypes.norm >= 0 || prototypes.D != sr_shape_last(sr_build_shape(b, *x)))
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "LOSS.%s.use_teacher_prototypes: the teacher has %d prototypes of size %d%s, but the "
            "student's output has size %d",
            ctx->name, prototypes.P, prototypes.D,
            prototypes.norm >= 0 ? " with weight norm, which is not implemented here" : "",
            sr_shape_last(sr_build_shape(b, *x)));
    SrLinearParams linear = {.out_features = prototypes.P};
    *x = sr_build_bound(b, "linear", "teacher_prototypes", &linear, x, 1, &prototypes.weight, 1);
    return sr_builder_status(b);
}

static void build_state(SrLossContext *ctx, State *state) {
    SrBuilder *b = ctx->builder;
    SrInit zero = {SR_INIT_CONSTANT, 0};
    state->num_iteration = sr_build_state(b, "num_iteration", SR_SHAPE(1), SR_I64, zero);
    if (state->length == 0)
        return;
    state->queue = sr_build_state(b, "queue", SR_SHAPE(state->length, state->K), SR_F32, zero);
    state->rows = sr_build_state(b, "queue_rows", SR_SHAPE(1), SR_I64, zero);
}

// Builds the codes (batch, K) of one crop of the teacher.
static SrNodeId codes(SrLossContext *ctx, const State *state, int crop) {
    const SwavDistillation *p = &state->p;
    SrSliceParams rows = {.begin = crop * ctx->batch, .count = ctx->batch};
    SrNodeId x = sr_build(ctx->builder, "slice", "teacher_rows", &rows, state->scores);
    SrSinkhornParams op = p->sinkhorn;
    op.queue_length = state->length;
    op.counted = true;
    int w[3], n = 0;
    if (op.hard_iters > 0)
        w[n++] = state->num_iteration;
    if (op.queue_length > 0) {
        w[n++] = state->queue;
        w[n++] = state->rows;
    }
    return sr_build_bound(ctx->builder, "sinkhorn", "codes", &op, &x, 1, w, n);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    SrBuilder *b = ctx->builder;
    State *state = *out = sr_loss_alloc(ctx, sizeof *state);
    SrOutputs teacher;
    SR_TRY(sr_builder_status(b));
    state->p = *(const SwavDistillation *)params;
    const SwavDistillation *p = &state->p;
    int T = p->two_crops ? 2 : 1;
    SrCropTerms terms = {.n_student = p->num_crops,
                         .n_teacher = T,
                         .pairs = p->swapped ? SR_CROPS_OTHERS : SR_CROPS_SAME,
                         .temperature = p->temperature};
    SR_TRY(sr_teacher_model_build(ctx, T, &teacher));
    SR_TRY(sr_all_views(ctx, &teacher, "scores0", &state->scores));
    SR_TRY(sr_loss_keep(ctx, state->scores));
    state->K = sr_shape_last(sr_build_shape(b, state->scores));
    state->replicas = ctx->replicas;
    state->batch = ctx->batch;
    state->length = p->queue_length * ctx->replicas;
    SR_TRY(student_scores(ctx, state, &terms.student));
    SR_TRY(check(ctx, state, terms.student));
    build_state(ctx, state);
    SrNodeId code[2] = {codes(ctx, state, 0), T > 1 ? codes(ctx, state, 1) : SR_NO_NODE};
    terms.targets = T > 1 ? sr_build_n(b, "concat", "codes", NULL, code, 2) : code[0];
    return sr_crop_terms_build(ctx, &terms, loss);
}

// Puts the teacher's rows of all crops at the front of the queue; the oldest rows drop out.
static void push(const State *state, const SrLossStep *step) {
    SrTensor t = sr_loss_value(step, state->scores); // (T * batch, K)
    float *queue = sr_params_at(step->params, state->queue)->value;
    int64_t *rows = sr_params_at(step->params, state->rows)->value;
    int taken = SR_MIN(t.shape.d[0], state->length);
    size_t row = (size_t)state->K * sizeof *queue;
    memmove(queue + (int64_t)taken * state->K, queue, (size_t)(state->length - taken) * row);
    memcpy(queue, t.data, (size_t)taken * row);
    *rows = SR_MIN(*rows + taken, state->length);
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *state = instance;
    int64_t *done = sr_params_at(step->params, state->num_iteration)->value;
    if (state->length > 0 && *done >= state->p.queue_start)
        push(state, step);
    *done += 1;
}

static void facts(const void *instance, SrLossFacts *out) {
    const State *state = instance;
    out->chance = log(state->K);
    out->classes = state->K;
    out->rows = state->batch + state->length;
}

#define HEAD "[[swav_head, {dims: [32, 16, 6], use_bn: true, num_clusters: [6]}]]"
static const SrLossExample examples[] = {
    {"{num_crops: 3, num_prototypes: [6]}", HEAD, {16, 16, 8}, .may_rise = true},
    {"{num_crops: 2, num_prototypes: [6], local_queue_length: 16, queue_start_iter: 1, "
     "use_student_prototypes: False, use_teacher_prototypes: True, normalize_student_feats: True, "
     "swapped_assignment: True, use_two_crops_for_teacher: False}",
     HEAD,
     {16, 16},
     .may_rise = true}};

const SrLoss sr_loss_swav_distillation_loss = {
    .name = "swav_distillation_loss",
    .has_teacher = true,
    .help = "distillation: a student learns the SwAV codes of a trained teacher",
    .subtree = "LOSS.swav_distillation_loss",
    .options = options,
    .params_bytes = sizeof(SwavDistillation),
    .whole_batches = "the queue moves by a whole batch in every step",
    .whole_batches_with = "local_queue_length",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .after_update = after_update,
    .facts = facts,
};
