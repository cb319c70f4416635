// Tests the rules of optimisers: each against a transcription of its paper in double precision, and
// what is particular to one of them.
#include <math.h>

#include "base/mem.h"
#include "tests/check.h"
#include "tests/trainer/optim_case.h"
#include "trainer/optim/optim_options.h"

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
    for (int t = 0; t < OPTIM_STEPS; t++) {
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
                CHECK_NEAR(values_of(params, i)[j], d[i][0][j], 2e-6 * (1 + fabs(d[i][0][j])));
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
    sr_arena_deinit(&optim_arena);
}

// A gradient of rank one has a single direction.  The others, which have only rounding errors, stay
// near 0, although every step makes them `a` times as large.
static void check_rank_one(int steps, double a, double b, double c) {
    enum { ROWS = 211, COLUMNS = 307 };
    char options[128];
    snprintf(options, sizeof options, "{momentum: 0, ns_steps: %d, ns_coefficients: [%g, %g, %g]}",
             steps, a, b, c);
    SrOptimizerConfig config = {
        .name = "muon", .options = options_of(options), .param_group_constructor = "default"};
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    CHECK_OK(sr_optim_new(params, &config, &optim));
    float *value = values_of(params, 2), *grad = sr_params_at(params, 2)->grad;
    double squares = 0, singular = 1, wrong = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            float g = grad[i * COLUMNS + j] = (float)(cos(i) * sin(1 + j * j));
            squares += (double)g * g;
        }
    for (int k = 0; k < steps; k++)
        singular *= a + b * pow(singular, 2) + c * pow(singular, 4);
    sr_optim_step(optim, 1, 1, NULL);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        wrong += pow(value[i] + singular * grad[i] / sqrt(squares), 2);
    CHECK(singular > 0.5);
    CHECK_NEAR(sqrt(wrong), 0, 0.1);
    sr_optim_free(optim);
    sr_params_free(params);
    sr_arena_deinit(&optim_arena);
}

TEST(test_muon_of_rank_one) {
    check_rank_one(7, 3.4445, -4.775, 2.0315);
    check_rank_one(6, 6, -14, 9);
}

// A gradient of zeros leaves a parameter alone: no direction follows from it.
static void check_zero_gradient(const Usual *config) {
    SrParams *params = make_params();
    SrOptim *optim = NULL;
    fill_values(params);
    CHECK_OK(new_optim(params, config, &optim));
    float before = values_of(params, 0)[5];
    sr_params_zero_grad(params);
    sr_optim_step(optim, 0.1, 0.1, NULL);
    CHECK(values_of(params, 0)[5] == before);
    sr_optim_free(optim);
    sr_params_free(params);
}

TEST(test_muon_of_zeros) {
    Usual c = usual("muon");
    c.weight_decay = 0;
    check_zero_gradient(&c);
}

// LARC gives such a parameter no decay either, only the rest of the momentum.
TEST(test_larc_leaves_zero_gradients_alone) {
    Usual c = usual("sgd");
    c.use_larc = true;
    check_zero_gradient(&c);
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
        CHECK_FAILS(sr_optim_check(&config, &optim_arena, &kind, &own), SR_ERR_CONFIG, wrong[i][1]);
    }
    sr_arena_deinit(&optim_arena);
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

SR_TESTS(optim_rules, unit(test_sgd), unit(test_larc), unit(test_adam_and_lars), unit(test_muon),
         unit(test_muon_makes_rows_orthonormal), unit(test_muon_of_rank_one),
         unit(test_muon_of_zeros), unit(test_muon_refuses),
         unit(test_larc_leaves_zero_gradients_alone), unit(test_amsgrad_remembers))
