// Tests optimisers: each rule against a transcription of its paper in double precision, and
// properties of all of them: bits do not depend on threads, skipped parameters do not change, and
// the state is complete.
#include <math.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "trainer/optim/grad_clip.h"
#include "trainer/optim/optim.h"
#include "trainer/optim/optim_options.h"
#include "trainer/optim/optimizer.h"

enum { STEPS = 4 };

static const SrSlot matrix_slot = {.name = "weight",
                                   .shape = {.rank = 2, .d = {37, 29}},
                                   .dtype = SR_F32,
                                   .kind = SR_SLOT_PARAM,
                                   .role = SR_ROLE_WEIGHT,
                                   .init = {SR_INIT_CONSTANT, 0}};
static const SrSlot vector_slot = {.name = "bias",
                                   .shape = {.rank = 1, .d = {33}},
                                   .dtype = SR_F32,
                                   .kind = SR_SLOT_PARAM,
                                   .role = SR_ROLE_BIAS,
                                   .init = {SR_INIT_CONSTANT, 0}};
// More numbers than one piece of a step has, and no round number.
static const SrSlot long_slot = {.name = "weight",
                                 .shape = {.rank = 2, .d = {211, 307}},
                                 .dtype = SR_F32,
                                 .kind = SR_SLOT_PARAM,
                                 .role = SR_ROLE_WEIGHT,
                                 .init = {SR_INIT_CONSTANT, 0}};

// The settings of every rule, for the transcriptions below; options_of makes an option map of
// them.
typedef struct {
    const char *name, *groups;
    double momentum, weight_decay, beta1, beta2, eps, eta, trust, larc_eps;
    bool nesterov, use_larc, clip, amsgrad, exclude_bias_and_norm, match_rms;
} Usual;

static Usual usual(const char *name) {
    return (Usual){.name = name,
                   .groups = "default",
                   .momentum = 0.9,
                   .weight_decay = 0.01,
                   .beta1 = 0.9,
                   .beta2 = 0.99,
                   .eps = 1e-8,
                   .eta = 0.01,
                   .trust = 0.02,
                   .larc_eps = 1e-8};
}

static SrArena arena; // holds the maps; each test that makes one frees it
static SrYaml *options_of(const char *text) {
    SrYaml *map = NULL;
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test.yaml", &map));
    return map;
}

static const char *yes(bool on) { return on ? "True" : "False"; }

static SrStatus new_optim(SrParams *params, const Usual *u, SrOptim **out) {
    static char text[1024];
    static SrOptimizerConfig config;
    snprintf(text, sizeof text,
             "{momentum: %g, nesterov: %s, betas: [%g, %g], eps: %g, amsgrad: %s, eta: %g, "
             "exclude_bias_and_norm: %s, use_larc: %s, "
             "larc_config: {clip: %s, eps: %g, trust_coefficient: %g}, adjust_lr_fn: %s}",
             u->momentum, yes(u->nesterov), u->beta1, u->beta2, u->eps, yes(u->amsgrad), u->eta,
             yes(u->exclude_bias_and_norm), yes(u->use_larc), yes(u->clip), u->larc_eps, u->trust,
             u->match_rms ? "match_rms_adamw" : "original");
    config = (SrOptimizerConfig){.name = u->name,
                                 .options = options_of(text),
                                 .weight_decay = u->weight_decay,
                                 .regularize_bias = true,
                                 .param_group_constructor = u->groups};
    return sr_optim_new(params, &config, out);
}

static SrParams *make_params(void) {
    SrParams *params = NULL;
    int index = 0;
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_params_add(params, "trunk.fc.weight", &matrix_slot, &index));
    CHECK_OK(sr_params_add(params, "trunk.fc.bias", &vector_slot, &index));
    CHECK_OK(sr_params_add(params, "heads.0.weight", &long_slot, &index));
    CHECK_OK(sr_params_allocate(params));
    return params;
}

static void fill(float *x, int64_t n, uint64_t what, uint64_t step) {
    SrRng rng = sr_rng(1, SR_RNG_TEST, step, what, 0, 0);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)sr_rng_normal(&rng);
}

static void fill_values(SrParams *params) {
    for (int i = 0; i < sr_params_count(params); i++)
        fill(sr_params_at(params, i)->value, sr_shape_count(sr_params_at(params, i)->shape),
             (uint64_t)i, 100);
}

static void fill_grads(SrParams *params, int step) {
    for (int i = 0; i < sr_params_count(params); i++)
        fill(sr_params_at(params, i)->grad, sr_shape_count(sr_params_at(params, i)->shape),
             (uint64_t)i, (uint64_t)step);
}

