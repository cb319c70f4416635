// The depthwise design: a filter a channel (groups = C = K), kernels of 3, 5 or 7 columns at stride 1 or 2.  Rows of
// pixels are units; each is summed over the rows of the kernel that meet it, vectors of channels wide.
//
// The gradient of the input is the same sum with the kernel turned round at stride 1, and its transpose at stride 2.
// The gradient of the weights is summed over runs of rows, whose number depends on the shape alone.  bfloat16 comes
// here as floats (conv_wide.c).
#include "kernels/conv/conv_depthwise.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/conv/conv_design.h"

enum {
    SUM_ROWS = 8,      // rows of outputs whose sums are a unit
    WEIGHT_PARTS = 32, // runs of rows whose gradients of the weights are summed apart
    SUM_CHANNELS = 64, // channels of a unit when these are joined
    PREPARED =
        1
        << 16, // in the place of the design's bit: packed weights of no other design look like these
};

static bool suits(const SrConvShape *s) {
    bool width = s->S == 3 || s->S == 5 || s->S == 7;
    return s->type == SR_F32 && s->groups == s->C && s->C == s->K && s->C > 1 && width &&
           s->R <= SR_DEPTHWISE_ROWS && (s->stride_w == 1 || s->stride_w == 2) &&
           s->dilation_w == 1;
}

static double cost(const SrConvShape *s, SrConvPass pass) {
    (void)pass;
    if (!suits(s))
        return -1;
    return 0.5 * (double)s->N * s->P * s->Q * s->K * s->R * s->S;
}

// Weights as (R, S, C); for the gradient of the input the columns are turned round where it gathers.
static SrConvPrepared prepared(const SrConvShape *s, SrConvPass pass) {
    return sr__conv_prepared(PREPARED, s, pass, (int64_t)s->R * s->S * s->C);
}

static void prepare(const SrConvShape *s, SrConvPass pass, const float *w, float *packed) {
    bool turned = pass == SR_CONV_BACKWARD_DATA && s->stride_w == 1;
    for (int r = 0; r < s->R; r++)
        for (int v = 0; v < s->S; v++) {
            float *to = packed + ((int64_t)r * s->S + (turned ? s->S - 1 - v : v)) * s->C;
            for (int c = 0; c < s->C; c++)
                to[c] = w[((int64_t)c * s->R + r) * s->S + v];
        }
}

typedef struct {
    const SrConvShape *s;
    const float *x, *dy;
    float *out;     // y or dx
    const float *w; // prepared
    bool add;
    const SrConvEnd *end;
    const float *zeros; // (C)
    float *part;        // (parts, R, S, C)
    float *dw;
    int parts;
} Job;

static int64_t row_floats(const SrConvShape *s, int columns) { return (int64_t)columns * s->C; }

// The output row p of image n, over the kernel's rows that lie inside the image.
static SrDepthwiseRow forward_row(const Job *job, int n, int p) {
    const SrConvShape *s = job->s;
    SrDepthwiseRow row = {.S = s->S,
                          .stride = s->stride_w,
                          .pad = s->pad_w,
                          .C = s->C,
                          .in_columns = s->W,
                          .out_columns = s->Q,
                          .zeros = job->zeros};
    for (int r = 0; r < s->R; r++) {
        int h = p * s->stride_h - s->pad_h + r * s->dilation_h;
        if (h < 0 || h >= s->H)
            continue;
        row.in[row.rows] = job->x + ((int64_t)n * s->H + h) * row_floats(s, s->W);
        row.w[row.rows++] = job->w + (int64_t)r * s->S * s->C;
    }
    return row;
}

static void finish_row(const Job *job, float *y, int64_t unit, bool begin) {
    const SrConvShape *s = job->s;
    if (job->end->sums.unit)
        sr__depthwise()->sums(y, s->Q, s->K, job->end->sums.unit + unit * 3 * s->K, begin);
    else
        for (int q = 0; q < s->Q; q++)
            sr__conv_finish(job->end, s->type, job->out, y + q * row_floats(s, 1), 0, s->K);
}

// Unit i: SUM_ROWS rows of outputs, over the borders of images.
static void forward_unit(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvShape *s = job->s;
    int64_t first = i * SUM_ROWS, end = SR_MIN(first + SUM_ROWS, (int64_t)s->N * s->P);
    if (job->end && job->end->sums.unit)
        job->end->sums.count[i] = (float)((end - first) * s->Q);
    for (int64_t at = first; at < end; at++) {
        float *y = job->out + at * row_floats(s, s->Q);
        SrDepthwiseRow row = forward_row(job, (int)(at / s->P), (int)(at % s->P));
        sr__depthwise()->gather(&row, y, false);
        if (job->end)
            finish_row(job, y, i, at == first);
    }
}

static int64_t sum_units(const SrConvShape *s) {
    return ((int64_t)s->N * s->P + SUM_ROWS - 1) / SUM_ROWS;
}

