// Convolution in groups of few channels: 1 (depthwise, kernels of 3, 5 or 7 columns) or 2, 4, 8 or
// 16 (3 columns), as many out as in, at stride 1 or 2.  A unit is a run of pixel rows.  Each row is
// summed over the kernel rows that meet it, in vectors of channels.  Several groups share a
// vector.  The direct design would leave most of the vector empty, or pick lanes for every product
// where one pick serves three kernel columns here.
//
// The gradient of the input is the same sum with the kernel rotated at stride 1, and the transpose
// at stride 2.  The gradient of the weights is summed over runs of rows, whose number depends on
// the shape alone.  bfloat16 is converted to floats before (conv_wide.c).
#include "kernels/conv/conv_grouped.h"

#include <string.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "kernels/conv/conv_design.h"

enum {
    SUM_ROWS = 8,      // rows of outputs whose sums make a unit
    WEIGHT_PARTS = 32, // runs of rows with separate gradients of the weights
    SUM_CHANNELS = 64, // channels of a unit when the runs are added
    MOST_LANES = SR_ALIGN / (int)sizeof(float),
    // Key of packed weights, in the place of the design's bit: no other design has the same one.
    PREPARED = 1 << 16,
};

static int own_of(const SrConvShape *s) { return s->C / s->groups; }

static bool suits(const SrConvShape *s) {
    int own = own_of(s), lanes = sr__grouped(s->machine)->lanes;
    bool width = s->S == 3 || (own == 1 && (s->S == 5 || s->S == 7));
    return s->type == SR_F32 && s->groups > 1 && s->C == s->K && own <= lanes && lanes % own == 0 &&
           width && s->R <= SR_GROUPED_ROWS && (s->stride_w == 1 || s->stride_w == 2) &&
           s->dilation_w == 1;
}

static double cost(const SrConvShape *s, SrConvPass pass) {
    (void)pass;
    if (!suits(s))
        return -1;
    return 0.5 * (double)s->N * s->P * s->Q * s->K * own_of(s) * s->R * s->S;
}

static int64_t filter_floats(const SrConvShape *s) {
    return (int64_t)s->R * s->S * own_of(s) * s->C;
}

// Weights in the order (R, S, own, C).
static SrConvPrepared prepared(const SrConvShape *s, SrConvPass pass) {
    return sr__conv_prepared(PREPARED, s, pass, filter_floats(s));
}

typedef struct {
    const SrConvShape *s;
    SrConvPass pass;
    const float *w; // (K, own, R, S)
    float *packed;
} Packing;

// Packs row i = (tap, g).  The gradient of the input reads the transposed filter, with its columns
// reversed where it gathers.
static void pack_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Packing *p = arg;
    const SrConvShape *s = p->s;
    int own = own_of(s), taps = s->R * s->S, t = (int)(i / own), g = (int)(i % own);
    SR_ASSERT(t < taps);
    bool data = p->pass == SR_CONV_BACKWARD_DATA;
    int at = data && s->stride_w == 1 ? t / s->S * s->S + s->S - 1 - t % s->S : t;
    float *to = p->packed + i * s->C;
    for (int c = 0; c < s->C; c++) {
        int in_group = c % own, k = data ? c - in_group + g : c;
        to[c] = p->w[((int64_t)k * own + (data ? in_group : g)) * taps + at];
    }
}

static void prepare(const SrConvShape *s, SrConvPass pass, const float *w, float *packed) {
    Packing packing = {s, pass, w, packed};
    sr_parallel_for((int64_t)s->R * s->S * own_of(s), pack_row, &packing);
}

typedef struct {
    const SrConvShape *s;
    const float *x, *dy; // x is NULL where the gradient of the input comes alone
    float *out;          // y or dx
    const float *w;      // prepared
    bool add;
    const SrConvEnd *end;
    const float *zeros;            // (C)
    int32_t lane_from[MOST_LANES]; // SrGroupedRow.lane_from
    float *part;                   // (parts, R, S, own, C)
    int parts;
} Job;

static void group_lanes(Job *job) {
    int own = own_of(job->s);
    for (int k = 0; k < MOST_LANES; k++)
        job->lane_from[k] = k / own * own;
}

