// Tests properties of all optimisers: bits do not depend on threads, skipped parameters do not
// change, and the state is complete.  Also tests clipping.
#include <math.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "tests/check.h"
#include "tests/trainer/optim_case.h"
#include "trainer/optim/grad_clip.h"
#include "trainer/optim/optim_options.h"
#include "trainer/optim/optimizer.h"

static void run_steps(SrParams *params, SrOptim *optim, int from, int to, const bool *skip) {
    for (int t = from; t < to; t++) {
        fill_grads(params, t);
        sr_optim_step(optim, 0.1, 0.05, skip);
    }
}

// Runs `body` on each example of every optimiser in the registry.
static void each_example(void (*body)(const SrOptimizerConfig *config)) {
    for (int i = 0; sr_optimizer_at(i); i++) {
        const SrOptimizer *kind = sr_optimizer_at(i);
        CHECK(kind->examples && kind->examples[0] && kind->help);
        for (int k = 0; kind->examples[k]; k++)
            body(&(SrOptimizerConfig){.name = kind->name,
                                      .options = options_of(kind->examples[k]),
                                      .weight_decay = 0.01,
                                      .regularize_bias = true,
                                      .param_group_constructor = "default"});
        sr_arena_deinit(&optim_arena);
    }
}

static void threads_case(const SrOptimizerConfig *config) {
    int threads = sr_parallel_threads();
    SrParams *params[2];
    for (int run = 0; run < 2; run++) {
        SrOptim *optim = NULL;
        sr_parallel_set_threads(run == 0 ? 1 : 3);
        params[run] = make_params();
        fill_values(params[run]);
        CHECK_OK(sr_optim_new(params[run], config, &optim));
        run_steps(params[run], optim, 0, OPTIM_STEPS, NULL);
        sr_optim_free(optim);
    }
    for (int i = 0; i < 3; i++)
        CHECK(memcmp(sr_params_at(params[0], i)->value, sr_params_at(params[1], i)->value,
                     sizeof(float) * (size_t)sr_shape_count(sr_params_at(params[0], i)->shape)) ==
              0);
    sr_params_free(params[0]);
    sr_params_free(params[1]);
    sr_parallel_set_threads(threads);
}

TEST(test_bits_do_not_depend_on_threads) { each_example(threads_case); }

// The sum of squares, whose gradient is 2 p, falls under each rule; decay only helps.
static void descent_case(const SrOptimizerConfig *config) {
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    double size[2] = {0, 0};
    fill_values(params);
    CHECK_OK(sr_optim_new(params, config, &optim));
    for (int t = 0; t <= 20; t++) {
        for (int i = 0; i < 3; i++) {
            const SrParam *p = sr_params_at(params, i);
            for (int64_t j = 0; j < sr_shape_count(p->shape); j++) {
                double x = ((const float *)p->value)[j];
                size[0] += t == 0 ? x * x : 0;
                size[1] += t == 20 ? x * x : 0;
                p->grad[j] = (float)(2 * x);
            }
        }
        sr_optim_step(optim, 0.01, 0.01, NULL);
    }
    if (!(size[1] < size[0]))
        fail_msg("%s: the sum of squares went from %g to %g", config->name, size[0], size[1]);
    sr_optim_free(optim);
    sr_params_free(params);
}

TEST(test_each_goes_downhill) { each_example(descent_case); }

// All optimisers share one option map, so rows with one name have one type, one default and one
// text.
TEST(test_shared_rows_agree) {
    const SrOption *table;
    CHECK_OK(sr_optim_options(&optim_arena, &table));
    for (int i = 0; sr_optimizer_at(i); i++)
        for (const SrOption *row = sr_optimizer_at(i)->options; row && row->name; row++) {
            const SrOption *seen = sr_options_find(table, row->name);
            CHECK(seen && seen->type == row->type);
            CHECK_STR(seen->initial, row->initial);
            CHECK(strstr(seen->help, sr_optimizer_at(i)->name) != NULL);
        }
    sr_arena_deinit(&optim_arena);
}

// A frozen parameter keeps its value, its momentum and its step count; the others are updated.
TEST(test_skip) {
    Usual c = usual("adam");
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    fill_values(params);
    CHECK_OK(new_optim(params, &c, &optim));
    float first = values_of(params, 0)[0];
    float other = values_of(params, 1)[0];
    run_steps(params, optim, 0, 2, (const bool[]){true, false, false});
    int64_t *steps = NULL;
    const char *name = NULL;
    float *moment = sr_optim_state(optim, 0, 0, &name, &steps);
    CHECK_STR(name, "exp_avg");
    CHECK(moment[0] == 0 && *steps == 0);
    CHECK(values_of(params, 0)[0] == first);
    CHECK(values_of(params, 1)[0] != other);
    sr_optim_state(optim, 1, 0, NULL, &steps);
    CHECK_INT(*steps, 2);
    CHECK(sr_optim_state(optim, 0, 2, NULL, NULL) == NULL);
    CHECK(sr_optim_state(optim, 99, 0, NULL, NULL) == NULL);
    sr_optim_free(optim);
    sr_params_free(params);
}

