// Choice of a design for each pass, and what all designs share: shapes, bias, gradient of the
// bias.  The designs are in the other conv_*.c files.
#include "kernels/conv/conv.h"

#include <string.h>

#include "base/bf16.h"
#include "base/compiler.h"
#include "base/parallel.h"
#include "kernels/conv/conv_design.h"
#include "kernels/conv/conv_wide.h"

static const SrConvDesign *const designs[] = {
    &sr__conv_direct,    &sr__conv_padded, &sr__conv_winograd2, &sr__conv_winograd3,
    &sr__conv_winograd4, &sr__conv_tiles,  &sr__conv_tile_stem, &sr__conv_grouped};

// Returns the design of least estimated time for tensors of s->type, and that time in *least.
// NULL: there is none.
static const SrConvDesign *fastest(const SrConvShape *s, SrConvPass pass, double *least) {
    const SrConvDesign *best = NULL;
    if (s->type == SR_F32) {
        best = &sr__conv_plain;
        *least = best->cost(s, pass);
    }
    for (int i = 0; i < SR_COUNT(designs); i++) {
        const SrConvDesign *d = designs[i];
        double cost = (d->bit & ~s->machine->conv_designs) ? -1 : d->cost(s, pass);
        if (cost >= 0 && (!best || cost < *least)) {
            best = d;
            *least = cost;
        }
    }
    return best;
}

SrConv sr_conv_choose(const SrConvShape *s) {
    SrConv c = {.shape = *s};
    SR_ASSERT(s->P > 0 && s->Q > 0 && s->machine && (s->type == SR_F32 || s->type == SR_BF16));
    SrConvShape wide = *s;
    wide.type = SR_F32;
    for (int pass = SR_CONV_FORWARD; pass <= SR_CONV_BACKWARD_WEIGHT; pass++) {
        double least = 0, floats = 0;
        c.pass[pass] = fastest(s, (SrConvPass)pass, &least);
        if (s->type == SR_F32)
            continue;
        const SrConvDesign *d = fastest(&wide, (SrConvPass)pass, &floats);
        c.widened[pass] = !c.pass[pass] || least >= floats + sr__conv_wide_cost(s);
        if (c.widened[pass])
            c.pass[pass] = d;
        SR_ASSERT(c.pass[pass]);
    }
    return c;
}

const char *sr_conv_design(const SrConv *c, SrConvPass pass) {
    return c->widened[pass] ? "widened" : c->pass[pass]->name;
}

SrConvPrepared sr_conv_prepared(const SrConv *c, SrConvPass pass) {
    if (pass == SR_CONV_BACKWARD_WEIGHT)
        return (SrConvPrepared){0};
    if (c->widened[pass])
        return sr__conv_wide_prepared(c, pass);
    return c->pass[pass]->prepared(&c->shape, pass);
}

void sr_conv_prepare(const SrConv *c, SrConvPass pass, const float *w, void *prepared) {
    if (!sr_conv_prepared(c, pass).bytes)
        return;
    if (c->widened[pass])
        sr__conv_wide_prepare(c, pass, w, prepared);
    else
        c->pass[pass]->prepare(&c->shape, pass, w, prepared);
}

// Number of runs of pixels over which the gradient of the bias is summed, whatever the number of
// threads.
enum { BIAS_RUNS = 64 };

// The design no longer uses its scratch when the bias is summed, so the larger of the two sizes is
// enough.
size_t sr_conv_scratch_bytes(const SrConv *c, SrConvPass pass) {
    size_t bytes = c->widened[pass] ? sr__conv_wide_scratch(c, pass)
                                    : c->pass[pass]->scratch_bytes(&c->shape, pass);
    size_t bias =
        pass == SR_CONV_BACKWARD_WEIGHT ? sizeof(float) * BIAS_RUNS * (size_t)c->shape.K : 0;
    return SR_MAX(bytes, bias);
}

typedef struct {
    const SrConvShape *s;
    const void *dy; // (N, P, Q, K)
    float *sums;    // (BIAS_RUNS, K)
} BiasJob;

