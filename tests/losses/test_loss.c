// Tests every example of every loss on a tiny model: the loss falls over a few steps, steps do
// not allocate, and a run that is stopped, copied and resumed ends in the same bits, with one
// thread and with two.
#include "tests/check.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "tests/trainer/tiny_model.h"

// Sets *loss and *example to the n-th example over all losses; returns false past the last.
// SR_TEST_LOSS=NAME in the environment keeps to one loss while it is being written.
static bool example_at(int n, const SrLoss **loss, const SrLossExample **example) {
    const char *only = getenv("SR_TEST_LOSS");
    for (int i = 0; (*loss = sr_loss_at(i)); i++) {
        if (only && strcmp(only, (*loss)->name) != 0)
            continue;
        *example = (*loss)->examples + n;
        if (n < (*loss)->n_examples)
            return true;
        n -= (*loss)->n_examples;
    }
    return false;
}

static void start(TinyModel *t, const SrLoss *loss, const SrLossExample *e, int replicas) {
    CHECK_OK(tiny_model_start_example(t, loss, e, e->options ? e->options : "{}", replicas));
}

TEST(test_has_examples) {
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

TEST(test_falls) {
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

TEST(test_steps_do_not_allocate) {
    for (int replicas = 1; replicas <= 4; replicas *= 4)
        steps_do_not_allocate_with(replicas);
}

static size_t table_bytes(const SrParam *p) {
    return (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype);
}

// Copies all entries of the table from one model to another, as a checkpoint does.
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
            if (!(fabs(a - b) <= 0))
                fail_msg("%s, example %d, %d replicas: %.9g in one go, %.9g resumed", loss->name,
                         (int)(e - loss->examples), replicas, a, b);
        }
        check_same_table(&whole, &resumed);
        tiny_model_close(&whole);
        tiny_model_close(&resumed);
    }
}

TEST(test_state_is_in_the_table) {
    for (int replicas = 1; replicas <= 4; replicas *= 4)
        state_is_in_the_table_with(replicas);
}

// Runs three steps, a checkpoint and two more steps, with one thread and with two.
TEST(test_bits_do_not_depend_on_threads) {
    const SrLoss *loss;
    const SrLossExample *e;
    int threads = sr_parallel_threads();
    for (int i = 0; example_at(i, &loss, &e); i++) {
        TinyModel t[2], resumed[2];
        for (int k = 0; k < 2; k++) {
            sr_parallel_set_threads(1 + k);
            start(&t[k], loss, e, 1);
            for (int step = 0; step < 3; step++)
                tiny_model_step(&t[k], 0.05);
            start(&resumed[k], loss, e, 1);
            copy_table(&resumed[k], &t[k]);
            sr_step_start(&resumed[k].step, resumed[k].iteration, true);
            for (int step = 0; step < 2; step++)
                tiny_model_step(&resumed[k], 0.05);
        }
        check_same_table(&resumed[0], &resumed[1]);
        for (int k = 0; k < 2; k++) {
            tiny_model_close(&t[k]);
            tiny_model_close(&resumed[k]);
        }
    }
    sr_parallel_set_threads(threads);
}

// A smaller batch between two full ones works on the same entries, for any state that the loss
// keeps of them.
static void check_partial(const SrLoss *loss, const SrLossExample *e) {
    TinyModel whole, part;
    const char *options = e->options ? e->options : "{}";
    start(&whole, loss, e, 1);
    CHECK_OK(tiny_model_start_batch(&part, loss, e, options, 1, 5));
    SrParams *a = sr_model_params(whole.model), *b = sr_model_params(part.model);
    for (int i = 0; i < sr_params_count(a) && i < sr_params_count(b); i++)
        if (!sr_shape_equal(sr_params_at(a, i)->shape, sr_params_at(b, i)->shape))
            fail_msg("%s takes batches of any size, but %s has the batch's", loss->name,
                     sr_params_at(a, i)->name);
    double losses[3];
    losses[0] = tiny_model_step(&whole, 0.05);
    copy_table(&part, &whole);
    sr_step_start(&part.step, part.iteration, true);
    losses[1] = tiny_model_step(&part, 0.05);
    copy_table(&whole, &part);
    losses[2] = tiny_model_step(&whole, 0.05);
    for (int i = 0; i < 3; i++)
        if (!isfinite(losses[i]))
            fail_msg("%s, example %d: step %d gives %g", loss->name, (int)(e - loss->examples), i,
                     losses[i]);
    tiny_model_close(&whole);
    tiny_model_close(&part);
}

// Returns whether the example sets the option that makes the loss need full batches; none sets it
// to 0.
static bool has_size(const SrLoss *loss, const SrLossExample *e) {
    const char *dot = strrchr(loss->whole_batches_with, '.');
    return e->options && strstr(e->options, dot ? dot + 1 : loss->whole_batches_with);
}

TEST(test_partial_batches) {
    const SrLoss *loss;
    const SrLossExample *e;
    for (int i = 0; example_at(i, &loss, &e); i++)
        if (!loss->whole_batches || (loss->whole_batches_with && !has_size(loss, e)))
            check_partial(loss, e);
        else if (!*loss->whole_batches)
            fail_msg("%s does not say why its batches are whole", loss->name);
}

