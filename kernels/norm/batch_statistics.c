// Statistics of a batch, and what follows from them (batch_statistics.h).
#include "kernels/norm/batch_statistics.h"

#include <math.h>

#include "base/bf16.h"
#include "kernels/activation/pointwise.h"

SrBatchNormActivation sr__batch_activation(const SrBatchNormParams *p) {
    return p->relu        ? SR_BN_RELU
           : p->relu6     ? SR_BN_RELU6
           : p->silu      ? SR_BN_SILU
           : p->hardswish ? SR_BN_HARDSWISH
           : p->gelu      ? SR_BN_GELU
                          : SR_BN_LINEAR;
}

void sr__batch_reference_activation(const SrRefCall *call, SrBatchNormActivation f) {
    static const char *const ops[] = {
        [SR_BN_LINEAR] = NULL, [SR_BN_RELU] = "relu",           [SR_BN_RELU6] = "relu6",
        [SR_BN_SILU] = "silu", [SR_BN_HARDSWISH] = "hardswish", [SR_BN_GELU] = "gelu"};
    sr__reference_activation(call, ops[f]);
}

SrOpExchange sr__batch_exchange(const void *params, const SrShape *x) {
    const SrBatchNormParams *p = params;
    return (SrOpExchange){.n = 2 * sr_shape_last(x[0]), .ranks = p->sync};
}

int sr__batch_slots(SrShape x, SrSlot out[SR_OP_MAX_SLOTS]) {
    SrShape c = SR_SHAPE(sr_shape_last(x));
    out[SR_BN_WEIGHT] = sr__param_slot("weight", c, SR_ROLE_NORM_WEIGHT, SR_INIT_CONSTANT, 1);
    out[SR_BN_BIAS] = sr__param_slot("bias", c, SR_ROLE_NORM_BIAS, SR_INIT_CONSTANT, 0);
    out[SR_BN_RUNNING_MEAN] = sr__state_slot("running_mean", c, SR_F32, SR_INIT_CONSTANT, 0);
    out[SR_BN_RUNNING_VAR] = sr__state_slot("running_var", c, SR_F32, SR_INIT_CONSTANT, 1);
    out[SR_BN_COUNT] =
        sr__state_slot("num_batches_tracked", SR_SCALAR, SR_I64, SR_INIT_CONSTANT, 0);
    return SR_BN_SLOTS;
}

enum {
    NARROWEST = 64, // channels of a strip at least
    JOINED = 16,    // channels of a piece of work that joins sums: a cache line of each unit
    PIECES = 16,    // pieces of work wanted for a sum
};

// Rows are summed in chunks whose number depends on the shape alone.
static int chunk_count(int64_t rows) {
    int64_t n = rows / 256;
    return (int)(n < 1 ? 1 : n > 64 ? 64 : n);
}

// Scratch: totals and a partial sum per chunk, each double (2, C); then three rows of coefficients,
// float (3, C).
size_t sr__batch_scratch_bytes(SrShape x) {
    size_t C = (size_t)sr_shape_last(x), chunks = (size_t)chunk_count(sr_shape_rows(x));
    return 2 * C * sizeof(double) * (1 + chunks) + 3 * C * sizeof(float);
}

// Returns the channels of a strip.  Wide strips read memory in long runs; narrow ones keep all
// threads busy where chunks are few.  No sum crosses channels, so the width does not change bits.
static int strip_width(const SrBatchWork *w) {
    int width = SR_BN_STRIP;
    while (width > NARROWEST && w->chunks * ((w->C + width - 1) / width) < PIECES)
        width /= 2;
    return width;
}

SrBatchWork sr__batch_work(const SrOpCall *call) {
    SrBatchWork w = {.rows = sr_shape_rows(call->x[0].shape), .C = sr_shape_last(call->x[0].shape)};
    w.chunks = chunk_count(w.rows);
    w.strip = strip_width(&w);
    w.mean = call->saved;
    w.invstd = w.mean + w.C;
    w.totals = call->scratch;
    w.partial = w.totals + 2 * w.C;
    w.a = (float *)(w.partial + 2 * (int64_t)w.chunks * w.C);
    w.k1 = w.a + w.C;
    w.k0 = w.k1 + w.C;
    w.k = (SrBatchNormCoefs){w.mean, w.a, call->w[SR_BN_BIAS].data, w.k1, w.k0};
    w.type = call->x[0].dtype;
    w.kernels = sr__batch_norm(call->machine, w.type);
    return w;
}