static double norm_of(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

// One parameter in double precision: value p, gradient g, states s0 and s1, all (n).  rows: rows of
// a matrix, or 1 for a vector.
typedef void (*Rule)(const Usual *c, double lr, int t, int rows, int64_t n, double *p, double *g,
                     double *s0, double *s1);

static void rule_sgd(const Usual *c, double lr, int t, int rows, int64_t n, double *p, double *g,
                     double *s0, double *s1) {
    (void)t, (void)rows, (void)s1;
    double a = 1, wd = c->weight_decay;
    if (c->use_larc) {
        double pn = norm_of(p, n), gn = norm_of(g, n);
        a = c->trust * pn / (gn + wd * pn + c->larc_eps);
        a = c->clip ? fmin(a / lr, 1) : a;
    }
    for (int64_t i = 0; i < n; i++) {
        double d = (g[i] + wd * p[i]) * a;
        s0[i] = c->momentum * s0[i] + d;
        p[i] -= lr * (c->nesterov ? d + c->momentum * s0[i] : s0[i]);
    }
}

static void rule_adam(const Usual *c, double lr, int t, int rows, int64_t n, double *p, double *g,
                      double *s0, double *s1) {
    (void)rows;
    bool decoupled = strcmp(c->name, "adamw") == 0;
    double b1 = c->beta1, b2 = c->beta2;
    for (int64_t i = 0; i < n; i++) {
        double d = decoupled ? g[i] : g[i] + c->weight_decay * p[i];
        if (decoupled)
            p[i] *= 1 - lr * c->weight_decay;
        s0[i] = b1 * s0[i] + (1 - b1) * d;
        s1[i] = b2 * s1[i] + (1 - b2) * d * d;
        p[i] -= lr * (s0[i] / (1 - pow(b1, t + 1))) / (sqrt(s1[i] / (1 - pow(b2, t + 1))) + c->eps);
    }
}

static void rule_lars(const Usual *c, double lr, int t, int rows, int64_t n, double *p, double *g,
                      double *s0, double *s1) {
    (void)t, (void)s1;
    for (int64_t i = 0; i < n; i++)
        g[i] += c->weight_decay * p[i];
    double q = c->exclude_bias_and_norm && rows == 1 ? 1 : c->eta * norm_of(p, n) / norm_of(g, n);
    for (int64_t i = 0; i < n; i++) {
        s0[i] = c->momentum * s0[i] + q * g[i];
        p[i] -= lr * s0[i];
    }
}

// Replaces x (rows, columns) by a x + (b y + c y y) x with y = x x^T.
static void newton_schulz(int rows, int columns, double *x) {
    const double a = 3.4445, b = -4.775, c = 2.0315;
    double *y = sr_calloc((size_t)rows * (size_t)rows, sizeof(double));
    double *z = sr_calloc((size_t)rows * (size_t)rows, sizeof(double));
    double *old = sr_calloc((size_t)rows * (size_t)columns, sizeof(double));
    memcpy(old, x, sizeof(double) * (size_t)rows * (size_t)columns);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            for (int k = 0; k < columns; k++)
                y[i * rows + j] += old[i * columns + k] * old[j * columns + k];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            z[i * rows + j] = b * y[i * rows + j] + (i == j ? a : 0);
            for (int k = 0; k < rows; k++)
                z[i * rows + j] += c * y[i * rows + k] * y[k * rows + j];
        }
    memset(x, 0, sizeof(double) * (size_t)rows * (size_t)columns);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < rows; k++)
            for (int j = 0; j < columns; j++)
                x[i * columns + j] += z[i * rows + k] * old[k * columns + j];
    sr_free(y);
    sr_free(z);
    sr_free(old);
}

static void rule_muon(const Usual *c, double lr, int t, int rows, int64_t n, double *p, double *g,
                      double *s0, double *s1) {
    (void)t, (void)s1;
    int columns = (int)(n / rows);
    for (int64_t i = 0; i < n; i++) {
        s0[i] = c->momentum * s0[i] + (1 - c->momentum) * g[i];
        g[i] = c->nesterov ? (1 - c->momentum) * g[i] + c->momentum * s0[i] : s0[i];
    }
    double norm = norm_of(g, n);
    for (int64_t i = 0; i < n; i++)
        g[i] /= norm + c->eps;
    for (int k = 0; rows > 1 && k < 5; k++)
        newton_schulz(rows, columns, g);
    double factor =
        c->match_rms ? 0.2 * sqrt(fmax(rows, columns)) : sqrt(fmax(1, (double)rows / columns));
    for (int64_t i = 0; i < n; i++)
        p[i] = p[i] * (1 - lr * c->weight_decay) - lr * factor * g[i];
}