// A fresh optimiser with copied state and step counts continues with the same bits, as a resume
// needs.
static void state_case(const SrOptimizerConfig *config) {
    SrParams *a = make_params(), *b = make_params();
    SrOptim *oa = NULL, *ob = NULL;
    fill_values(a);
    CHECK_OK(sr_optim_new(a, config, &oa));
    CHECK_OK(sr_optim_new(b, config, &ob));
    run_steps(a, oa, 0, 3, NULL);
    for (int i = 0; i < 3; i++) {
        size_t bytes = sizeof(float) * (size_t)sr_shape_count(sr_params_at(a, i)->shape);
        int64_t *from = NULL, *to = NULL;
        memcpy(sr_params_at(b, i)->value, sr_params_at(a, i)->value, bytes);
        sr_optim_state(oa, i, 0, NULL, &from);
        sr_optim_state(ob, i, 0, NULL, &to);
        for (int k = 0; sr_optim_state(oa, i, k, NULL, NULL); k++)
            memcpy(sr_optim_state(ob, i, k, NULL, NULL), sr_optim_state(oa, i, k, NULL, NULL),
                   bytes);
        *to = *from;
    }
    run_steps(a, oa, 3, 5, NULL);
    run_steps(b, ob, 3, 5, NULL);
    for (int i = 0; i < 3; i++)
        CHECK(memcmp(sr_params_at(a, i)->value, sr_params_at(b, i)->value,
                     sizeof(float) * (size_t)sr_shape_count(sr_params_at(a, i)->shape)) == 0);
    sr_optim_free(oa);
    sr_optim_free(ob);
    sr_params_free(a);
    sr_params_free(b);
}

TEST(test_state_is_all_there_is) { each_example(state_case); }

static void heap_case(const SrOptimizerConfig *config) {
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    CHECK_OK(sr_optim_new(params, config, &optim));
    run_steps(params, optim, 0, 1, NULL);
    int64_t calls = sr_mem_calls();
    run_steps(params, optim, 1, 3, NULL);
    sr_grad_clip(params, NULL, 2, 1);
    CHECK_INT(sr_mem_calls(), calls);
    sr_optim_free(optim);
    sr_params_free(params);
}

TEST(test_no_heap_in_a_step) { each_example(heap_case); }

static SrStatus try_new(const Usual *config) {
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    SrStatus status = new_optim(params, config, &optim);
    sr_optim_free(optim);
    sr_params_free(params);
    return status;
}

TEST(test_errors) {
    Usual c = usual("sgdd");
    CHECK_FAILS(try_new(&c), SR_ERR_CONFIG, "sgd");
    c = usual("sgd");
    c.momentum = 1;
    CHECK_FAILS(try_new(&c), SR_ERR_CONFIG, "momentum");
    c.momentum = 0;
    c.nesterov = true;
    CHECK_FAILS(try_new(&c), SR_ERR_CONFIG, "nesterov");
    c = usual("adam");
    c.use_larc = true;
    CHECK_FAILS(try_new(&c), SR_ERR_CONFIG, "use_larc");
    c.use_larc = false;
    c.beta1 = 1;
    CHECK_FAILS(try_new(&c), SR_ERR_CONFIG, "betas");
    c = usual("sgd");
    c.groups = "lr_decai";
    CHECK_FAILS(try_new(&c), SR_ERR_CONFIG, "param_group_constructor");
}

TEST(test_grad_clip) {
    SrParams *params = make_params();
    sr_params_zero_grad(params);
    float *g = sr_params_at(params, 0)->grad, *h = sr_params_at(params, 1)->grad;
    g[0] = 3, h[1] = -4;
    CHECK_NEAR(sr_grad_clip(params, NULL, 2, 10), 5, 1e-12);
    CHECK(g[0] == 3);
    CHECK_NEAR(sr_grad_clip(params, NULL, 2, 1), 5, 1e-12);
    CHECK_NEAR(g[0], 0.6, 1e-6);
    g[0] = 3, h[1] = -4;
    CHECK_NEAR(sr_grad_clip(params, NULL, INFINITY, 2), 4, 1e-12);
    CHECK_NEAR(h[1], -2, 1e-6);
    g[0] = 3, h[1] = -4;
    CHECK_NEAR(sr_grad_clip(params, NULL, 1, 100), 7, 1e-12);
    CHECK_NEAR(sr_grad_clip(params, (const bool[]){true, false, false}, 2, 1), 4, 1e-12);
    CHECK(g[0] == 3);
    g[0] = 3, h[1] = INFINITY;
    CHECK(isinf(sr_grad_clip(params, NULL, 2, 0.001)));
    CHECK(g[0] == 3);
    h[1] = -1;
    g[0] = NAN;
    CHECK(isnan(sr_grad_clip(params, NULL, INFINITY, 0.001)));
    CHECK(isnan(sr_grad_clip(params, NULL, 2, 0.001)));
    CHECK_NEAR(h[1], -1, 1e-5);
    sr_params_free(params);
}

SR_TESTS(optim, unit(test_bits_do_not_depend_on_threads), unit(test_each_goes_downhill),
         unit(test_shared_rows_agree), unit(test_skip), unit(test_state_is_all_there_is),
         unit(test_no_heap_in_a_step), unit(test_errors), unit(test_grad_clip))
