// normed_depthwise: a batch norm, its activation and the depthwise convolution that reads it as one
// op, which plans make of those ops (graph/plan/pass_fuse_depthwise.c).
//
//   u = f(batch_norm(x)),   y = depthwise convolution of u
//
// u is never stored: threads keep the last rows of it in a ring that fits the second-level cache.
// In mobile trunks u is the largest map, so that writing and reading it, and its gradient, takes
// longer than the arithmetic.
//
// The forward reads x and writes y.  The backward walks over the rows of x once: du comes from the
// rows of dy that a row reaches, g = du f' goes to dx, the norm's sums of g are taken on the way,
// and the ring of u meets dy for the gradient of the weights.  A second pass turns g into dx (Ioffe
// and Szegedy 2015, section 3).
//
// A piece of work is a run of images or of output rows of one image.  Pieces depend on the shape
// alone, and their sums are added in order.  Where two pieces meet, both compute the rows of u
// that both need.
//
// Rows of bfloat16 are converted to floats one by one, and u, du and the sums stay floats.  g is
// stored as bfloat16 between the two passes, as batch_norm stores it.
#include "kernels/conv/normed_depthwise.h"

#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/conv_design.h"
#include "kernels/conv/conv_grouped.h"
#include "kernels/conv/normed_depthwise_rows.h"
#include "kernels/norm/batch_statistics.h"

enum {
    PIECES = 32,     // pieces wanted
    PIECE_ROWS = 14, // output rows of a piece at least, where an image is cut
    WEIGHT = SR_BN_SLOTS,
    N_SLOTS,
};

#define FIELD(f) offsetof(SrNormedDepthwiseParams, f)
static const SrOption options[] = {
    SR_BATCH_STATISTICS_OPTIONS,
    {"activation", SR_OPT_ENUM, FIELD(activation), "linear",
     .choices = "linear|relu|relu6|silu|hardswish|gelu",
     .help = "Activation between norm and convolution."},
    {"kernel_h", SR_OPT_INT, FIELD(kernel_h), "3", 1, SR_GROUPED_ROWS, .help = "Kernel rows."},
    {"kernel_w", SR_OPT_INT, FIELD(kernel_w), "3", 3, SR_GROUPED_ROWS,
     .help = "Kernel columns: 3, 5 or 7."},
    {"stride_h", SR_OPT_INT, FIELD(stride_h), "1", 1, 2, .help = "Vertical stride."},
    {"stride_w", SR_OPT_INT, FIELD(stride_w), "1", 1, 2, .help = "Horizontal stride."},
    {"padding_h", SR_OPT_INT, FIELD(padding_h), "1", 0, 1024, .help = "Zero rows above and below."},
    {"padding_w", SR_OPT_INT, FIELD(padding_w), "1", 0, 1024,
     .help = "Zero columns left and right."},
    SR_OPTION_END,
};
#undef FIELD

// Returns the convolution of C channels.
static SrConv2dParams conv_of(const SrNormedDepthwiseParams *p, int C) {
    return (SrConv2dParams){.out_channels = C,
                            .groups = C,
                            .kernel_h = p->kernel_h,
                            .kernel_w = p->kernel_w,
                            .stride_h = p->stride_h,
                            .stride_w = p->stride_w,
                            .padding_h = p->padding_h,
                            .padding_w = p->padding_w};
}

static SrConvShape conv_shape(const SrNormedDepthwiseParams *p, SrShape x) {
    SrConv2dParams conv = conv_of(p, sr_shape_last(x));
    return sr__conv2d_shape(&conv, x, SR_F32);
}

static bool takes(const SrNormedDepthwiseParams *p) {
    bool columns = p->kernel_w == 3 || p->kernel_w == 5 || p->kernel_w == 7;
    return columns && p->kernel_h >= 1 && p->kernel_h <= SR_GROUPED_ROWS &&
           SR_MIN(p->stride_h, p->stride_w) >= 1 && SR_MAX(p->stride_h, p->stride_w) <= 2 &&
           !p->norm.residual && sr__batch_activation(&p->norm) == SR_BN_LINEAR;
}

