// Tests whole training steps of every trunk in the registry. On the first example all gradients
// agree with finite differences of the net in double precision. On the first two, one and two
// threads give the same bits, and steps do not allocate.
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/text/yaml_load.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "tests/check.h"
#include "tests/graph/toy.h"
#include "trunks/trunk.h"

enum {
    IMAGES = 4
}; // with fewer images, batch norms of single pixels leave a slope that is lost in rounding

typedef struct {
    const SrTrunk *trunk;
    const char *options;
    SrArena arena;
    SrParams *params;
    SrGraph *graph;
    SrPlan *plan;
    SrNodeId x, y;
} Net;

static void fill(float *x, int64_t n, uint64_t key) {
    SrRng rng = sr_rng(7, SR_RNG_INIT, key, 0, 0, 0);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)sr_rng_normal(&rng);
}

static void build(Net *t, const SrTrunkExample *example) {
    SrYaml *map = NULL;
    SrBuilder *b;
    SrTrunkOutput out;
    void *options = sr_arena_alloc(&t->arena, t->trunk->params_bytes + 1);
    CHECK_OK(sr_yaml_parse(&t->arena, example->options, strlen(example->options), "example", &map));
    CHECK_OK(sr_options_parse(t->trunk->options, map, t->trunk->subtree, &t->arena, options));
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->graph));
    CHECK_OK(sr_builder_new(t->graph, &b));
    sr_builder_set_param_prefix(b, sr_trunk_param_prefix(t->trunk));
    t->x = sr_build_input(b, "x", SR_SHAPE(IMAGES, example->side, example->side, 3), SR_F32);
    CHECK_OK(sr_trunk_build(t->trunk, b, options, &(SrTrunkInput){t->x, SR_NO_NODE, NULL}, &out));
    t->y = out.pooled;
    sr_builder_free(b);
}

static void start(Net *t, const SrTrunk *trunk, const SrTrunkExample *example) {
    *t = (Net){.trunk = trunk, .options = example->options};
    build(t, example);
    CHECK_OK(sr_params_allocate(t->params));
    sr_params_init(t->params, 1);
    SrPlanOptions options = {
        .mode = SR_MODE_TRAIN, .losses = &t->y, .n_losses = 1, .outputs = &t->y, .n_outputs = 1};
    CHECK_OK(sr_plan_compile(t->graph, &options, &t->plan));
}

static void finish(Net *t) {
    sr_plan_free(t->plan);
    sr_graph_free(t->graph);
    sr_params_free(t->params);
    sr_arena_deinit(&t->arena);
}

static int64_t outputs(const Net *t) { return sr_shape_count(sr_graph_at(t->graph, t->y)->shape); }

static void step(Net *t) {
    SrTensor x = sr_plan_input(t->plan, t->x);
    sr_params_zero_grad(t->params);
    fill(x.data, sr_shape_count(x.shape), 1);
    sr_plan_forward(t->plan, 0);
    fill(sr_plan_seed(t->plan, t->y), outputs(t), 2);
    sr_plan_backward(t->plan);
}

static bool learned(const SrParam *p) { return p->trainable && p->grad; }

static double size_of(const SrParam *p) {
    double sum = 0;
    int64_t n = sr_shape_count(p->shape);
    for (int64_t i = 0; i < n; i++)
        sum += (double)p->grad[i] * (double)p->grad[i];
    return sqrt(sum / (double)n);
}

// Returns the step of a parameter along the direction: scaled so that each parameter contributes
// equally to the slope. A parameter with almost no gradient (a bias before a norm) gets a small
// step, as if it had none.
static double step_of(const SrParam *p, double largest) {
    return 1 / fmax(size_of(p), 1e-3 * largest) / sqrt((double)sr_shape_count(p->shape));
}

typedef struct {
    // slope: derivative along the direction, by the plan's gradients. longest: largest component of
    // the direction.
    double slope, longest;
    double largest;
} Direction;

static void each_number(const Net *t, Direction *d, ToyRun *run, double eps) {
    for (int i = 0; i < sr_params_count(t->params); i++) {
        const SrParam *p = sr_params_at(t->params, i);
        if (!learned(p))
            continue;
        SrRng rng = sr_rng(3, SR_RNG_INIT, (uint64_t)i, 0, 0, 0);
        double along = step_of(p, d->largest);
        for (int64_t k = 0; k < sr_shape_count(p->shape); k++) {
            double v = along * sr_rng_normal(&rng);
            if (run) {
                run->param[i][k] += eps * v;
            } else {
                d->slope += v * (double)p->grad[k];
                d->longest = fmax(d->longest, fabs(v));
            }
        }
    }
}