static int64_t row_floats(const SrConvShape *s, int columns) { return (int64_t)columns * s->C; }

// Returns output row p of image n, over the kernel rows that lie inside the image.
static SrGroupedRow forward_row(const Job *job, int n, int p) {
    const SrConvShape *s = job->s;
    SrGroupedRow row = {.S = s->S,
                        .stride = s->stride_w,
                        .pad = s->pad_w,
                        .own = own_of(s),
                        .lane_from = job->lane_from,
                        .C = s->C,
                        .in_columns = s->W,
                        .out_columns = s->Q,
                        .zeros = job->zeros};
    for (int r = 0; r < s->R; r++) {
        int h = p * s->stride_h - s->pad_h + r * s->dilation_h;
        if (h < 0 || h >= s->H)
            continue;
        row.in[row.rows] = job->x + ((int64_t)n * s->H + h) * row_floats(s, s->W);
        row.w[row.rows++] = job->w + r * (filter_floats(s) / s->R);
    }
    return row;
}

// Applies what follows a row without sums.
static void finish_row(const Job *job, float *y) {
    const SrConvShape *s = job->s;
    for (int q = 0; q < s->Q; q++)
        sr__conv_finish(s->machine, job->end, s->type, job->out, y + q * row_floats(s, 1), 0, s->K);
}

// Sets what the row after output row at = n * P + p reads: the rows of x that this one did not.
static void set_forward_ahead(const Job *job, int64_t at, SrGroupedOut *out) {
    const SrConvShape *s = job->s;
    int64_t bytes = (int64_t)sizeof(float) * row_floats(s, s->W);
    int64_t next =
        at / s->P * s->H + at % s->P * s->stride_h - s->pad_h + (s->R - 1) * s->dilation_h + 1;
    out->ahead[0] =
        sr__grouped_ahead(job->x, (int64_t)s->N * s->H, bytes, next, next + s->stride_h);
}

// Runs unit i: SUM_ROWS rows of outputs, across images.
static void forward_unit(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvShape *s = job->s;
    int64_t first = i * SUM_ROWS, end = SR_MIN(first + SUM_ROWS, (int64_t)s->N * s->P);
    float *sums = job->end ? job->end->sums.unit : NULL;
    bool finish = job->end && !sums;
    int64_t count = (int64_t)s->N * s->P * row_floats(s, s->Q);
    SrGroupedOut out = {.stream = !finish && sr__conv_streams(job->out, count, s->K),
                        .sums = sums ? sums + i * 3 * s->K : NULL};
    if (sums)
        job->end->sums.count[i] = (float)((end - first) * s->Q);
    for (int64_t at = first; at < end; at++) {
        SrGroupedRow row = forward_row(job, (int)(at / s->P), (int)(at % s->P));
        out.to = job->out + at * row_floats(s, s->Q);
        out.begin = at == first;
        set_forward_ahead(job, at, &out);
        sr__grouped(s->machine)->gather(&row, &out);
        if (finish)
            finish_row(job, out.to);
    }
}

static int64_t sum_units(const SrConvShape *s) {
    return ((int64_t)s->N * s->P + SUM_ROWS - 1) / SUM_ROWS;
}

static int parts_of(const SrConvShape *s) {
    return (int)SR_MIN((int64_t)s->N * s->P, WEIGHT_PARTS);
}