bool sr_normed_depthwise_of(const SrBatchNormParams *norm, const SrConv2dParams *params,
                            SrNormedDepthwiseParams *to) {
    SrConv2dParams conv = sr__conv2d_resolved(params);
    *to = (SrNormedDepthwiseParams){
        .norm = {.eps = norm->eps, .momentum = norm->momentum, .sync = norm->sync},
        .activation = (int)sr__batch_activation(norm),
        .kernel_h = conv.kernel_h,
        .kernel_w = conv.kernel_w,
        .stride_h = conv.stride_h,
        .stride_w = conv.stride_w,
        .padding_h = conv.padding_h,
        .padding_w = conv.padding_w};
    bool dense = conv.dilation_h == 1 && conv.dilation_w == 1;
    bool ends =
        conv.bias || conv.residual || conv.relu || conv.relu6 || conv.silu || conv.hardswish;
    return dense && !ends && !norm->residual && takes(to);
}

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrNormedDepthwiseParams *p = params;
    SR_TRY(sr__expect_rank("normed_depthwise", x, n_in, 4, 4));
    if (!takes(p))
        SR_FAIL(
            SR_ERR_CONFIG,
            "normed_depthwise: kernel %d x %d, strides %d and %d: expected at most %d rows; 3, 5 "
            "or 7 columns; strides of 1 or 2",
            p->kernel_h, p->kernel_w, p->stride_h, p->stride_w, SR_GROUPED_ROWS);
    SrConvShape s = conv_shape(p, x[0]);
    if (s.H + 2 * s.pad_h < s.R || s.W + 2 * s.pad_w < s.S)
        return sr__shape_fail("normed_depthwise", x, n_in,
                              "a map at least as large as the %d x %d kernel", s.R, s.S);
    *y = SR_SHAPE(s.N, s.P, s.Q, s.K);
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrNormedDepthwiseParams *p = params;
    (void)n_in;
    sr__batch_slots(x[0], out);
    out[WEIGHT] =
        sr__param_slot("conv.weight", SR_SHAPE(sr_shape_last(x[0]), 1, p->kernel_h, p->kernel_w),
                       SR_ROLE_WEIGHT, SR_INIT_UNIFORM_FAN_IN, 1);
    return N_SLOTS;
}

static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 2 * (size_t)sr_shape_last(x[0]) * sizeof(float); // mean, invstd: each (C)
}

// Blocks of rows into which an image is cut; 1 where there are enough images.
static int row_blocks(const SrConvShape *s) {
    int wanted = sr__conv_ceil_div(PIECES, s->N), most = SR_MAX(1, s->P / PIECE_ROWS);
    return SR_MIN(wanted, most);
}

static int pieces_of(const SrConvShape *s) {
    return s->N >= PIECES ? PIECES : s->N * row_blocks(s);
}

// Images [n, n_end), and of each the output rows [p, p_end).
typedef struct {
    int n, n_end, p, p_end;
} Piece;

static Piece piece_at(const SrConvShape *s, int i) {
    if (s->N >= PIECES)
        return (Piece){(int)((int64_t)s->N * i / PIECES), (int)((int64_t)s->N * (i + 1) / PIECES),
                       0, s->P};
    int blocks = row_blocks(s), n = i / blocks, b = i % blocks;
    return (Piece){n, n + 1, s->P * b / blocks, s->P * (b + 1) / blocks};
}

static int64_t row_floats(const SrConvShape *s) { return (int64_t)s->W * s->C; }

// Scratch of one thread.  The rows after du are used for bfloat16 alone.
typedef struct {
    float *ring; // (R, W, C): row h of u lies in ring[h % R]
    float *du;   // (W, C)
    float *x;    // (W, C): a row of x
    float *y;    // (Q, C): a row of y
    float *dy;   // (R, Q, C): row p of dy lies in dy[p % R]
    int *held;   // (R): the row that lies there, counted over all images; -1: none
} Rows;