// A loss that runs the teacher of a distillation says so, and no other does.
TEST(test_has_teacher) {
    const SrLoss *loss;
    const SrLossExample *e;
    for (int i = 0; example_at(i, &loss, &e); i++) {
        TinyModel t;
        start(&t, loss, e, 1);
        bool teacher = false;
        for (int k = 0; k < sr_params_count(sr_model_params(t.model)); k++)
            teacher |= strncmp(sr_params_at(sr_model_params(t.model), k)->name,
                               "loss.teacher_model.", 19) == 0;
        if (teacher != loss->has_teacher)
            fail_msg("%s %s a teacher, but its descriptor says otherwise", loss->name,
                     teacher ? "runs" : "does not run");
        tiny_model_close(&t);
    }
}

// Compares the table of a loss that knows the number of images with one that does not.
static void check_unknown(const SrLoss *loss, const SrLossExample *e, const char *options) {
    TinyModel known, unknown;
    if (tiny_model_start_example(&known, loss, e, options, 1) == SR_OK) {
        if (tiny_model_open_unknown(&unknown, loss, e, options) != SR_OK)
            fail_msg("%s without needs_samples: %s", loss->name, sr_status_message());
        SrParams *a = sr_model_params(known.model), *b = sr_model_params(unknown.model);
        CHECK_INT(sr_params_count(a), sr_params_count(b));
        for (int k = 0; k < sr_params_count(a); k++)
            if (!sr_shape_equal(sr_params_at(a, k)->shape, sr_params_at(b, k)->shape))
                fail_msg("%s without needs_samples: the shape of %s depends on their number",
                         loss->name, sr_params_at(a, k)->name);
        tiny_model_close(&unknown);
    }
    tiny_model_close(&known);
}

// The verb `check` builds a loss without needs_samples before it knows the data set: it must be
// whole then, with the same table, also with its defaults.
TEST(test_needs_samples) {
    const SrLoss *loss;
    const SrLossExample *e;
    for (int i = 0; example_at(i, &loss, &e); i++) {
        if (loss->needs_samples)
            continue;
        check_unknown(loss, e, "{}");
        if (e->options)
            check_unknown(loss, e, e->options);
    }
}

// Chance is the loss of a model that spreads everything evenly, such as one whose parameters and
// memories are all 0.
TEST(test_chance) {
    const SrLoss *loss;
    const SrLossExample *e;
    int n = 0;
    for (int i = 0; example_at(i, &loss, &e); i++) {
        TinyModel t;
        SrLossFacts facts = {0};
        start(&t, loss, e, 1);
        if (loss->facts)
            loss->facts(t.graph.loss_state, &facts);
        for (int k = 0; k < sr_params_count(sr_model_params(t.model)); k++) {
            const SrParam *p = sr_params_at(sr_model_params(t.model), k);
            if (p->dtype == SR_F32 && sr_shape_count(p->shape) > 1) // one number: an estimate
                memset(p->value, 0, table_bytes(p));
        }
        double even = tiny_model_step(&t, 0);
        if (facts.chance > 0 && !(fabs(even - facts.chance) < 1e-4 * facts.chance))
            fail_msg("%s, example %d: chance is %g, an even model's loss is %g", loss->name,
                     (int)(e - loss->examples), facts.chance, even);
        n += facts.chance > 0;
        tiny_model_close(&t);
    }
    CHECK(n > 0 || getenv("SR_TEST_LOSS"));
}

// Crops need not be square: a convolutional trunk learns from any, with any loss.
TEST(test_wide_crops) {
    const SrLoss *loss;
    const SrLossExample *e;
    for (int i = 0; example_at(i, &loss, &e); i++) {
        TinyModel t;
        if (e->trunk)
            continue;
        if (tiny_model_start_wide(&t, loss, e) != SR_OK)
            fail_msg("%s with wide crops: %s", loss->name, sr_status_message());
        tiny_model_step(&t, 0.05);
        CHECK(isfinite(tiny_model_step(&t, 0.05)));
        tiny_model_close(&t);
    }
}

// Returns the loss of the second step from the same parameters and images.
static double value_with(const SrLoss *loss, int seed) {
    TinyModel t;
    CHECK_OK(tiny_model_start_seed(&t, loss, &loss->examples[0], seed));
    tiny_model_step(&t, 0);
    double value = tiny_model_step(&t, 0);
    tiny_model_close(&t);
    return value;
}

// Losses that draw masks, blocks, directions or negatives draw others with another SEED_VALUE.
TEST(test_seed) {
    static const char *const draw[] = {"ijepa_loss", "lejepa_loss", "mae_loss",
                                       "masked_siamese_loss", "nce_loss_with_memory"};
    for (int i = 0; i < SR_COUNT(draw); i++) {
        const SrLoss *loss;
        CHECK_OK(sr_loss_find(draw[i], &loss));
        double one = value_with(loss, 1);
        CHECK_NEAR(value_with(loss, 1), one, 0);
        if (fabs(value_with(loss, 2) - one) <= 0)
            fail_msg("%s draws the same with two seeds", draw[i]);
    }
}

TEST(test_unknown) {
    const SrLoss *loss;
    CHECK_FAILS(sr_loss_find("swav_los", &loss), SR_ERR_CONFIG, "swav_loss");
    CHECK(sr_loss_at(-1) == NULL);
}

SR_TESTS(loss, unit(test_has_examples), unit(test_falls), unit(test_steps_do_not_allocate),
         unit(test_state_is_in_the_table), unit(test_partial_batches),
         unit(test_bits_do_not_depend_on_threads), unit(test_has_teacher), unit(test_needs_samples),
         unit(test_chance), unit(test_seed), unit(test_wide_crops), unit(test_unknown))
