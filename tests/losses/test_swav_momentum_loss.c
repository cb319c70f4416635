// Tests swav_momentum_loss and its momentum encoder: a copy at first, then a slow follower
// without gradient. Its running statistics, the switch between training and evaluation mode, and
// the odd size of the queue.
#include "tests/check.h"

#include "base/text/text.h"
#include "tests/trainer/tiny_model.h"

static const int sizes[] = {16, 16, 8};
#define PREFIX "loss.momentum_encoder."
#define CONV "trunk._feature_blocks.layer2.0.conv1.weight"
#define MEAN "trunk._feature_blocks.layer2.0.bn1.running_mean"

static void start(TinyModel *t, const char *options) {
    char loss[256];
    snprintf(loss, sizeof loss, "name: swav_momentum_loss, swav_momentum_loss: {%s}", options);
    CHECK_OK(tiny_model_start(t, TINY_TRUNK ", " TINY_SWAV_HEAD, loss, 4, 3, sizes));
}

static const float *values(TinyModel *t, const char *name) {
    const SrParam *p = tiny_model_param(t, name);
    if (!p)
        fail_msg("no parameter %s", name);
    return p->value;
}

TEST(test_follows) {
    TinyModel t;
    start(&t, "momentum: 0.9");
    double first = (double)values(&t, CONV)[0];
    tiny_model_step(&t, 0.5);
    CHECK_NEAR((double)values(&t, PREFIX CONV)[0], first,
               0); // a copy of the weights that the first forward saw
    double second = (double)values(&t, CONV)[0];
    CHECK(fabs(second - first) > 1e-6);
    tiny_model_step(&t, 0.5);
    CHECK_NEAR((double)values(&t, PREFIX CONV)[0], 0.9 * first + 0.1 * second, 1e-7);
    tiny_model_close(&t);
}

TEST(test_is_not_trained) {
    TinyModel t;
    start(&t, "momentum: 0.9");
    SrParams *params = sr_model_params(t.model);
    int student = 0, teacher = 0;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        if (p->kind != SR_SLOT_PARAM)
            continue;
        bool of_teacher = sr_text_starts(p->name, PREFIX);
        CHECK(p->trainable == !of_teacher && (p->grad != NULL) == !of_teacher);
        teacher += of_teacher;
        student += !of_teacher;
    }
    CHECK_INT(student, teacher);
    tiny_model_close(&t);
}

// Statistics are those that the student's forward of the same step wrote, in evaluation mode and
// in training mode.
TEST(test_statistics) {
    static const char *const rows[] = {"momentum_eval_mode_iter_start: 0",
                                       "momentum_eval_mode_iter_start: 100"};
    TinyModel t;
    start(&t, rows[0]);
    for (int k = 0; k < 2; k++) {
        tiny_model_step(&t, 0.1);
        CHECK(values(&t, MEAN)[0] != 0);
        CHECK(memcmp(values(&t, MEAN), values(&t, PREFIX MEAN), 8 * sizeof(float)) == 0);
    }
    tiny_model_close(&t);
    start(&t, rows[1]); // batch statistics: the teacher's own batch moves the copy on
    tiny_model_step(&t, 0.1);
    CHECK(memcmp(values(&t, MEAN), values(&t, PREFIX MEAN), 8 * sizeof(float)) != 0);
    tiny_model_close(&t);
}

static double embedding_sum(TinyModel *t) {
    SrTensor e =
        sr_plan_output(t->plan, t->graph.outputs[t->graph.n_model_outputs]); // the teacher's
    double sum = 0;
    for (int64_t i = 0; i < sr_shape_count(e.shape); i++)
        sum += (double)((const float *)e.data)[i] * (double)(i + 1);
    return sum;
}

// The mode switches per step inside one plan: before the switch a run equals one that never
// switches, after it one that always did.
TEST(test_mode_switch) {
    TinyModel never, later, always;
    start(&never, "momentum_eval_mode_iter_start: 100");
    start(&later, "momentum_eval_mode_iter_start: 1");
    start(&always, "momentum_eval_mode_iter_start: 0");
    tiny_model_step(&never, 0);
    tiny_model_step(&later, 0);
    tiny_model_step(&always, 0);
    CHECK_NEAR(embedding_sum(&later), embedding_sum(&never), 0);
    CHECK(fabs(embedding_sum(&later) - embedding_sum(&always)) > 1e-3);
    tiny_model_step(&never, 0);
    tiny_model_step(&later, 0);
    tiny_model_step(&always, 0);
    CHECK_NEAR(embedding_sum(&later), embedding_sum(&always), 1e-4);
    CHECK(fabs(embedding_sum(&later) - embedding_sum(&never)) > 1e-3);
    tiny_model_close(&never);
    tiny_model_close(&later);
    tiny_model_close(&always);
}

// VISSL pushes 8 / 3 = 2 rows per crop: 2 assign crops of 4 rows over 3 crops.
TEST(test_queue) {
    TinyModel t;
    float before[2 * 8 * 8];
    start(&t, "queue: {queue_length: 8, start_iter: 0}");
    const float *queue = values(&t, "loss.local_emb_queue"); // (2, 8, 8)
    memcpy(before, queue, sizeof before);
    tiny_model_step(&t, 0.1);
    const float *e =
        sr_plan_output(t.plan, t.graph.outputs[t.graph.n_model_outputs]).data; // (8, 8)
    CHECK(memcmp(queue, e, 2 * 8 * sizeof(float)) == 0);
    CHECK(memcmp(queue + 64, e + 16, 2 * 8 * sizeof(float)) == 0);
    CHECK(memcmp(queue + 16, before, 6 * 8 * sizeof(float)) == 0);
    tiny_model_close(&t);
}

SR_TESTS(swav_momentum_loss, unit(test_follows), unit(test_is_not_trained), unit(test_statistics),
         unit(test_mode_switch), unit(test_queue))