static Rows take_rows(SrConvScratch *scratch, const SrConvShape *s, SrDtype type) {
    size_t C = sizeof(float) * (size_t)s->C, R = (size_t)s->R, half = type == SR_BF16;
    size_t in = C * (size_t)s->W, out = C * (size_t)s->Q;
    return (Rows){.ring = sr__conv_take(scratch, in * R),
                  .du = sr__conv_take(scratch, in),
                  .x = sr__conv_take(scratch, half * in),
                  .y = sr__conv_take(scratch, half * out),
                  .dy = sr__conv_take(scratch, half * out * R),
                  .held = sr__conv_take(scratch, half * sizeof(int) * R)};
}

typedef struct {
    const SrOpCall *call;
    SrBatchWork norm;
    SrConvShape s;
    SrBatchNormActivation f;
    const SrNormedRowKernels *rows;
    SrDtype type; // of x, y, dy and g
    const void *x, *dy;
    void *y, *g;  // g (N, H, W, C): dx, or NULL
    bool stream;  // y, or g, bypasses the caches
    float *zeros; // (C)
    float *w;     // (R, S, C): packed weights of the pass
    float *part;  // (pieces, R, S, C): gradients of the weights; NULL: not wanted
    double *sums; // (pieces, 2, C): sum g and sum g (x - mean)
    char *threads;
    size_t thread_bytes;
} Work;

static int64_t filter_floats(const SrConvShape *s) { return (int64_t)s->R * s->S * s->C; }

// Takes all scratch in order; the norm's comes first, because ranks exchange its beginning.
static void take_scratch(Work *w, SrConvScratch *scratch, SrShape x) {
    size_t C = (size_t)w->s.C, filter = sizeof(float) * (size_t)filter_floats(&w->s),
           pieces = (size_t)pieces_of(&w->s);
    SrConvScratch count = {0};
    sr__conv_take(scratch, sr__batch_scratch_bytes(x));
    w->zeros = sr__conv_take(scratch, sizeof(float) * C);
    w->w = sr__conv_take(scratch, filter);
    w->part = sr__conv_take(scratch, filter * pieces);
    w->sums = sr__conv_take(scratch, 2 * sizeof(double) * C * pieces);
    take_rows(&count, &w->s, w->type);
    w->thread_bytes = count.used;
    w->threads = sr__conv_take(scratch, count.used * (size_t)sr_parallel_threads());
}

static size_t scratch_bytes(const SrOpSite *site) {
    Work w = {.s = conv_shape(site->params, site->x[0]), .type = site->type};
    SrConvScratch count = {0};
    take_scratch(&w, &count, site->x[0]);
    return count.used;
}

static Work work_of(const SrOpCall *call, SrConvPass pass) {
    const SrNormedDepthwiseParams *p = call->params;
    SrConvScratch scratch = {call->scratch, 0};
    Work w = {.call = call, .norm = sr__batch_work(call), .x = call->x[0].data};
    w.type = w.norm.type;
    w.s = conv_shape(p, call->x[0].shape);
    w.s.machine = call->machine;
    w.f = (SrBatchNormActivation)p->activation;
    w.rows = SR_CPU_PICK(call->machine, sr__normed_rows);
    take_scratch(&w, &scratch, call->x[0].shape);
    memset(w.zeros, 0, sizeof(float) * (size_t)w.s.C);
    sr__conv_grouped.prepare(&w.s, pass, call->w[WEIGHT].data, w.w);
    return w;
}

static Rows rows_of(const Work *w, int thread) {
    SrConvScratch scratch = {w->threads + (size_t)thread * w->thread_bytes, 0};
    Rows rows = take_rows(&scratch, &w->s, w->type);
    for (int r = 0; w->type == SR_BF16 && r < w->s.R; r++)
        rows.held[r] = -1;
    return rows;
}

static void cast(const Work *w, SrDtype to, void *y, SrDtype from, const void *x, int64_t n) {
    sr__rows(w->call->machine)->cast(to, y, from, x, n, false);
}

static float *ring_row(const Work *w, const Rows *rows, int h) {
    return rows->ring + h % w->s.R * row_floats(&w->s);
}

// Returns row h of x of image n as floats.
static const float *x_row(const Work *w, const Rows *rows, int n, int h) {
    int64_t floats = row_floats(&w->s);
    const void *x = sr__at(w->type, w->x, ((int64_t)n * w->s.H + h) * floats);
    if (w->type == SR_F32)
        return x;
    cast(w, SR_F32, rows->x, SR_BF16, x, floats);
    return rows->x;
}