static double value_in_double(const Net *t, Direction *d, const float *weights, double eps) {
    ToyRun *run = toy_run_new(t->graph, SR_MODE_TRAIN);
    double sum = 0;
    toy_run_input(run, t->x, sr_plan_input(t->plan, t->x).data);
    each_number(t, d, run, eps);
    toy_run(run);
    for (int64_t i = 0; i < outputs(t); i++)
        sum += (double)weights[i] * run->value[t->y][i];
    toy_run_free(run);
    return sum;
}

static void gradient_case(Net *t) {
    Direction d = {0};
    float *weights = sr_arena_alloc(&t->arena, (size_t)outputs(t) * sizeof *weights);
    int n = 0;
    step(t);
    fill(weights, outputs(t), 2);
    for (int i = 0; i < sr_params_count(t->params); i++) {
        const SrParam *p = sr_params_at(t->params, i);
        if (learned(p))
            d.largest = fmax(d.largest, size_of(p)), n++;
    }
    if (n == 0) // the trunk of raw pixels has no parameters
        return;
    each_number(t, &d, NULL, 0);
    double eps = 1e-6 / d.longest, side[2];
#pragma omp parallel for schedule(static)
    for (int k = 0; k < 2; k++)
        side[k] = value_in_double(t, &d, weights, k ? -eps : eps);
    double slope = (side[0] - side[1]) / (2 * eps);
    if (!(fabs(slope - d.slope) <= 1e-2 * sqrt(n)))
        fail_msg("%s %s: gradients say %.9g, differences %.9g, of %d parameters", t->trunk->name,
                 t->options, d.slope, slope, n);
}

static void each_example(int most, void (*body)(Net *t)) {
    for (int i = 0; sr_trunk_at(i); i++)
        for (int k = 0; k < SR_MIN(sr_trunk_at(i)->examples.n, most); k++) {
            Net t;
            start(&t, sr_trunk_at(i), &sr_trunk_at(i)->examples.v[k]);
            body(&t);
            finish(&t);
        }
}

TEST(test_gradients) { each_example(1, gradient_case); }

// Returns a hash of the outputs and the gradients of all parameters.
static uint64_t bits_of(const Net *t) {
    SrTensor y = sr_plan_output(t->plan, t->y);
    uint64_t hash = 1469598103934665603u;
    for (int i = -1; i < sr_params_count(t->params); i++) {
        const SrParam *p = i < 0 ? NULL : sr_params_at(t->params, i);
        if (p && !learned(p))
            continue;
        const unsigned char *bytes = p ? (const unsigned char *)p->grad : y.data;
        size_t n = sizeof(float) * (size_t)sr_shape_count(p ? p->shape : y.shape);
        for (size_t k = 0; k < n; k++)
            hash = (hash ^ bytes[k]) * 1099511628211u;
    }
    return hash;
}

static void threads_case(Net *t) {
    int threads = sr_parallel_threads();
    uint64_t bits[2];
    sr_plan_free(t->plan);
    for (int k = 0; k < 2; k++) {
        SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                                 .losses = &t->y,
                                 .n_losses = 1,
                                 .outputs = &t->y,
                                 .n_outputs = 1};
        sr_parallel_set_threads(k + 1);
        sr_params_init(t->params, 1);
        CHECK_OK(sr_plan_compile(t->graph, &options, &t->plan));
        step(t);
        bits[k] = bits_of(t);
        if (k == 0)
            sr_plan_free(t->plan);
    }
    sr_parallel_set_threads(threads);
    if (bits[0] != bits[1])
        fail_msg("%s %s: other bits with two threads", t->trunk->name, t->options);
}

TEST(test_threads) { each_example(2, threads_case); }

static void allocation_case(Net *t) {
    step(t);
    int64_t calls = sr_mem_calls();
    step(t);
    if (sr_mem_calls() != calls)
        fail_msg("%s %s: a step allocates %lld times", t->trunk->name, t->options,
                 (long long)(sr_mem_calls() - calls));
}

TEST(test_steps_do_not_allocate) { each_example(2, allocation_case); }

SR_TESTS(trunk_steps, unit(test_gradients), unit(test_threads), unit(test_steps_do_not_allocate))