// Sums run i of the pixels; the run's bounds depend on the shape alone.
static void sum_bias_run(void *arg, int64_t i, int thread) {
    (void)thread;
    const BiasJob *job = arg;
    int K = job->s->K;
    int64_t pixels = (int64_t)job->s->N * job->s->P * job->s->Q;
    float *sum = job->sums + i * K;
    memset(sum, 0, sizeof(float) * (size_t)K);
    for (int64_t p = pixels * i / BIAS_RUNS; p < pixels * (i + 1) / BIAS_RUNS; p++) {
        const SrBf16 *half = (const SrBf16 *)job->dy + p * K;
        const float *whole = (const float *)job->dy + p * K;
        if (job->s->type == SR_BF16)
            for (int k = 0; k < K; k++)
                sum[k] += sr_bf16_float(half[k]);
        else
            for (int k = 0; k < K; k++)
                sum[k] += whole[k];
    }
}

void sr_conv_backward_bias(const SrConv *c, const void *dy, float *dbias, void *scratch) {
    const SrConvShape *s = &c->shape;
    BiasJob job = {.s = s, .dy = dy, .sums = scratch};
    sr_parallel_for(BIAS_RUNS, sum_bias_run, &job);
    for (int i = 0; i < BIAS_RUNS; i++)
        for (int k = 0; k < s->K; k++)
            dbias[k] += job.sums[i * s->K + k];
}

int64_t sr_conv_sum_units(const SrConv *c) {
    const SrConvDesign *d = c->pass[SR_CONV_FORWARD];
    return d->sum_units && !c->widened[SR_CONV_FORWARD] ? d->sum_units(&c->shape) : 0;
}

void sr_conv_forward_end(const SrConv *c, const void *x, const float *w, const SrConvEnd *end,
                         void *y, void *scratch) {
    if (c->widened[SR_CONV_FORWARD]) {
        sr__conv_wide_forward(c, x, w, end, y, scratch);
        return;
    }
    sr__conv_design_forward(c->pass[SR_CONV_FORWARD], &c->shape, x, w, end, y, scratch);
}

void sr_conv_forward(const SrConv *c, const void *x, const float *w, const float *bias, void *y,
                     void *scratch) {
    sr_conv_forward_end(c, x, w, &(SrConvEnd){.bias = bias}, y, scratch);
}

void sr_conv_backward_data(const SrConv *c, const void *dy, const float *w, void *dx, bool add,
                           void *scratch) {
    if (c->widened[SR_CONV_BACKWARD_DATA])
        sr__conv_wide_backward_data(c, dy, w, dx, add, scratch);
    else
        c->pass[SR_CONV_BACKWARD_DATA]->backward_data(&c->shape, dy, w, dx, add, scratch);
}

void sr_conv_backward_weight(const SrConv *c, const void *x, const void *dy, float *dw,
                             float *dbias, void *scratch) {
    const SrConvDesign *d = c->pass[SR_CONV_BACKWARD_WEIGHT];
    bool wide = c->widened[SR_CONV_BACKWARD_WEIGHT];
    if (!wide && dbias && d->sums_bias && d->sums_bias(&c->shape)) {
        d->backward_weight_bias(&c->shape, x, dy, dw, dbias, scratch);
        return;
    }
    if (wide)
        sr__conv_wide_backward_weight(c, x, dy, dw, scratch);
    else
        d->backward_weight(&c->shape, x, dy, dw, scratch);
    if (dbias)
        sr_conv_backward_bias(c, dy, dbias, scratch);
}

void sr_conv_backward(const SrConv *c, const void *x, const void *dy, const float *w, void *dx,
                      bool add, float *dw, float *dbias, void *scratch) {
    const SrConvDesign *d = c->pass[SR_CONV_BACKWARD_WEIGHT];
    bool wide = c->widened[SR_CONV_BACKWARD_WEIGHT] || c->widened[SR_CONV_BACKWARD_DATA];
    if (!wide && d->backward_both && c->pass[SR_CONV_BACKWARD_DATA] == d) {
        d->backward_both(&c->shape, x, dy, w, dx, add, dw, scratch);
        if (dbias)
            sr_conv_backward_bias(c, dy, dbias, scratch);
        return;
    }
    sr_conv_backward_weight(c, x, dy, dw, dbias, scratch);
    sr_conv_backward_data(c, dy, w, dx, add, scratch);
}