// Returns row p of dy of image n as floats.
static const float *dy_row(const Work *w, const Rows *rows, int n, int p) {
    int64_t floats = (int64_t)w->s.Q * w->s.C;
    int at = n * w->s.P + p, place = at % w->s.R;
    const void *dy = sr__at(w->type, w->dy, at * floats);
    if (w->type == SR_F32)
        return dy;
    float *row = rows->dy + place * floats;
    if (rows->held[place] != at)
        cast(w, SR_F32, row, SR_BF16, dy, floats);
    rows->held[place] = at;
    return row;
}

// Computes row h of u of image n.
static void activate(const Work *w, const Rows *rows, int n, int h) {
    sr__batch_norm(w->call->machine, SR_F32)
        ->apply(ring_row(w, rows, h), x_row(w, rows, n, h), NULL, w->s.W, w->s.C, w->norm.k, w->f,
                false);
}

// First row of u under output row p, and the row after the last, inside the image.
static int first_row(const SrConvShape *s, int p) { return SR_MAX(0, p * s->stride_h - s->pad_h); }
static int end_row(const SrConvShape *s, int p) {
    return SR_MAX(0, SR_MIN(s->H, p * s->stride_h - s->pad_h + s->R));
}

// Returns those of rows [h, end) that image n of a map (N, H, W, C) has.
static SrGroupedAhead rows_ahead(const Work *w, const void *map, int H, int W, int n, int h,
                                 int end) {
    int64_t row = (int64_t)W * w->s.C;
    return sr__grouped_ahead(sr__at(w->type, map, (int64_t)n * H * row), H,
                             row * (int64_t)sr_dtype_bytes(w->type), h, end);
}

// Returns the rows of the ring that meet output row p; `filter` is what each kernel row begins at.
static SrGroupedRow window(const Work *w, const Rows *rows, int p, const float *filter) {
    const SrConvShape *s = &w->s;
    SrGroupedRow row = {.S = s->S,
                        .stride = s->stride_w,
                        .pad = s->pad_w,
                        .own = 1,
                        .C = s->C,
                        .in_columns = s->W,
                        .out_columns = s->Q,
                        .zeros = w->zeros};
    for (int h = first_row(s, p); h < end_row(s, p); h++) {
        int r = h - p * s->stride_h + s->pad_h;
        row.in[row.rows] = ring_row(w, rows, h);
        row.w[row.rows++] = filter + (int64_t)r * s->S * s->C;
    }
    return row;
}

static bool streams(const Work *w, const void *to, int64_t count) {
    return to && w->type == SR_F32 && sr__conv_streams(to, count, w->s.C);
}

static void forward_piece(void *arg, int64_t i, int thread) {
    const Work *w = arg;
    const SrConvShape *s = &w->s;
    Piece piece = piece_at(s, (int)i);
    Rows rows = rows_of(w, thread);
    const SrChannelSums *sums = &w->call->sums;
    SrGroupedOut out = {
        .stream = w->stream, .sums = sums->unit ? sums->unit + i * 3 * s->C : NULL, .begin = true};
    if (sums->unit)
        sums->count[i] = (float)((int64_t)(piece.n_end - piece.n) * (piece.p_end - piece.p) * s->Q);
    for (int n = piece.n; n < piece.n_end; n++) {
        int next = 0;
        for (int p = piece.p; p < piece.p_end; p++, out.begin = false) {
            for (next = SR_MAX(next, first_row(s, p)); next < end_row(s, p); next++)
                activate(w, &rows, n, next);
            SrGroupedRow row = window(w, &rows, p, w->w);
            void *y = sr__at(w->type, w->y, ((int64_t)n * s->P + p) * s->Q * s->C);
            out.to = w->type == SR_F32 ? y : rows.y;
            out.ahead[0] = rows_ahead(w, w->x, s->H, s->W, n, next, end_row(s, p + 1));
            sr__grouped(s->machine)->gather(&row, &out);
            if (w->type == SR_BF16)
                cast(w, SR_BF16, y, SR_F32, rows.y, (int64_t)s->Q * s->C);
        }
    }
}

