// Tests masked_siamese_loss: its teacher is scored with the model's present prototypes.
#include "tests/check.h"

#include "tests/trainer/tiny_model.h"

// Counts the teacher's tensors of prototypes, and those that differ from the model's.
static int tensors(TinyModel *t, int *differ) {
    SrParams *params = sr_model_params(t->model);
    int n = 0;
    *differ = 0;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *copy = sr_params_at(params, i);
        const char *own = strstr(copy->name, "heads.");
        if (strncmp(copy->name, "loss.", 5) != 0 || !own || !strstr(own, ".prototypes."))
            continue;
        n++;
        *differ += memcmp(copy->value, tiny_model_param(t, own)->value,
                          (size_t)sr_shape_count(copy->shape) * sizeof(float)) != 0;
    }
    return n;
}

// A step changes the model's directions of prototypes. The teacher has them before the next step,
// whole, while the rest of it moves by momentum.
TEST(test_prototypes_are_copied) {
    const SrLoss *loss;
    TinyModel t;
    int differ;
    CHECK_OK(sr_loss_find("masked_siamese_loss", &loss));
    CHECK_OK(tiny_model_start_example(&t, loss, &loss->examples[0], loss->examples[0].options, 1));
    for (int step = 0; step < 3; step++)
        tiny_model_step(&t, 0.5);
    CHECK_INT(tensors(&t, &differ), 2); // lengths, which stay 1, and directions
    CHECK_INT(differ, 1);
    SrLossStep view = sr_step_view(&t.step, t.iteration, 0);
    loss->before_step(t.graph.loss_state, &view);
    tensors(&t, &differ);
    CHECK_INT(differ, 0);
    tiny_model_close(&t);
}

SR_TESTS(masked_siamese_loss, unit(test_prototypes_are_copied))
