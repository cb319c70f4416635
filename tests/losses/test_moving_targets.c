// Tests losses that may rise at first because their target moves or a step is too long. No other
// loss may.
#include "tests/check.h"

#include <stdlib.h>

#include "base/text/text.h"
#include "tests/trainer/tiny_model.h"

static const int sizes[] = {16, 16};
#define DINO_HEAD                                                                                \
    TINY_TRUNK ", HEAD: {PARAMS: [[dino_head, {in_dim: 32, num_clusters: [12], hidden_dim: 16, " \
               "bottleneck_dim: 8}]]}"
#define VICREG_HEAD \
    TINY_TRUNK ", HEAD: {PARAMS: [[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]}"

typedef struct {
    double first, last;
} Run;

static Run run(const char *model, const char *loss, double lr, int steps) {
    TinyModel t;
    CHECK_OK(tiny_model_start(&t, model, loss, 8, 2, sizes));
    Run r = {.first = tiny_model_step(&t, lr)};
    for (int k = 1; k < steps; k++)
        r.last = tiny_model_step(&t, lr);
    tiny_model_close(&t);
    return r;
}

// At rate 0 nothing is learned: with a fixed centre the loss stays constant. A moving centre
// removes from the targets what all images share, while the student, which is not centred, still
// predicts it: the loss rises towards ln K and above.
TEST(test_dino_centre) {
    Run still = run(DINO_HEAD,
                    "name: dino_loss, dino_loss: {num_crops: 2, ema_center: 1, "
                    "teacher_temp_warmup_iters: 0}",
                    0, 30),
        moves = run(DINO_HEAD,
                    "name: dino_loss, dino_loss: {num_crops: 2, "
                    "teacher_temp_warmup_iters: 0}",
                    0, 30);
    CHECK_NEAR(still.last, still.first, 1e-4); // the teacher is rounded
    CHECK_NEAR(moves.first, still.first, 1e-6);
    CHECK(moves.last > 1.05 * moves.first);
}

static double reported(TinyModel *t, const char *key) {
    SrLossStep view = sr_step_view(&t->step, t->iteration, 0);
    SrText text = SR_TEXT_INIT;
    t->graph.loss_kind->report(t->graph.loss_state, &view, &text);
    const char *at = text.s ? strstr(text.s, key) : NULL;
    if (!at)
        fail_msg("%s is not reported: %s", key, text.s ? text.s : "");
    double value = strtod(strchr(at, ':') + 1, NULL);
    sr_text_deinit(&text);
    return value;
}

// Sets the teacher's scores by hand: first all equal, then one far above the others in each row.
TEST(test_dino_teacher_entropy) {
    TinyModel t;
    CHECK_OK(
        tiny_model_start(&t, DINO_HEAD, "name: dino_loss, dino_loss: {num_crops: 2}", 8, 2, sizes));
    tiny_model_step(&t, 0);
    SrLossStep view = sr_step_view(&t.step, t.iteration, 0);
    SrTensor scores = sr_loss_value(&view, t.graph.outputs[t.graph.n_model_outputs]);
    float *center = tiny_model_param(&t, "loss.center")->value;
    for (int64_t k = 0; k < sr_shape_count(scores.shape); k++)
        ((float *)scores.data)[k] = 1;
    for (int k = 0; k < 12; k++)
        center[k] = 0;
    CHECK_NEAR(reported(&t, "teacher_entropy"), 1, 1e-6);
    for (int64_t k = 0; k < sr_shape_count(scores.shape); k++)
        ((float *)scores.data)[k] = k % 12 == 3 ? 10 : 0;
    CHECK_NEAR(reported(&t, "teacher_entropy"), 0, 1e-6);
    tiny_model_close(&t);
}