static int parts_of(const SrConvShape *s) {
    return (int)SR_MIN((int64_t)s->N * s->P, WEIGHT_PARTS);
}

// Scratch: zeros, and for the weights' gradient the parts.
static size_t zeros_bytes(const SrConvShape *s) {
    return (sizeof(float) * (size_t)s->C + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

static size_t scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    size_t parts = pass == SR_CONV_BACKWARD_WEIGHT ? (size_t)parts_of(s) : 0;
    return zeros_bytes(s) + parts * sizeof(float) * (size_t)(s->R * s->S) * (size_t)s->C;
}

static const float *zeros_in(const SrConvShape *s, void *scratch) {
    return memset(scratch, 0, zeros_bytes(s));
}

static void forward(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                    void *y, void *scratch) {
    Job job = {.s = s, .x = x, .w = w, .out = y, .end = end, .zeros = zeros_in(s, scratch)};
    sr_parallel_for(sum_units(s), forward_unit, &job);
}

// Row i = n * H + h of the gradient of the input, over the outputs' rows that read it.
static void data_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvShape *s = job->s;
    int64_t n = i / s->H;
    bool gathers = s->stride_w == 1;
    SrDepthwiseRow row = {.S = s->S,
                          .stride = s->stride_w,
                          .pad = gathers ? s->S - 1 - s->pad_w : s->pad_w,
                          .C = s->C,
                          .in_columns = s->Q,
                          .out_columns = s->W,
                          .zeros = job->zeros};
    for (int r = 0; r < s->R; r++) {
        int at = (int)(i % s->H) + s->pad_h - r * s->dilation_h;
        if (at < 0 || at % s->stride_h || at / s->stride_h >= s->P)
            continue;
        row.in[row.rows] = job->dy + (n * s->P + at / s->stride_h) * row_floats(s, s->Q);
        row.w[row.rows++] = job->w + (int64_t)r * s->S * s->C;
    }
    float *dx = job->out + i * row_floats(s, s->W);
    if (gathers)
        sr__depthwise()->gather(&row, dx, job->add);
    else
        sr__depthwise()->spread(&row, dx, job->add);
}

static void backward_data(const SrConvShape *s, const void *dy, const float *w, void *dx, bool add,
                          void *scratch) {
    Job job = {.s = s, .dy = dy, .w = w, .out = dx, .add = add, .zeros = zeros_in(s, scratch)};
    sr_parallel_for((int64_t)s->N * s->H, data_row, &job);
}

// Part i: a run of output rows.
static void weight_part(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvShape *s = job->s;
    int64_t rows = (int64_t)s->N * s->P, filter = (int64_t)s->R * s->S * s->C;
    float *part = job->part + i * filter; // (R, S, C)
    memset(part, 0, sizeof(float) * (size_t)filter);
    for (int64_t at = rows * i / job->parts; at < rows * (i + 1) / job->parts; at++) {
        SrDepthwiseRow row = forward_row(job, (int)(at / s->P), (int)(at % s->P));
        for (int k = 0; k < row.rows; k++) // the distance of w says which row of the kernel it is
            sr__depthwise()->weights(&row, k, job->dy + at * row_floats(s, s->Q),
                                     part + (row.w[k] - job->w));
    }
}

// dw (K, 1, R, S) += the parts, in order, of SUM_CHANNELS channels.
static void join_parts(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvShape *s = job->s;
    int taps = s->R * s->S, c0 = (int)i * SUM_CHANNELS, n = SR_MIN(SUM_CHANNELS, s->C - c0);
    for (int t = 0; t < taps; t++) {
        float sum[SUM_CHANNELS] = {0};
        for (int k = 0; k < job->parts; k++) {
            const float *part = job->part + ((int64_t)k * taps + t) * s->C + c0;
            for (int c = 0; c < n; c++)
                sum[c] += part[c];
        }
        for (int c = 0; c < n; c++)
            job->dw[(int64_t)(c0 + c) * taps + t] += sum[c];
    }
}

static void backward_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            void *scratch) {
    Job job = {.s = s, .x = x, .dy = dy, .dw = dw, .parts = parts_of(s)};
    job.zeros = zeros_in(s, scratch);
    job.part = (float *)((char *)scratch + zeros_bytes(s));
    job.w = job.part; // a base to count kernel rows from
    sr_parallel_for(job.parts, weight_part, &job);
    sr_parallel_for(sr__conv_ceil_div(s->C, SUM_CHANNELS), join_parts, &job);
}

const SrConvDesign sr__conv_depthwise = {
    .name = "depthwise",
    .bit = SR_CONV_DIRECT, // a special case of it
    .cost = cost,
    .scratch_bytes = scratch_bytes,
    .prepared = prepared,
    .prepare = prepare,
    .sum_units = sum_units,
    .forward = forward,
    .backward_data = backward_data,
    .backward_weight = backward_weight,
};