// Computes a = weight * invstd.  Every call does so, because weight lives in the table, not in
// `saved`.
void sr__batch_scale(const SrBatchWork *w, const float *weight) {
    for (int c = 0; c < w->C; c++)
        w->a[c] = weight[c] * w->invstd[c];
}

// Adds the partial sums to totals (2, C) in the order of the chunks.
void sr__batch_add_partials(const SrBatchWork *w) {
    for (int i = 0; i < 2 * w->C; i++)
        w->totals[i] = 0;
    for (int chunk = 0; chunk < w->chunks; chunk++)
        for (int i = 0; i < 2 * w->C; i++)
            w->totals[i] += w->partial[2 * (int64_t)chunk * w->C + i];
}

int sr__batch_strips(const SrBatchWork *w) { return (w->C + w->strip - 1) / w->strip; }

SrBatchPiece sr__batch_piece(const SrBatchWork *w, int task) {
    int chunk = task / sr__batch_strips(w), c = task % sr__batch_strips(w) * w->strip;
    int64_t low = w->rows * chunk / w->chunks, high = w->rows * (chunk + 1) / w->chunks;
    SrBatchPiece p = {
        .at = low * w->C + c, .rows = high - low, .c = c, .width = SR_MIN(w->strip, w->C - c)};
    p.first = w->partial + 2 * (int64_t)chunk * w->C + c;
    p.second = p.first + w->C;
    for (int i = 0; i < p.width; i++)
        p.first[i] = p.second[i] = 0;
    return p;
}

bool sr__batch_parallel(const SrBatchWork *w) { return w->rows * w->C > SR_CHUNK; }

static double first_row(const SrBatchWork *w, const void *x, int c) {
    return w->type == SR_BF16 ? (double)sr_bf16_float(((const SrBf16 *)x)[c])
                              : (double)((const float *)x)[c];
}

// Sums x - shift and its square into totals, where shift is the first row of x.
static void sums_of_rows(const SrBatchWork *w, const void *x) {
    int tasks = w->chunks * sr__batch_strips(w);
#pragma omp parallel for schedule(static) if (sr__batch_parallel(w))
    for (int task = 0; task < tasks; task++) {
        SrBatchPiece p = sr__batch_piece(w, task);
        w->kernels->stats(sr__at(w->type, x, p.at), p.rows, w->C, p.width, sr__at(w->type, x, p.c),
                          p.first, p.second);
    }
    sr__batch_add_partials(w);
}

// Fills totals from the channel sums that the op below has left.
static void sums_of_units(const SrBatchWork *w, const void *x, const SrChannelSums *sums) {
    float *shift = w->k0; // not used otherwise in the forward
    for (int c = 0; c < w->C; c++) {
        shift[c] = (float)first_row(w, x, c);
        w->totals[c] = w->totals[w->C + c] = 0;
    }
#pragma omp parallel for schedule(static) if (sums->units * w->C > SR_CHUNK)
    for (int c = 0; c < w->C; c += JOINED)
        w->kernels->join(sums, w->C, c, SR_MIN(JOINED, w->C - c), shift, w->totals,
                         w->totals + w->C);
}

// Fills totals with this rank's sums about its first row.
static void own_sums(const SrOpCall *call, const SrBatchWork *w) {
    if (call->x_sums.unit)
        sums_of_units(w, call->x[0].data, &call->x_sums);
    else
        sums_of_rows(w, call->x[0].data);
}

// Ranks have different first rows, so they exchange sums about zero.
void sr__batch_forward_partial(const SrOpCall *call) {
    SrBatchWork w = sr__batch_work(call);
    double rows = (double)w.rows;
    own_sums(call, &w);
    for (int c = 0; c < w.C; c++) {
        double shift = first_row(&w, call->x[0].data, c), sum = w.totals[c];
        w.totals[w.C + c] += 2 * shift * sum + rows * shift * shift;
        w.totals[c] += rows * shift;
    }
}

