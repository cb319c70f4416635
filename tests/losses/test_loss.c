// Every loss of the registry on a tiny model: it falls over a few steps on toy data, no step
// allocates, and a run that is stopped, copied and gone on with ends in the same bits.
#include "tests/check.h"

#include "base/mem.h"
#include "tests/trainer/tiny_model.h"

static const int sizes[] = {16, 16, 8};

static const char *const heads[] = {TINY_SWAV_HEAD, "HEAD: {PARAMS: [[mlp, {dims: [32, 8]}]]}"};

static void start(TinyModel *t, const SrLoss *loss) {
    char model[512], text[128];
    bool prototypes = sr_options_find(loss->options, "num_prototypes");
    snprintf(model, sizeof model, TINY_TRUNK ", %s", heads[!prototypes]);
    snprintf(text, sizeof text, "name: %s", loss->name);
    CHECK_OK(tiny_model_start(t, model, text, 8, 3, sizes));
}

static void test_falls(void **state) {
    (void)state;
    for (int i = 0; sr_loss_at(i); i++) {
        TinyModel t;
        start(&t, sr_loss_at(i));
        double first = tiny_model_step(&t, 0.05), last = 0;
        for (int k = 0; k < 12; k++)
            last = tiny_model_step(&t, 0.05);
        if (!(last < first && isfinite(last)))
            fail_msg("%s went from %g to %g", sr_loss_at(i)->name, first, last);
        tiny_model_close(&t);
    }
}

static void test_steps_do_not_allocate(void **state) {
    (void)state;
    for (int i = 0; sr_loss_at(i); i++) {
        TinyModel t;
        start(&t, sr_loss_at(i));
        tiny_model_step(&t, 0.05);
        int64_t before = sr_mem_calls();
        tiny_model_step(&t, 0.05);
        CHECK_INT(sr_mem_calls(), before);
        tiny_model_close(&t);
    }
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

static void test_state_is_in_the_table(void **state) {
    (void)state;
    for (int i = 0; sr_loss_at(i); i++) {
        TinyModel whole, resumed;
        start(&whole, sr_loss_at(i));
        for (int k = 0; k < 3; k++)
            tiny_model_step(&whole, 0.05);
        start(&resumed, sr_loss_at(i));
        copy_table(&resumed, &whole);
        for (int k = 0; k < 2; k++) {
            double a = tiny_model_step(&whole, 0.05), b = tiny_model_step(&resumed, 0.05);
            CHECK_NEAR(a, b, 0);
        }
        check_same_table(&whole, &resumed);
        tiny_model_close(&whole);
        tiny_model_close(&resumed);
    }
}

static void test_unknown(void **state) {
    (void)state;
    const SrLoss *loss;
    CHECK_FAILS(sr_loss_find("swav_los", &loss), SR_ERR_CONFIG, "swav_loss");
    CHECK(sr_loss_at(-1) == NULL);
}

SR_TESTS(loss, unit(test_falls), unit(test_steps_do_not_allocate), unit(test_state_is_in_the_table),
         unit(test_unknown))