static int64_t sum_units(const SrOpSite *site) {
    SrConvShape s = conv_shape(site->params, site->x[0]);
    return pieces_of(&s);
}

static void forward(const SrOpCall *call) {
    Work w = work_of(call, SR_CONV_FORWARD);
    sr__batch_normaliser(call, &w.norm);
    w.y = call->y.data;
    w.stream = streams(&w, w.y, sr_shape_count(call->y.shape));
    sr_parallel_for(pieces_of(&w.s), forward_piece, &w);
}

// Computes row h of u, and of g with its sums, from the rows of dy that row h reaches.
static void back_row(const Work *w, const Rows *rows, int n, int h, double *sums) {
    const SrConvShape *s = &w->s;
    int at[SR_GROUPED_ROWS];
    SrGroupedRow row = sr__grouped_data_window(s, w->w, w->zeros, NULL, h, at);
    for (int k = 0; k < row.rows; k++)
        row.in[k] = dy_row(w, rows, n, at[k]);
    // The row of x is read after du, and the next row of dy for the next row of u.
    int later = sr__grouped_next_output(s, h);
    SrGroupedOut out = {.to = rows->du,
                        .ahead = {rows_ahead(w, w->x, s->H, s->W, n, h, h + 1),
                                  rows_ahead(w, w->dy, s->P, s->Q, n, later, later + 1)}};
    sr__grouped_data(s, &row, &out);
    void *g = sr__at(w->type, w->g, ((int64_t)n * s->H + h) * row_floats(s));
    bool half = w->type == SR_BF16;
    w->rows->back(&(SrNormedRow){.x = x_row(w, rows, n, h),
                                 .du = rows->du,
                                 .u = ring_row(w, rows, h),
                                 .g = half ? rows->du : g,
                                 .stream = w->stream,
                                 .columns = s->W,
                                 .C = s->C,
                                 .k = w->norm.k,
                                 .f = w->f,
                                 .sum_g = sums,
                                 .sum_gx = sums + s->C});
    if (half && g)
        cast(w, SR_BF16, g, SR_F32, rows->du, row_floats(s));
}

static void add_weights(const Work *w, const Rows *rows, int n, int p, float *part) {
    const SrConvShape *s = &w->s;
    SrGroupedRow row = window(w, rows, p, part);
    const float *dy = dy_row(w, rows, n, p);
    for (int k = 0; k < row.rows; k++)
        sr__grouped(s->machine)->weights(&row, k, dy, part + (row.w[k] - part));
}

// Walks over the rows of image n that the piece owns, and over those that its output rows read.
static void back_image(const Work *w, const Rows *rows, Piece piece, int n, float *part,
                       double *sums) {
    const SrConvShape *s = &w->s;
    int from = (int)((int64_t)s->H * piece.p / s->P),
        to = (int)((int64_t)s->H * piece.p_end / s->P);
    int first = SR_MIN(from, first_row(s, piece.p)), p = piece.p;
    int end = SR_MAX(to, end_row(s, piece.p_end - 1));
    for (int h = first; h < end; h++) {
        if (h >= from && h < to)
            back_row(w, rows, n, h, sums);
        else
            activate(w, rows, n, h);
        for (; p < piece.p_end && end_row(s, p) <= h + 1; p++)
            if (part)
                add_weights(w, rows, n, p, part);
    }
}

static void back_piece(void *arg, int64_t i, int thread) {
    const Work *w = arg;
    Piece piece = piece_at(&w->s, (int)i);
    Rows rows = rows_of(w, thread);
    int64_t filter = filter_floats(&w->s);
    float *part = w->part ? w->part + i * filter : NULL;
    double *sums = w->sums + i * 2 * w->s.C;
    memset(sums, 0, 2 * sizeof(double) * (size_t)w->s.C);
    if (part)
        memset(part, 0, sizeof(float) * (size_t)filter);
    for (int n = piece.n; n < piece.n_end; n++)
        back_image(w, &rows, piece, n, part, sums);
}