// Fills totals with the batch's sums about this rank's first row, and returns the number of rows
// that they cover; every rank has the same number.
static double batch_sums(const SrOpCall *call, const SrBatchWork *w) {
    double rows = (double)w->rows;
    if (!call->exchanged) {
        own_sums(call, w);
        return rows;
    }
    rows *= call->exchanged;
    for (int c = 0; c < w->C; c++) {
        double shift = first_row(w, call->x[0].data, c);
        w->totals[c] -= rows * shift;
        w->totals[w->C + c] -= 2 * shift * w->totals[c] + rows * shift * shift;
    }
    return rows;
}

// Moves a running statistic one step towards the batch's.
static float moved(float running, double batch, double momentum) {
    return (float)((1 - momentum) * (double)running + momentum * batch);
}

static void batch_statistics(const SrOpCall *call, const SrBatchWork *w) {
    const SrBatchNormParams *p = call->params;
    const void *x = call->x[0].data; // (rows, C)
    float *running_mean = call->w[SR_BN_RUNNING_MEAN].data,
          *running_var = call->w[SR_BN_RUNNING_VAR].data;
    double rows = batch_sums(call, w), unbias = rows > 1 ? rows / (rows - 1) : 1;
    for (int c = 0; c < w->C; c++) {
        double mean = w->totals[c] / rows, var = w->totals[w->C + c] / rows - mean * mean;
        var = var > 0 || isnan(var) ? var : 0;
        mean += first_row(w, x, c);
        w->mean[c] = (float)mean;
        w->invstd[c] = (float)(1 / sqrt(var + p->eps));
        running_mean[c] = moved(running_mean[c], mean, p->momentum);
        running_var[c] = moved(running_var[c], var * unbias, p->momentum);
    }
    *(int64_t *)call->w[SR_BN_COUNT].data += 1;
}

// Evaluation normalises by the running statistics.  They are copied to `saved`, so that the
// backward need not know which mode it was.
static void running_statistics(const SrOpCall *call, const SrBatchWork *w) {
    const SrBatchNormParams *p = call->params;
    const float *running_mean = call->w[SR_BN_RUNNING_MEAN].data,
                *running_var = call->w[SR_BN_RUNNING_VAR].data;
    for (int c = 0; c < w->C; c++) {
        w->mean[c] = running_mean[c];
        w->invstd[c] = (float)(1 / sqrt((double)running_var[c] + p->eps));
    }
}

void sr__batch_normaliser(const SrOpCall *call, const SrBatchWork *w) {
    if (call->train && !call->again)
        batch_statistics(call, w);
    else if (!call->again)
        running_statistics(call, w);
    sr__batch_scale(w, call->w[SR_BN_WEIGHT].data);
}

// Adds the gradients of weight and bias from the sums over this rank; other ranks' parts arrive
// with all gradients.
void sr__batch_parameter_gradients(const SrOpCall *call, const SrBatchWork *w) {
    for (int c = 0; c < w->C; c++) {
        if (call->dw[SR_BN_WEIGHT])
            call->dw[SR_BN_WEIGHT][c] += (float)(w->totals[w->C + c] * (double)w->invstd[c]);
        if (call->dw[SR_BN_BIAS])
            call->dw[SR_BN_BIAS][c] += (float)w->totals[c];
    }
}

// In training the batch's mean and variance depend on x: k0 and k1 account for that.
void sr__batch_sum_coefficients(const SrOpCall *call, const SrBatchWork *w) {
    double rows = (double)w->rows * SR_MAX(1, call->exchanged);
    for (int c = 0; c < w->C; c++) {
        double a = call->train ? (double)w->a[c] / rows : 0, invstd = (double)w->invstd[c];
        w->k0[c] = (float)(a * w->totals[c]);
        w->k1[c] = (float)(a * invstd * invstd * w->totals[w->C + c]);
    }
}

void sr__batch_input_grad(const SrBatchWork *w, void *dx, const void *x, const void *aux,
                          const void *dy, SrBatchNormActivation f) {
    int64_t step = SR_MAX(1, SR_CHUNK / w->C);
    bool stream = w->rows * w->C >= SR_BN_STREAMED && dx != dy;
#pragma omp parallel for schedule(static) if (sr__batch_parallel(w))
    for (int64_t r = 0; r < w->rows; r += step)
        w->kernels->input_grad(sr__at(w->type, dx, r * w->C), sr__at(w->type, x, r * w->C),
                               sr__at(w->type, aux, r * w->C), sr__at(w->type, dy, r * w->C),
                               SR_MIN(step, w->rows - r), w->C, w->k, f, stream);
}
