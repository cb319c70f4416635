// Tests swav_loss beyond the golden cases: names of its state, timing of the queue,
// renormalisation, one prototype, finite losses for any epsilon, refusals.
#include "tests/check.h"
#include "trainer/model/train_graph.h"

#include "tests/trainer/tiny_model.h"

static const int sizes[] = {16, 16, 8};
#define MODEL TINY_TRUNK ", " TINY_SWAV_HEAD

static void start(TinyModel *t, const char *options) {
    char loss[256];
    snprintf(loss, sizeof loss, "name: swav_loss, swav_loss: {%s}", options);
    CHECK_OK(tiny_model_start(t, MODEL, loss, 4, 3, sizes));
}

static double row_length(const SrParam *p, int row) {
    int D = p->shape.d[1];
    double sum = 0;
    for (int j = 0; j < D; j++)
        sum += (double)((const float *)p->value)[row * D + j] *
               (double)((const float *)p->value)[row * D + j];
    return sqrt(sum);
}

TEST(test_prototypes_after_a_step) {
    TinyModel t;
    start(&t, "epsilon: 0.05");
    const SrParam *w = tiny_model_param(&t, "heads.0.prototypes0.weight");
    // Like VISSL, the first forward uses the prototypes as drawn, without normalising them.
    CHECK(fabs(row_length(w, 0) - 1) > 1e-3);
    tiny_model_step(&t, 0.1);
    for (int k = 0; k < 6; k++)
        CHECK_NEAR(row_length(w, k), 1, 1e-6);
    CHECK_INT(*(const int64_t *)tiny_model_param(&t, "loss.num_iteration")->value, 1);
    tiny_model_close(&t);
    start(&t, "normalize_last_layer: false");
    tiny_model_step(&t, 0.1);
    CHECK(fabs(row_length(tiny_model_param(&t, "heads.0.prototypes0.weight"), 0) - 1) > 1e-3);
    tiny_model_close(&t);
}

// The queue is random until start_iter. From then on it takes the embeddings of the assign crops,
// newest rows first.
TEST(test_queue) {
    TinyModel t;
    float before[64], newest[32];
    start(&t, "queue: {queue_length: 8, start_iter: 1}");
    const SrParam *queue = tiny_model_param(&t, "loss.local_emb_queue");
    const SrParam *in_use = tiny_model_param(&t, "loss.use_queue");
    CHECK(queue && in_use && tiny_model_param(&t, "loss.local_queue0.1"));
    CHECK_INT(sr_shape_count(queue->shape), 2 * 8 * 8);
    memcpy(before, queue->value, sizeof before);
    tiny_model_step(&t, 0.05);
    CHECK_INT(*(const int64_t *)in_use->value, 0);
    CHECK(memcmp(before, queue->value, sizeof before) == 0);
    tiny_model_step(&t, 0.05);
    CHECK_INT(*(const int64_t *)in_use->value, 1);
    memcpy(newest, sr_plan_output(t.plan, t.graph.outputs[0]).data,
           sizeof newest); // crop 0: (4, 8)
    CHECK(memcmp(newest, queue->value, sizeof newest) == 0);
    CHECK(memcmp(before, (const float *)queue->value + 32, sizeof newest) ==
          0); // moved down by one batch
    tiny_model_close(&t);
}

// With one prototype every assignment is certain: the loss is 0, and so is ln K.
TEST(test_one_prototype) {
    TinyModel t;
    SrLossFacts facts = {.chance = 0};
    CHECK_OK(tiny_model_start(
        &t, TINY_TRUNK ", HEAD: {PARAMS: [[swav_head, {dims: [32, 8], num_clusters: [1]}]]}",
        "name: swav_loss", 4, 3, sizes));
    CHECK_NEAR(tiny_model_step(&t, 0.1), 0, 1e-6);
    t.graph.loss_kind->facts(t.graph.loss_state, &facts);
    CHECK_NEAR(facts.chance, 0, 1e-12);
    CHECK_INT(facts.classes, 1);
    CHECK_INT(facts.rows, 4);
    tiny_model_close(&t);
}