static void check_rule(const Usual *config, Rule rule) {
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    fill_values(params);
    CHECK_OK(new_optim(params, config, &optim));
    double *d[3][4]; // indexed by [parameter][value, gradient, state 0, state 1]
    for (int i = 0; i < 3; i++) {
        const SrParam *p = sr_params_at(params, i);
        int64_t n = sr_shape_count(p->shape);
        for (int k = 0; k < 4; k++)
            d[i][k] = sr_calloc((size_t)n, sizeof(double));
        for (int64_t j = 0; j < n; j++)
            d[i][0][j] = ((const float *)p->value)[j];
    }
    for (int t = 0; t < STEPS; t++) {
        double lr = 0.1 / (t + 1);
        fill_grads(params, t);
        for (int i = 0; i < 3; i++) {
            const SrParam *p = sr_params_at(params, i);
            int64_t n = sr_shape_count(p->shape);
            for (int64_t j = 0; j < n; j++)
                d[i][1][j] = p->grad[j];
            rule(config, lr, t, p->shape.rank == 1 ? 1 : p->shape.d[0], n, d[i][0], d[i][1],
                 d[i][2], d[i][3]);
        }
        sr_optim_step(optim, lr, lr, NULL);
        for (int i = 0; i < 3; i++)
            for (int64_t j = 0; j < sr_shape_count(sr_params_at(params, i)->shape); j++)
                CHECK_NEAR(((const float *)sr_params_at(params, i)->value)[j], d[i][0][j],
                           2e-6 * (1 + fabs(d[i][0][j])));
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            sr_free(d[i][k]);
    sr_optim_free(optim);
    sr_params_free(params);
}

TEST(test_sgd) {
    Usual c = usual("sgd");
    check_rule(&c, rule_sgd);
    c.nesterov = true;
    check_rule(&c, rule_sgd);
    c.nesterov = false;
    c.momentum = 0;
    check_rule(&c, rule_sgd);
}

TEST(test_larc) {
    Usual c = usual("sgd");
    c.use_larc = true;
    check_rule(&c, rule_sgd);
    c.clip = true;
    check_rule(&c, rule_sgd);
    c.nesterov = true;
    c.clip = false;
    check_rule(&c, rule_sgd);
}

TEST(test_adam_and_lars) {
    Usual c = usual("adam");
    check_rule(&c, rule_adam);
    c = usual("adamw");
    check_rule(&c, rule_adam);
    c = usual("lars");
    check_rule(&c, rule_lars);
    c.exclude_bias_and_norm = true;
    check_rule(&c, rule_lars);
}

TEST(test_muon) {
    Usual c = usual("muon");
    check_rule(&c, rule_muon);
    c.nesterov = true;
    check_rule(&c, rule_muon);
    c.match_rms = true;
    check_rule(&c, rule_muon);
}

// With the coefficients of a cubic step and many steps, the rows of an update are orthonormal.
TEST(test_muon_makes_rows_orthonormal) {
    SrOptimizerConfig config = {.name = "muon",
                                .options = options_of("{momentum: 0, ns_steps: 40, "
                                                      "ns_coefficients: [1.5, -0.5, 0]}"),
                                .param_group_constructor = "default"};
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    CHECK_OK(sr_optim_new(params, &config, &optim));
    fill_grads(params, 0);
    const float *grad = sr_params_at(params, 2)->grad;
    const float first = grad[0], last = grad[211 * 307 - 1];
    sr_optim_step(optim, 1, 1, NULL);
    CHECK(grad[0] == first && grad[211 * 307 - 1] == last); // log lines read it after the step
    const float *x = sr_params_at(params, 2)->value;        // 0 before the step
    for (int i = 0; i < 211; i += 15)
        for (int j = 0; j < 211; j += 7) {
            double dot = 0;
            for (int k = 0; k < 307; k++)
                dot += (double)x[i * 307 + k] * x[j * 307 + k];
            CHECK_NEAR(dot, i == j ? 1 : 0, 1e-5);
        }
    sr_optim_free(optim);
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

// A gradient of zeros leaves a parameter as it is.
TEST(test_muon_of_zeros) {
    Usual c = usual("muon");
    c.weight_decay = 0;
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    fill_values(params);
    CHECK_OK(new_optim(params, &c, &optim));
    float before = ((const float *)sr_params_at(params, 0)->value)[5];
    sr_params_zero_grad(params);
    sr_optim_step(optim, 0.1, 0.1, NULL);
    CHECK(((const float *)sr_params_at(params, 0)->value)[5] == before);
    sr_optim_free(optim);
    sr_params_free(params);
}

TEST(test_muon_refuses) {
    static const char *const wrong[][2] = {
        {"{ns_coefficients: [1, 2]}", "ns_coefficients has 2 numbers"},
        {"{momentum: 1}", "needs 0 <= momentum < 1"},
        {"{momentum: 0, nesterov: True}", "needs OPTIMIZER.momentum above 0"},
        {"{adjust_lr_fn: none}", "adjust_lr_fn"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        SrOptimizerConfig config = {.name = "muon", .options = options_of(wrong[i][0])};
        const SrOptimizer *kind = NULL;
        const void *own = NULL;
        CHECK_FAILS(sr_optim_check(&config, &arena, &kind, &own), SR_ERR_CONFIG, wrong[i][1]);
    }
    sr_arena_deinit(&arena);
}

// A zero gradient (or parameter) disables LARC for it: no decay, only the rest of the momentum.
TEST(test_larc_leaves_zero_gradients_alone) {
    Usual c = usual("sgd");
    c.use_larc = true;
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    fill_values(params);
    CHECK_OK(new_optim(params, &c, &optim));
    float before = ((const float *)sr_params_at(params, 0)->value)[5];
    sr_params_zero_grad(params);
    sr_optim_step(optim, 0.1, 0.1, NULL);
    CHECK(((const float *)sr_params_at(params, 0)->value)[5] == before);
    sr_optim_free(optim);
    sr_params_free(params);
}

// amsgrad divides by the largest second moment so far: after a large gradient the steps stay
// small.
TEST(test_amsgrad_remembers) {
    double moved[2];
    for (int ams = 0; ams < 2; ams++) {
        Usual c = usual("adam");
        c.weight_decay = 0;
        c.amsgrad = ams == 1;
        SrParams *params = make_params();
        SrOptim *optim = NULL;
        CHECK_OK(new_optim(params, &c, &optim));
        float *value = sr_params_at(params, 1)->value, *grad = sr_params_at(params, 1)->grad;
        for (int t = 0; t < 40; t++) {
            sr_params_zero_grad(params);
            grad[0] = t == 0 ? 100.0f : 1.0f;
            moved[ams] = value[0];
            sr_optim_step(optim, 0.1, 0.1, NULL);
            moved[ams] -= value[0];
        }
        CHECK_INT(sr_optim_state(optim, 1, 2, NULL, NULL) != NULL, ams);
        sr_optim_free(optim);
        sr_params_free(params);
    }
    CHECK(moved[1] < moved[0]);
}

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
        sr_arena_deinit(&arena);
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
        run_steps(params[run], optim, 0, STEPS, NULL);
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
    CHECK_OK(sr_optim_options(&arena, &table));
    for (int i = 0; sr_optimizer_at(i); i++)
        for (const SrOption *row = sr_optimizer_at(i)->options; row && row->name; row++) {
            const SrOption *seen = sr_options_find(table, row->name);
            CHECK(seen && seen->type == row->type);
            CHECK_STR(seen->initial, row->initial);
            CHECK(strstr(seen->help, sr_optimizer_at(i)->name) != NULL);
        }
    sr_arena_deinit(&arena);
}

// A frozen parameter keeps its value, its momentum and its step count; the others are updated.
TEST(test_skip) {
    Usual c = usual("adam");
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    fill_values(params);
    CHECK_OK(new_optim(params, &c, &optim));
    float first = ((const float *)sr_params_at(params, 0)->value)[0];
    float other = ((const float *)sr_params_at(params, 1)->value)[0];
    run_steps(params, optim, 0, 2, (const bool[]){true, false, false});
    int64_t *steps = NULL;
    const char *name = NULL;
    float *moment = sr_optim_state(optim, 0, 0, &name, &steps);
    CHECK_STR(name, "exp_avg");
    CHECK(moment[0] == 0 && *steps == 0);
    CHECK(((const float *)sr_params_at(params, 0)->value)[0] == first);
    CHECK(((const float *)sr_params_at(params, 1)->value)[0] != other);
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

TEST(test_no_heap_in_a_step) {
    Usual c = usual("lars");
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    CHECK_OK(new_optim(params, &c, &optim));
    run_steps(params, optim, 0, 1, NULL);
    int64_t calls = sr_mem_calls();
    run_steps(params, optim, 1, 3, NULL);
    sr_grad_clip(params, NULL, 2, 1);
    CHECK_INT(sr_mem_calls(), calls);
    sr_optim_free(optim);
    sr_params_free(params);
}

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

SR_TESTS(optim, unit(test_sgd), unit(test_larc), unit(test_adam_and_lars), unit(test_muon),
         unit(test_muon_makes_rows_orthonormal), unit(test_muon_of_zeros), unit(test_muon_refuses),
         unit(test_larc_leaves_zero_gradients_alone), unit(test_amsgrad_remembers),
         unit(test_bits_do_not_depend_on_threads), unit(test_each_goes_downhill),
         unit(test_shared_rows_agree), unit(test_skip), unit(test_state_is_all_there_is),
         unit(test_no_heap_in_a_step), unit(test_errors), unit(test_grad_clip))
