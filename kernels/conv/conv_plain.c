// Convolution by plain loops, for any shape: the design that the others are tested against, and the
// one that remains when no other fits.  It reaches about a tenth of the direct design's speed.
//
// The weights are first reordered so that the innermost loop runs over contiguous channels of the
// output.
#include <string.h>

#include "base/parallel.h"
#include "kernels/conv/conv_design.h"

typedef struct {
    const SrConvShape *s;
    const float *x, *w, *dy; // (N, H, W, C), as packed below, (N, P, Q, K)
    float *y, *dx;
    const float *packed; // as below
    float *dw;           // weight gradient, packed in the same order
    bool add;
    const SrConvEnd *end; // of the forward pass; NULL: nothing follows
} Job;

static int group_in(const SrConvShape *s) { return s->C / s->groups; }
static int group_out(const SrConvShape *s) { return s->K / s->groups; }

static double cost(const SrConvShape *s, SrConvPass pass) {
    (void)pass;
    if (s->type != SR_F32)
        return -1;
    return 20.0 * s->N * s->P * s->Q * s->K * group_in(s) * s->R * s->S;
}

static int64_t weights(const SrConvShape *s) { return (int64_t)s->K * group_in(s) * s->R * s->S; }

static size_t scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    return pass == SR_CONV_BACKWARD_WEIGHT ? sizeof(float) * (size_t)weights(s) : 0;
}

static SrConvPrepared prepared(const SrConvShape *s, SrConvPass pass) {
    return sr__conv_prepared(0, s, pass, weights(s));
}

// Returns the place of weight (k, c, t), t = r * S + s, in the order (group, t, c, k in group).
static size_t place_tck(const SrConvShape *s, int k, int c, int t) {
    int kg = group_out(s), cg = group_in(s), g = k / kg;
    return (((size_t)g * (size_t)(s->R * s->S) + (size_t)t) * (size_t)cg + (size_t)c) * (size_t)kg +
           (size_t)(k % kg);
}

// Returns the place in the order (group, t, k in group, c).
static size_t place_tkc(const SrConvShape *s, int k, int c, int t) {
    int kg = group_out(s), cg = group_in(s), g = k / kg;
    return (((size_t)g * (size_t)(s->R * s->S) + (size_t)t) * (size_t)kg + (size_t)(k % kg)) *
               (size_t)cg +
           (size_t)c;
}

static void prepare(const SrConvShape *s, SrConvPass pass, const float *w, float *packed) {
    size_t (*place)(const SrConvShape *, int, int, int) =
        pass == SR_CONV_FORWARD ? place_tck : place_tkc;
    for (int k = 0; k < s->K; k++)
        for (int c = 0; c < group_in(s); c++)
            for (int t = 0; t < s->R * s->S; t++)
                packed[place(s, k, c, t)] = *w++;
}

// Computes one row of outputs: i = n * P + p.
static void forward_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvShape *s = job->s;
    int cg = group_in(s), kg = group_out(s);
    int64_t n = i / s->P;
    int p = (int)(i % s->P);
    float *y = job->y + i * s->Q * s->K;
    memset(y, 0, sizeof(float) * (size_t)s->Q * (size_t)s->K);
    for (int q = 0; q < s->Q; q++, y += s->K) {
        const float *w = job->packed;
        for (int g = 0; g < s->groups; g++)
            for (int t = 0; t < s->R * s->S; t++, w += (size_t)cg * (size_t)kg) {
                int h = p * s->stride_h - s->pad_h + t / s->S * s->dilation_h;
                int v = q * s->stride_w - s->pad_w + t % s->S * s->dilation_w;
                if (h < 0 || h >= s->H || v < 0 || v >= s->W)
                    continue;
                const float *x = job->x + ((n * s->H + h) * s->W + v) * s->C + g * cg;
                for (int c = 0; c < cg; c++)
                    for (int k = 0; k < kg; k++)
                        y[g * kg + k] += x[c] * w[(size_t)c * (size_t)kg + (size_t)k];
            }
        if (job->end)
            sr__conv_finish(s->machine, job->end, SR_F32, job->y, y, 0, s->K);
    }
}

