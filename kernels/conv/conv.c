// The door: picks the design that promises the least time, and does what all of them share (shapes,
// bias, gradient of the bias).  No arithmetic of a convolution is here.
#include "kernels/conv/conv.h"

#include <string.h>

#include "base/bf16.h"
#include "base/parallel.h"
#include "kernels/conv/conv_design.h"

static const SrConvDesign *const designs[] = {
    &sr__conv_direct,    &sr__conv_padded, &sr__conv_winograd2, &sr__conv_winograd3,
    &sr__conv_winograd4, &sr__conv_tiles,  &sr__conv_tile_stem, &sr__conv_grouped};
static unsigned allowed = SR_CONV_ALL; // sr_conv_allow

void sr_conv_allow(unsigned mask) { allowed = mask; }

unsigned sr_conv_allowed(void) { return allowed; }

void sr_conv_shape(SrConvShape *s) {
    s->P = (s->H + 2 * s->pad_h - s->dilation_h * (s->R - 1) - 1) / s->stride_h + 1;
    s->Q = (s->W + 2 * s->pad_w - s->dilation_w * (s->S - 1) - 1) / s->stride_w + 1;
}

// The same answer for the size of the scratch and for the call that gets it: it depends on nothing
// but the shape, the pass and the mask.
static const SrConvDesign *choose(const SrConvShape *s, SrConvPass pass) {
    const SrConvDesign *best = s->type == SR_BF16 ? &sr__conv_wide : &sr__conv_plain;
    double least = best->cost(s, pass);
    for (int i = 0; i < SR_COUNT(designs); i++) {
        const SrConvDesign *d = designs[i];
        double cost = (d->bit & ~allowed) ? -1 : d->cost(s, pass);
        if (cost >= 0 && cost < least) {
            best = d;
            least = cost;
        }
    }
    return best;
}

double sr__conv_cost(const SrConvShape *s, SrConvPass pass) {
    return choose(s, pass)->cost(s, pass);
}

const char *sr_conv_design(const SrConvShape *s, SrConvPass pass) { return choose(s, pass)->name; }

SrConvPrepared sr_conv_prepared(const SrConvShape *s, SrConvPass pass) {
    return pass == SR_CONV_BACKWARD_WEIGHT ? (SrConvPrepared){0}
                                           : choose(s, pass)->prepared(s, pass);
}

void sr_conv_prepare(const SrConvShape *s, SrConvPass pass, const float *w, void *prepared) {
    if (sr_conv_prepared(s, pass).bytes)
        choose(s, pass)->prepare(s, pass, w, prepared);
}

// The gradient of the bias is summed over this many runs of pixels, whatever the number of threads.
enum { BIAS_RUNS = 64 };

// The design's scratch is free again when the bias is summed, so the larger of the two is enough.
size_t sr_conv_scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    size_t bytes = choose(s, pass)->scratch_bytes(s, pass);
    size_t bias = pass == SR_CONV_BACKWARD_WEIGHT ? sizeof(float) * BIAS_RUNS * (size_t)s->K : 0;
    return SR_MAX(bytes, bias);
}

typedef struct {
    const SrConvShape *s;
    const void *dy; // (N, P, Q, K)
    float *sums;    // (BIAS_RUNS, K)
} BiasJob;

// Run i of the pixels; its bounds depend on the shape alone.
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

void sr_conv_backward_bias(const SrConvShape *s, const void *dy, float *dbias, void *scratch) {
    BiasJob job = {.s = s, .dy = dy, .sums = scratch};
    sr_parallel_for(BIAS_RUNS, sum_bias_run, &job);
    for (int i = 0; i < BIAS_RUNS; i++)
        for (int k = 0; k < s->K; k++)
            dbias[k] += job.sums[i * s->K + k];
}

int64_t sr_conv_sum_units(const SrConvShape *s) {
    const SrConvDesign *d = choose(s, SR_CONV_FORWARD);
    return d->sum_units ? d->sum_units(s) : 0;
}

typedef struct {
    const SrConvShape *s;
    const SrConvEnd *end;
    char *y;
} Activation;

static void activate_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Activation *a = arg;
    int64_t row = (int64_t)a->s->Q * a->s->K;
    char *y = a->y + i * row * (int64_t)sr_dtype_bytes(a->s->type);
    a->end->activate(a->s->type, y, y, row);
}

void sr_conv_forward_end(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                         void *y, void *scratch) {
    const SrConvDesign *d = choose(s, SR_CONV_FORWARD);
    SrConvEnd taken = *end;
    if (d->ends_with_relu_only)
        taken.activate = NULL;
    bool nothing =
        !taken.bias && !taken.residual && !taken.relu && !taken.sums.unit && !taken.activate;
    d->forward(s, x, w, nothing ? NULL : &taken, y, scratch);
    Activation a = {s, end, y};
    if (end->activate && !taken.activate)
        sr_parallel_for((int64_t)s->N * s->P, activate_row, &a);
}

void sr_conv_forward(const SrConvShape *s, const void *x, const float *w, const float *bias,
                     void *y, void *scratch) {
    sr_conv_forward_end(s, x, w, &(SrConvEnd){.bias = bias}, y, scratch);
}

void sr_conv_backward_data(const SrConvShape *s, const void *dy, const float *w, void *dx, bool add,
                           void *scratch) {
    choose(s, SR_CONV_BACKWARD_DATA)->backward_data(s, dy, w, dx, add, scratch);
}

void sr_conv_backward_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                             float *dbias, void *scratch) {
    const SrConvDesign *d = choose(s, SR_CONV_BACKWARD_WEIGHT);
    if (dbias && d->sums_bias && d->sums_bias(s)) {
        d->backward_weight_bias(s, x, dy, dw, dbias, scratch);
        return;
    }
    d->backward_weight(s, x, dy, dw, scratch);
    if (dbias)
        sr_conv_backward_bias(s, dy, dbias, scratch);
}