// The temperature is numpy.linspace(min, max, 3), then max.
TEST(test_dino_temperature) {
    static const double wanted[] = {0.04, 0.055, 0.07, 0.07};
    TinyModel t;
    CHECK_OK(tiny_model_start(&t, DINO_HEAD,
                              "name: dino_loss, dino_loss: {num_crops: 2, teacher_temp_min: 0.04, "
                              "teacher_temp_max: 0.07, teacher_temp_warmup_iters: 3}",
                              8, 2, sizes));
    for (int i = 0; i < SR_COUNT(wanted); i++) {
        CHECK_NEAR(reported(&t, "teacher_temp"), wanted[i], 1e-6);
        tiny_model_step(&t, 0);
    }
    tiny_model_close(&t);
}

// The centre moves to the mean of each column of the teacher's scores.
TEST(test_dino_centre_is_of_columns) {
    TinyModel t;
    CHECK_OK(tiny_model_start(&t, DINO_HEAD,
                              "name: dino_loss, dino_loss: {num_crops: 2, ema_center: 0.25}", 8, 2,
                              sizes));
    tiny_model_step(&t, 0);
    SrLossStep view = sr_step_view(&t.step, t.iteration, 0);
    SrTensor scores = sr_loss_value(&view, t.graph.outputs[t.graph.n_model_outputs]);
    int64_t rows = sr_shape_rows(scores.shape);
    const float *center = tiny_model_param(&t, "loss.center")->value, *x = scores.data;
    double spread = 0;
    for (int k = 0; k < 12; k++) {
        double mean = 0;
        for (int64_t r = 0; r < rows; r++)
            mean += (double)x[r * 12 + k] / (double)rows;
        CHECK_NEAR((double)center[k], 0.75 * mean, 1e-6);
        spread = fmax(spread, fabs((double)center[k] - (double)center[0]));
    }
    CHECK(spread > 1e-4); // the columns differ
    tiny_model_close(&t);
}

// A step writes the embeddings of each crop in crops_for_mb to the memory bank, image by image.
TEST(test_deepcluster_memory) {
    TinyModel t;
    CHECK_OK(tiny_model_start(&t, TINY_TRUNK ", HEAD: {PARAMS: [[mlp, {dims: [32, 8]}]]}",
                              "name: deepclusterv2_loss, deepclusterv2_loss: {num_clusters: [4], "
                              "num_crops: 2, memory_params: {embedding_dim: 8, crops_for_mb: [1, "
                              "0]}}",
                              8, 2, sizes));
    tiny_model_step(&t, 0);
    SrLossStep view = sr_step_view(&t.step, t.iteration, 0);
    const float *z = sr_loss_value(&view, sr_graph_find(t.graph.graph, "loss.normalize")).data;
    const float *memory = tiny_model_param(&t, "loss.memory")->value; // (2, TINY_SAMPLES, 8)
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < 8 * 8; i++)
            CHECK_NEAR((double)memory[c * TINY_SAMPLES * 8 + i], (double)z[(1 - c) * 64 + i], 0);
    tiny_model_close(&t);
}

// The gradient of 25 (variance + invariance) is steep: with steps of 0.05 the loss rises, with
// shorter ones it falls.
TEST(test_vicreg_steps) {
    Run r = run(VICREG_HEAD, "name: vicreg_loss", 0.0005, 13);
    CHECK(r.last < r.first);
}

// The terms that a log shows add up to the loss: their memory is not used again within the step.
TEST(test_reported_terms) {
    const SrLoss *loss;
    TinyModel t;
    CHECK_OK(sr_loss_find("ibot_loss", &loss));
    CHECK_OK(tiny_model_start_example(&t, loss, &loss->examples[0], "{lambda1: 2, lambda2: 3}", 1));
    double whole = tiny_model_step(&t, 0.01);
    t.iteration--; // the step that was made
    double terms = 2 * reported(&t, "cls") + 3 * reported(&t, "patch");
    CHECK(reported(&t, "cls") > 0 && reported(&t, "patch") > 0);
    CHECK_NEAR(terms, whole, 1e-5 * whole);
    tiny_model_close(&t);
}

SR_TESTS(moving_targets, unit(test_reported_terms), unit(test_dino_centre),
         unit(test_dino_teacher_entropy), unit(test_dino_temperature),
         unit(test_dino_centre_is_of_columns), unit(test_deepcluster_memory),
         unit(test_vicreg_steps))