static void forward(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                    void *y, void *scratch) {
    (void)scratch;
    Job job = {.s = s, .x = x, .y = y, .end = end, .packed = w};
    sr_parallel_for((int64_t)s->N * s->P, forward_row, &job);
}

// Returns the output row or column that tap offset `t` carries to input position `at`; -1 if there
// is none.
static int source(int at, int t, int stride, int pad, int dilation, int n) {
    int a = at + pad - t * dilation;
    return a >= 0 && a % stride == 0 && a / stride < n ? a / stride : -1;
}

// Computes one row of input gradients: i = n * H + h.
static void data_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvShape *s = job->s;
    int cg = group_in(s), kg = group_out(s);
    int64_t n = i / s->H;
    int h = (int)(i % s->H);
    float *dx = job->dx + i * s->W * s->C;
    if (!job->add)
        memset(dx, 0, sizeof(float) * (size_t)s->W * (size_t)s->C);
    for (int v = 0; v < s->W; v++, dx += s->C) {
        const float *w = job->packed;
        for (int g = 0; g < s->groups; g++)
            for (int t = 0; t < s->R * s->S; t++, w += (size_t)cg * (size_t)kg) {
                int p = source(h, t / s->S, s->stride_h, s->pad_h, s->dilation_h, s->P);
                int q = source(v, t % s->S, s->stride_w, s->pad_w, s->dilation_w, s->Q);
                if (p < 0 || q < 0)
                    continue;
                const float *dy = job->dy + ((n * s->P + p) * s->Q + q) * s->K + g * kg;
                for (int k = 0; k < kg; k++)
                    for (int c = 0; c < cg; c++)
                        dx[g * cg + c] += dy[k] * w[(size_t)k * (size_t)cg + (size_t)c];
            }
    }
}

static void backward_data(const SrConvShape *s, const void *dy, const float *w, void *dx, bool add,
                          void *scratch) {
    (void)scratch;
    Job job = {.s = s, .dy = dy, .dx = dx, .packed = w, .add = add};
    sr_parallel_for((int64_t)s->N * s->H, data_row, &job);
}

// Adds the gradients of one tap of one group: i = g * R * S + t.  One thread walks all pixels in
// order.
static void weight_tap(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvShape *s = job->s;
    int cg = group_in(s), kg = group_out(s);
    int g = (int)(i / (s->R * s->S)), t = (int)(i % (s->R * s->S));
    float *dw = job->dw + (size_t)i * (size_t)cg * (size_t)kg;
    memset(dw, 0, sizeof(float) * (size_t)cg * (size_t)kg);
    const float *dy = job->dy + g * kg;
    for (int64_t pixel = 0; pixel < (int64_t)s->N * s->P * s->Q; pixel++, dy += s->K) {
        int64_t n = pixel / (s->P * s->Q);
        int p = (int)(pixel / s->Q % s->P), q = (int)(pixel % s->Q);
        int h = p * s->stride_h - s->pad_h + t / s->S * s->dilation_h;
        int v = q * s->stride_w - s->pad_w + t % s->S * s->dilation_w;
        if (h < 0 || h >= s->H || v < 0 || v >= s->W)
            continue;
        const float *x = job->x + ((n * s->H + h) * s->W + v) * s->C + g * cg;
        for (int c = 0; c < cg; c++)
            for (int k = 0; k < kg; k++)
                dw[(size_t)c * (size_t)kg + (size_t)k] += x[c] * dy[k];
    }
}

static void backward_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            void *scratch) {
    Job job = {.s = s, .x = x, .dy = dy, .dw = scratch};
    sr_parallel_for((int64_t)s->groups * s->R * s->S, weight_tap, &job);
    for (int k = 0; k < s->K; k++)
        for (int c = 0; c < group_in(s); c++)
            for (int t = 0; t < s->R * s->S; t++)
                *dw++ += job.dw[place_tck(s, k, c, t)];
}

const SrConvDesign sr__conv_plain = {
    .name = "plain",
    .cost = cost,
    .scratch_bytes = scratch_bytes,
    .prepared = prepared,
    .prepare = prepare,
    .forward = forward,
    .backward_data = backward_data,
    .backward_weight = backward_weight,
};
