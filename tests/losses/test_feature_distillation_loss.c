// Tests the queue of feature_distillation_loss: the teacher's features enter it in the order of
// the images, over the oldest, and its size follows the number of images.
#include <math.h>
#include <string.h>

#include "tests/check.h"
#include "tests/trainer/tiny_model.h"

enum { BATCH = 8, SIZE = 20 };

static void start(TinyModel *t, const char *options, int replicas) {
    const SrLoss *loss;
    CHECK_OK(sr_loss_find("feature_distillation_loss", &loss));
    CHECK_OK(tiny_model_start_example(t, loss, &loss->examples[0], options, replicas));
}

static double length(const float *row, int D) {
    double sum = 0;
    for (int d = 0; d < D; d++)
        sum += (double)row[d] * (double)row[d];
    return sqrt(sum);
}

TEST(test_queue_turns) {
    TinyModel t;
    start(&t, "{queue_size: 20}", 1);
    const SrParam *queue = tiny_model_param(&t, "loss.queue");
    const int64_t *pointer = tiny_model_param(&t, "loss.queue_ptr")->value;
    const float *rows = queue->value; // (SIZE, D)
    int D = queue->shape.d[1];
    CHECK_INT(queue->shape.d[0], SIZE);
    CHECK(length(rows, D) == 0);
    for (int step = 1; step <= 3; step++) {
        tiny_model_step(&t, 0);
        CHECK_INT(*pointer, step * BATCH % SIZE);
        for (int i = 0; i < SIZE; i++)
            CHECK(fabs(length(rows + i * D, D) - (i < step * BATCH)) < 1e-5);
    }
    for (int i = 0; i < 4; i++) // rows 16 to 19 hold images 0 to 3 of the third step
        CHECK(memcmp(rows + (16 + i) * D, rows + (8 + i) * D, (size_t)D * sizeof *rows) == 0);
    for (int i = 0; i < 4; i++) // rows 0 to 3 hold images 4 to 7 of the third step
        CHECK(memcmp(rows + i * D, rows + (12 + i) * D, (size_t)D * sizeof *rows) == 0);
    tiny_model_close(&t);
}

// A step of more images than the queue has rows fills it with the first of them.
TEST(test_small_queue) {
    TinyModel t;
    start(&t, "{queue_size: 5}", 1);
    tiny_model_step(&t, 0);
    tiny_model_step(&t, 0);
    CHECK_INT(*(const int64_t *)tiny_model_param(&t, "loss.queue_ptr")->value, 0);
    CHECK(isfinite(tiny_model_step(&t, 0.01)));
    tiny_model_close(&t);
}

// TINY_SAMPLES is 64.
TEST(test_size) {
    TinyModel t;
    const SrLoss *loss;
    start(&t, "{}", 1);
    CHECK_INT(tiny_model_param(&t, "loss.queue")->shape.d[0], 32);
    tiny_model_close(&t);
    CHECK_OK(sr_loss_find("feature_distillation_loss", &loss));
    CHECK_FAILS(tiny_model_start_example(&t, loss, &loss->examples[0], "{queue_size: 64}", 1),
                SR_ERR_CONFIG, "queue_size is 64, but there are only 64 images");
    tiny_model_close(&t);
}

// The student alone learns.
TEST(test_teacher_stays) {
    TinyModel t;
    start(&t, "{queue_size: 20}", 1);
    SrParams *params = sr_model_params(t.model);
    int own = 0, frozen = 0;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        bool teacher = strncmp(p->name, "loss.teacher_model.", 19) == 0;
        CHECK(!(teacher && p->trainable));
        frozen += teacher;
        own += p->trainable;
    }
    CHECK_INT(own, 62);
    CHECK(frozen > 60);
    tiny_model_close(&t);
}

SR_TESTS(feature_distillation_loss, unit(test_queue_turns), unit(test_small_queue), unit(test_size),
         unit(test_teacher_stays))