// First half of the backward: g, all sums, and the gradients of all parameters.
static void backward_partial(const SrOpCall *call) {
    Work w = work_of(call, SR_CONV_BACKWARD_DATA);
    int pieces = pieces_of(&w.s), C = w.s.C;
    sr__batch_scale(&w.norm, call->w[SR_BN_WEIGHT].data);
    w.dy = call->dy;
    w.g = call->dx[0];
    w.stream = streams(&w, w.g, sr_shape_count(call->x[0].shape));
    w.part = call->dw[WEIGHT] ? w.part : NULL;
    sr_parallel_for(pieces, back_piece, &w);
    if (w.part)
        sr__grouped_join(&w.s, w.part, pieces, call->dw[WEIGHT]);
    memset(w.norm.totals, 0, 2 * sizeof(double) * (size_t)C);
    for (int i = 0; i < pieces; i++)
        for (int c = 0; c < 2 * C; c++)
            w.norm.totals[c] += w.sums[(int64_t)i * 2 * C + c];
    sr__batch_parameter_gradients(call, &w.norm);
}

static void backward(const SrOpCall *call) {
    if (!call->exchanged)
        backward_partial(call);
    if (!call->dx[0])
        return;
    SrBatchWork w = sr__batch_work(call);
    sr__batch_scale(&w, call->w[SR_BN_WEIGHT].data);
    sr__batch_sum_coefficients(call, &w);
    sr__batch_input_grad(&w, call->dx[0], call->x[0].data, NULL, call->dx[0], SR_BN_LINEAR);
}

// Runs the ops that this one stands for, one after the other.
static void reference(const SrRefCall *call) {
    const SrNormedDepthwiseParams *p = call->params;
    SrShape x = call->x_shape[0];
    SrConv2dParams conv = conv_of(p, sr_shape_last(x));
    const SrOp *norm, *conv2d;
    double *u = sr_calloc((size_t)sr_shape_count(x), sizeof *u);
    if (!u || sr_op_find("batch_norm", &norm) != SR_OK || sr_op_find("conv2d", &conv2d) != SR_OK)
        goto done;
    SrRefCall first = *call, second = *call;
    first.y = u;
    first.y_shape = x;
    norm->reference(&first);
    sr__batch_reference_activation(&first, (SrBatchNormActivation)p->activation);
    second.params = &conv;
    second.x = (const double *const[]){u};
    second.w = call->w + WEIGHT;
    second.n_w = 1;
    conv2d->reference(&second);
done:
    sr_free(u);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    const SrNormedDepthwiseParams *p = params;
    (void)x, (void)n_in;
    return 2 * sr_shape_count(y) * p->kernel_h * p->kernel_w;
}

static bool over_windows(const void *params) {
    (void)params;
    return true;
}

// clang-format off
static const SrOpCase cases[] = {
    {"{activation: silu}", 1, {SR_SHAPE(2, 5, 6, 20)}, false},
    {"{activation: relu, kernel_h: 5, kernel_w: 5, padding_h: 2, padding_w: 2}",
     1, {SR_SHAPE(1, 9, 8, 37)}, false},
    {"{activation: hardswish, stride_h: 2, stride_w: 2}", 1, {SR_SHAPE(2, 33, 9, 16)}, false},
    {"{activation: relu6, kernel_w: 7, padding_w: 3, stride_w: 2, sync: 2}",
     1, {SR_SHAPE(1, 8, 30, 4)}, false},
    {"{kernel_h: 1, stride_h: 2, stride_w: 2, padding_h: 0}", 1, {SR_SHAPE(35, 4, 5, 3)}, false},
    {"{activation: gelu, kernel_h: 7, padding_h: 5, padding_w: 0}", 1, {SR_SHAPE(2, 4, 7, 18)}, false},
};
// clang-format on

const SrOp sr_op_normed_depthwise = {
    .name = "normed_depthwise",
    .help = "Batch normalisation, activation and depthwise convolution in one walk.",
    .options = options,
    .params_bytes = sizeof(SrNormedDepthwiseParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_IMPURE | SR_OP_BF16 | SR_OP_TAKES_SUMS,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .sum_units = sum_units,
    .exchange = sr__batch_exchange,
    .partial = {sr__batch_forward_partial, backward_partial},
    .flops = flops,
    .over_windows = over_windows,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
