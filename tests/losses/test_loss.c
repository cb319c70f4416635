// Every example of every loss on a tiny model: it falls over a few steps on toy data, no step
// allocates, and a run that is stopped, copied and gone on with ends in the same bits.
#include "tests/check.h"

#include "base/mem.h"
#include "tests/trainer/tiny_model.h"

// The n-th example over all losses; false past the last.
static bool example_at(int n, const SrLoss **loss, const SrLossExample **example) {
    for (int i = 0; (*loss = sr_loss_at(i)); i++) {
        *example = (*loss)->examples + n;
        if (n < (*loss)->n_examples)
            return true;
        n -= (*loss)->n_examples;
    }
    return false;
}

// Eight images a step in any case.
static void start(TinyModel *t, const SrLoss *loss, const SrLossExample *e, int replicas) {
    char model[512], text[512];
    int views = 0;
    while (e->sizes[views])
        views++;
    snprintf(model, sizeof model, TINY_TRUNK ", HEAD: {PARAMS: %s}", e->heads);
    snprintf(text, sizeof text, "name: %s, %s: %s", loss->name, strchr(loss->subtree, '.') + 1,
             e->options ? e->options : "{}");
    CHECK_OK(tiny_model_start_world(t, replicas, model, text, 8 / replicas, views, e->sizes));
}

static void test_has_examples(void **state) {
    (void)state;
    for (int i = 0; sr_loss_at(i); i++)
        if (sr_loss_at(i)->n_examples < 1)
            fail_msg("%s has no example", sr_loss_at(i)->name);
}

static void falls_with(int replicas) {
    const SrLoss *loss;
    const SrLossExample *e;
    for (int i = 0; example_at(i, &loss, &e); i++) {
        TinyModel t;
        start(&t, loss, e, replicas);
        double first = tiny_model_step(&t, 0.05), last = 0;
        for (int k = 0; k < 12; k++)
            last = tiny_model_step(&t, 0.05);
        if (!isfinite(last) || !(last < first || e->may_rise))
            fail_msg("%s, example %d, %d replicas, went from %g to %g", loss->name,
                     (int)(e - loss->examples), replicas, first, last);
        tiny_model_close(&t);
    }
}

static void test_falls(void **state) {
    (void)state;
    for (int replicas = 1; replicas <= 4; replicas *= 4)
        falls_with(replicas);
}

static void steps_do_not_allocate_with(int replicas) {
    const SrLoss *loss;
    const SrLossExample *e;
    for (int i = 0; example_at(i, &loss, &e); i++) {
        TinyModel t;
        start(&t, loss, e, replicas);
        tiny_model_step(&t, 0.05);
        int64_t before = sr_mem_calls();
        tiny_model_step(&t, 0.05);
        CHECK_INT(sr_mem_calls(), before);
        tiny_model_close(&t);
    }
}

static void test_steps_do_not_allocate(void **state) {
    (void)state;
    for (int replicas = 1; replicas <= 4; replicas *= 4)
        steps_do_not_allocate_with(replicas);
}

static size_t table_bytes(const SrParam *p) {
    return (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype);
}

// What a checkpoint does: all entries of the table, and nothing else, from one model to another.
static void copy_table(TinyModel *to, TinyModel *from) {
    SrParams *a = sr_model_params(from->model), *b = sr_model_params(to->model);
    CHECK_INT(sr_params_count(a), sr_params_count(b));
    for (int i = 0; i < sr_params_count(a); i++) {
        CHECK_STR(sr_params_at(a, i)->name, sr_params_at(b, i)->name);
        memcpy(sr_params_at(b, i)->value, sr_params_at(a, i)->value,
               table_bytes(sr_params_at(a, i)));
    }
    to->iteration = from->iteration;
}

static void check_same_table(TinyModel *x, TinyModel *y) {
    SrParams *a = sr_model_params(x->model), *b = sr_model_params(y->model);
    for (int i = 0; i < sr_params_count(a); i++)
        if (memcmp(sr_params_at(a, i)->value, sr_params_at(b, i)->value,
                   table_bytes(sr_params_at(a, i))) != 0)
            fail_msg("%s differs", sr_params_at(a, i)->name);
}

static void state_is_in_the_table_with(int replicas) {
    const SrLoss *loss;
    const SrLossExample *e;
    for (int i = 0; example_at(i, &loss, &e); i++) {
        TinyModel whole, resumed;
        start(&whole, loss, e, replicas);
        for (int k = 0; k < 3; k++)
            tiny_model_step(&whole, 0.05);
        start(&resumed, loss, e, replicas);
        copy_table(&resumed, &whole);
        sr_step_start(&resumed.step, resumed.iteration, true);
        for (int k = 0; k < 2; k++) {
            double a = tiny_model_step(&whole, 0.05), b = tiny_model_step(&resumed, 0.05);
            CHECK_NEAR(a, b, 0);
        }
        check_same_table(&whole, &resumed);
        tiny_model_close(&whole);
        tiny_model_close(&resumed);
    }
}

static void test_state_is_in_the_table(void **state) {
    (void)state;
    for (int replicas = 1; replicas <= 4; replicas *= 4)
        state_is_in_the_table_with(replicas);
}

static void test_unknown(void **state) {
    (void)state;
    const SrLoss *loss;
    CHECK_FAILS(sr_loss_find("swav_los", &loss), SR_ERR_CONFIG, "swav_loss");
    CHECK(sr_loss_at(-1) == NULL);
}

SR_TESTS(loss, unit(test_has_examples), unit(test_falls), unit(test_steps_do_not_allocate),
         unit(test_state_is_in_the_table), unit(test_unknown))