TEST(test_facts) {
    TinyModel t;
    SrLossFacts facts = {.chance = 0};
    start(&t, "queue: {queue_length: 8}");
    t.graph.loss_kind->facts(t.graph.loss_state, &facts);
    CHECK_NEAR(facts.chance, log(6), 1e-12);
    CHECK_INT(facts.classes, 6);
    CHECK_INT(facts.rows, 12);
    tiny_model_close(&t);
}

TEST(test_stays_finite) {
    static const char *const rows[] = {"epsilon: 0.0001",
                                       "epsilon: 0.0001, sinkhorn: log",
                                       "epsilon: 1000",
                                       "epsilon: 0.001, use_double_precision: true",
                                       "epsilon: 0.001, temperature: 0.001, num_iters: 50",
                                       "num_iters: 0",
                                       "shk_powerlaw: 2, temp_hard_assignment_iters: 1",
                                       "epsilon: 0.0001, queue: {queue_length: 40}"};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        TinyModel t;
        start(&t, rows[i]);
        for (int k = 0; k < 3; k++)
            if (!isfinite(tiny_model_step(&t, 0.05)))
                fail_msg("%s: not finite in step %d", rows[i], k);
        tiny_model_close(&t);
    }
}

// The log form agrees with VISSL's form where VISSL's arithmetic does not overflow.
TEST(test_log_form) {
    TinyModel a, b;
    start(&a, "sinkhorn: vissl");
    start(&b, "sinkhorn: log");
    CHECK_NEAR(tiny_model_step(&a, 0.05), tiny_model_step(&b, 0.05), 1e-5);
    tiny_model_close(&a);
    tiny_model_close(&b);
}

// The head and the loss hold 15 sets of prototypes, no more; chance is the mean over the sets.
TEST(test_most_sets) {
    TinyModel t;
    SrLossFacts facts = {.chance = 0};
    CHECK_OK(tiny_model_start(&t,
                              TINY_TRUNK
                              ", HEAD: {PARAMS: [[swav_head, {dims: [32, 8], num_clusters: "
                              "[6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 9]}]]}",
                              "name: swav_loss", 4, 3, sizes));
    CHECK(isfinite(tiny_model_step(&t, 0.05)));
    t.graph.loss_kind->facts(t.graph.loss_state, &facts);
    CHECK_NEAR(facts.chance, (14 * log(6) + log(9)) / 15, 1e-12);
    CHECK_INT(facts.classes, 9);
    tiny_model_close(&t);
    CHECK_FAILS(tiny_model_open(&t,
                                TINY_TRUNK ", HEAD: {PARAMS: [[swav_head, {dims: [32, 8], "
                                           "num_clusters: [6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, "
                                           "6, 6, 6]}]]}",
                                "name: swav_loss", 4, 3, sizes),
                SR_ERR_CONFIG, "num_clusters has 16 sets, expected at most 15");
    tiny_model_close(&t);
}

static void check_refused(const char *options, const char *text) {
    TinyModel t;
    char loss[256];
    snprintf(loss, sizeof loss, "name: swav_loss, swav_loss: {%s}", options);
    CHECK_FAILS(tiny_model_open(&t, MODEL, loss, 4, 3, sizes), SR_ERR_CONFIG, text);
    tiny_model_close(&t);
}

TEST(test_refused) {
    check_refused("crops_for_assign: [0, 3]", "crops_for_assign holds 3");
    check_refused("crops_for_assign: []", "crops_for_assign is empty");
    check_refused("epsilon: 0", "epsilon");
    check_refused("temperature: -1", "temperature");
    check_refused("num_iter: 3", "num_iters");
    check_refused("sinkhorn: exact", "sinkhorn");
    TinyModel t; // fewer crops than the transforms make
    CHECK_FAILS(tiny_model_open(&t, MODEL, "name: swav_loss", 4, 3, sizes) == SR_OK
                    ? sr_model_build_train(t.model, 4, 2, sizes, sizes, 0, &t.graph)
                    : SR_OK,
                SR_ERR_CONFIG, "num_crops is 3, but DATA.TRAIN.TRANSFORMS make 2 crops");
    tiny_model_close(&t);
}

SR_TESTS(swav_loss, unit(test_prototypes_after_a_step), unit(test_queue), unit(test_one_prototype),
         unit(test_facts), unit(test_stays_finite), unit(test_log_form), unit(test_most_sets),
         unit(test_refused))