// Shared scratch: zeros and, for the gradient of the weights, the parts.
static size_t zeros_bytes(const SrConvShape *s) {
    return (sizeof(float) * (size_t)s->C + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

static size_t scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    size_t parts = pass == SR_CONV_BACKWARD_WEIGHT ? (size_t)parts_of(s) : 0;
    return zeros_bytes(s) + parts * sizeof(float) * (size_t)filter_floats(s);
}

static const float *zeros_in(const SrConvShape *s, void *scratch) {
    return memset(scratch, 0, zeros_bytes(s));
}

static void forward(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                    void *y, void *scratch) {
    Job job = {.s = s, .x = x, .w = w, .out = y, .end = end, .zeros = zeros_in(s, scratch)};
    group_lanes(&job);
    sr_parallel_for(sum_units(s), forward_unit, &job);
}

SrGroupedRow sr__grouped_data_window(const SrConvShape *s, const float *w, const float *zeros,
                                     const int32_t *lane_from, int h, int at[SR_GROUPED_ROWS]) {
    SrGroupedRow row = {.S = s->S,
                        .stride = s->stride_w,
                        .pad = s->stride_w == 1 ? s->S - 1 - s->pad_w : s->pad_w,
                        .own = own_of(s),
                        .lane_from = lane_from,
                        .C = s->C,
                        .in_columns = s->Q,
                        .out_columns = s->W,
                        .zeros = zeros};
    for (int r = 0; r < s->R; r++) {
        int p = h + s->pad_h - r * s->dilation_h;
        if (p < 0 || p % s->stride_h || p / s->stride_h >= s->P)
            continue;
        at[row.rows] = p / s->stride_h;
        row.w[row.rows++] = w + r * (filter_floats(s) / s->R);
    }
    return row;
}

void sr__grouped_data(const SrConvShape *s, const SrGroupedRow *row, const SrGroupedOut *out) {
    if (s->stride_w == 1)
        sr__grouped(s->machine)->gather(row, out);
    else
        sr__grouped(s->machine)->spread(row, out);
}

// Sets what the rows after row i = n * H + h of the gradient of the input read: the next row of dy
// and, where the gradient of the weights is computed as well, the next row of x.
static void set_ahead(const Job *job, int64_t i, SrGroupedOut *out) {
    const SrConvShape *s = job->s;
    int64_t dy_row = i / s->H * s->P + sr__grouped_next_output(s, (int)(i % s->H));
    int64_t x_row = i - s->pad_h + (s->R - 1) * s->dilation_h + 1;
    int64_t dy_bytes = (int64_t)sizeof(float) * row_floats(s, s->Q);
    int64_t x_bytes = (int64_t)sizeof(float) * row_floats(s, s->W);
    out->ahead[0] = sr__grouped_ahead(job->dy, (int64_t)s->N * s->P, dy_bytes, dy_row, dy_row + 1);
    if (job->x)
        out->ahead[1] = sr__grouped_ahead(job->x, (int64_t)s->N * s->H, x_bytes, x_row, x_row + 1);
}

// Computes row i = n * H + h of the gradient of the input.
static void data_row(const Job *job, int64_t i) {
    const SrConvShape *s = job->s;
    int at[SR_GROUPED_ROWS];
    int64_t count = (int64_t)s->N * s->H * row_floats(s, s->W), n = i / s->H;
    SrGroupedRow row =
        sr__grouped_data_window(s, job->w, job->zeros, job->lane_from, (int)(i % s->H), at);
    for (int k = 0; k < row.rows; k++)
        row.in[k] = job->dy + (n * s->P + at[k]) * row_floats(s, s->Q);
    SrGroupedOut out = {.to = job->out + i * row_floats(s, s->W),
                        .add = job->add,
                        .stream = !job->add && sr__conv_streams(job->out, count, s->C)};
    set_ahead(job, i, &out);
    sr__grouped_data(s, &row, &out);
}

static void data_unit(void *arg, int64_t i, int thread) {
    (void)thread;
    data_row(arg, i);
}

static void backward_data(const SrConvShape *s, const void *dy, const float *w, void *dx, bool add,
                          void *scratch) {
    Job job = {.s = s, .dy = dy, .w = w, .out = dx, .add = add, .zeros = zeros_in(s, scratch)};
    group_lanes(&job);
    sr_parallel_for((int64_t)s->N * s->H, data_unit, &job);
}

// Adds output row `at` to a part's gradients.
static void weight_row(const Job *job, int64_t at, float *part) {
    const SrConvShape *s = job->s;
    SrGroupedRow row = forward_row(job, (int)(at / s->P), (int)(at % s->P));
    for (int k = 0; k < row.rows; k++) // the distance from w tells the kernel row
        sr__grouped(s->machine)
            ->weights(&row, k, job->dy + at * row_floats(s, s->Q), part + (row.w[k] - job->w));
}

// Computes part i, a run of output rows, and with `data` also the gradient of as many rows of the
// input: they read the same rows of dy, which are then in the cache.
static void gradient_part(const Job *job, const Job *data, int64_t i) {
    const SrConvShape *s = job->s;
    int64_t rows = (int64_t)s->N * s->P, in_rows = (int64_t)s->N * s->H, filter = filter_floats(s);
    float *part = job->part + i * filter; // (R, S, own, C)
    memset(part, 0, sizeof(float) * (size_t)filter);
    for (int64_t at = rows * i / job->parts; at < rows * (i + 1) / job->parts; at++) {
        weight_row(job, at, part);
        for (int64_t in = in_rows * at / rows; data && in < in_rows * (at + 1) / rows; in++)
            data_row(data, in);
    }
}

static void weight_part(void *arg, int64_t i, int thread) {
    (void)thread;
    gradient_part(arg, NULL, i);
}

typedef struct {
    const SrConvShape *s;
    const float *part;
    float *dw;
    int parts;
} Joining;

// Adds the parts, in order, to dw (K, own, R, S) for SUM_CHANNELS channels.
static void join_channels(void *arg, int64_t i, int thread) {
    (void)thread;
    const Joining *job = arg;
    const SrConvShape *s = job->s;
    int own = own_of(s), taps = s->R * s->S;
    int c0 = (int)i * SUM_CHANNELS, n = SR_MIN(SUM_CHANNELS, s->C - c0);
    for (int row = 0; row < taps * own; row++) {
        float sum[SUM_CHANNELS] = {0};
        for (int k = 0; k < job->parts; k++) {
            const float *part = job->part + ((int64_t)k * taps * own + row) * s->C + c0;
            for (int c = 0; c < n; c++)
                sum[c] += part[c];
        }
        for (int c = 0; c < n; c++)
            job->dw[((int64_t)(c0 + c) * own + row % own) * taps + row / own] += sum[c];
    }
}

void sr__grouped_join(const SrConvShape *s, const float *part, int parts, float *dw) {
    Joining job = {s, part, dw, parts};
    sr_parallel_for(sr__conv_ceil_div(s->C, SUM_CHANNELS), join_channels, &job);
}

static Job weight_job(const SrConvShape *s, const void *x, const void *dy, void *scratch) {
    Job job = {.s = s, .x = x, .dy = dy, .parts = parts_of(s)};
    job.zeros = zeros_in(s, scratch);
    job.part = (float *)((char *)scratch + zeros_bytes(s));
    job.w = job.part; // address to count kernel rows from
    group_lanes(&job);
    return job;
}

static void backward_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            void *scratch) {
    Job job = weight_job(s, x, dy, scratch);
    sr_parallel_for(job.parts, weight_part, &job);
    sr__grouped_join(s, job.part, job.parts, dw);
}

typedef struct {
    Job weight, data;
} Both;

static void both_part(void *arg, int64_t i, int thread) {
    (void)thread;
    const Both *both = arg;
    gradient_part(&both->weight, &both->data, i);
}

static void backward_both(const SrConvShape *s, const void *x, const void *dy, const float *w,
                          void *dx, bool add, float *dw, void *scratch) {
    Both both = {.weight = weight_job(s, x, dy, scratch)};
    both.data =
        (Job){.s = s, .x = x, .dy = dy, .w = w, .out = dx, .add = add, .zeros = both.weight.zeros};
    group_lanes(&both.data);
    sr_parallel_for(both.weight.parts, both_part, &both);
    sr__grouped_join(s, both.weight.part, both.weight.parts, dw);
}

const SrConvDesign sr__conv_grouped = {
    .name = "grouped",
    .bit = SR_CONV_DIRECT, // allowed with the direct design: a special case of it
    .cost = cost,
    .scratch_bytes = scratch_bytes,
    .prepared = prepared,
    .prepare = prepare,
    .sum_units = sum_units,
    .forward = forward,
    .backward_data = backward_data,
    .backward_weight = backward_weight,
    .backward_both = backward_both,
};
