// Compares a plan's outputs and gradients with the same graph in double precision (gradients.h).
#include "tests/graph/gradients.h"

#include <math.h>

#include "graph/plan/plan_run.h"
#include "tests/check.h"
#include "tests/graph/toy.h"

typedef struct {
    const GradientCheck *c;
    ToyRun *run; // the graph in double precision
} Check;

static int64_t count(const GradientCheck *c, SrNodeId id) {
    return sr_shape_count(sr_graph_at(c->graph, id)->shape);
}

// Returns sum(output * seed) in double precision.
static double objective(const Check *t) {
    double sum = 0;
    toy_run(t->run);
    for (int i = 0; i < t->c->n_outputs; i++) {
        const float *seed = sr_plan_seed(t->c->plan, t->c->outputs[i]);
        for (int64_t k = 0; k < count(t->c, t->c->outputs[i]); k++)
            sum += t->run->value[t->c->outputs[i]][k] * (double)seed[k];
    }
    return sum;
}

// Returns +1 or -1 for number k: together they form a direction in which every number of a
// parameter moves.
static double sign(int64_t k) { return (((uint64_t)k * 0x9E3779B97F4A7C15u) >> 40) & 1 ? 1 : -1; }

static void move(double *w, int64_t n, double by) {
    for (int64_t k = 0; k < n; k++)
        w[k] += by * sign(k);
}

static double root_mean_square(const double *w, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += w[k] * w[k];
    return sqrt(sum / (double)n);
}

// Returns the derivative along the direction of sign() by central differences with a step of 1e-5
// of the parameter's size. If the kink of a ReLU or a maximum lies within the step, the slopes of
// both sides differ; the step then shrinks until the kink is outside, or until rounding, 1e-15 /
// h, would dominate. scale: norm of the gradient.
static double slope(const Check *t, int param, int64_t n, double scale) {
    double *w = t->run->param[param], middle = objective(t), central = 0;
    double size = root_mean_square(w, n), h = 1e-5 * fmax(size, 0.01);
    for (bool smooth = false; !smooth && h > 1e-8; h /= 4) {
        move(w, n, h);
        double above = objective(t);
        move(w, n, -2 * h);
        double below = objective(t);
        move(w, n, h);
        central = (above - below) / (2 * h);
        smooth = fabs(above - 2 * middle + below) / h <= 1e-3 * scale + 1e-6;
    }
    return central;
}

// The outputs of the plan in single precision agree with those of the graph in double precision.
static void check_forward(const Check *t) {
    for (int i = 0; i < t->c->n_outputs; i++) {
        SrNodeId id = t->c->outputs[i];
        SrTensor y = sr_plan_output(t->c->plan, id);
        double largest = 0, worst = 0;
        for (int64_t k = 0; k < sr_shape_count(y.shape); k++) {
            largest = fmax(largest, fabs(t->run->value[id][k]));
            worst = fmax(worst, fabs(t->run->value[id][k] - (double)((const float *)y.data)[k]));
        }
        if (!(largest > 0 && worst <= 1e-4 * largest))
            fail_msg("output %d: off by %g of at most %g", i, worst, largest);
    }
}

// Checks the gradient of parameter i along the direction of sign().
static void check_gradient(const Check *t, int i) {
    const SrParam *p = sr_params_at(t->c->params, i);
    int64_t n = sr_shape_count(p->shape);
    double got = 0, squares = 0;
    for (int64_t k = 0; k < n; k++) {
        got += sign(k) * (double)p->grad[k];
        squares += (double)p->grad[k] * (double)p->grad[k];
    }
    // A bias before a batch norm has gradient 0; the rounding of single precision is allowed.
    double norm = sqrt(squares), expected = slope(t, i, n, norm);
    if (!(fabs(got - expected) <= 1e-3 * norm + 1e-5))
        fail_msg("%s: gradient along a direction %g, finite differences %g (norm %g)", p->name, got,
                 expected, norm);
}

// Checks all outputs and the gradients of all trainable parameters.
int gradients_check(const GradientCheck *c) {
    Check t = {c, toy_run_new(c->graph, SR_MODE_TRAIN)};
    int checked = 0;
    for (int i = 0; i < c->n_inputs; i++)
        toy_run_input(t.run, c->inputs[i], sr_plan_input(c->plan, c->inputs[i]).data);
    sr_params_zero_grad(c->params);
    sr_plan_forward(c->plan, 0);
    sr_plan_backward(c->plan);
    objective(&t);
    check_forward(&t);
    for (int i = 0; i < sr_params_count(c->params); i++) {
        if (!sr_params_at(c->params, i)->trainable)
            continue;
        check_gradient(&t, i);
        checked++;
    }
    toy_run_free(t.run);
    return checked;
}

void gradients_fill(const GradientCheck *c) {
    for (int i = 0; i < c->n_inputs; i++) {
        SrTensor x = sr_plan_input(c->plan, c->inputs[i]);
        toy_fill(x.data, sr_shape_count(x.shape), (uint64_t)i);
    }
    for (int i = 0; i < c->n_outputs; i++)
        toy_fill(sr_plan_seed(c->plan, c->outputs[i]), count(c, c->outputs[i]), 100 + (uint64_t)i);
}
