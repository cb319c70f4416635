// Direct convolution, forward and backward data: an implicit matrix product over pixel pointers
// (NHWC), with weights packed into blocks of output channels.  The micro-kernel is in
// conv_tile_simd.c; the weight gradient is in conv_direct_weight.c.
//
// Backward data of a strided convolution falls into stride_h * stride_w phases.  Input pixels whose
// row and column leave the same remainders meet the same taps, so each phase is a dense convolution
// of dy.
//
// Without products of pairs, bfloat16 inputs are widened to floats: for a 1x1 kernel the pixels of
// a unit, which then lie in the cache of its thread, and else the whole input beforehand.
#include <string.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "kernels/basic/cast.h"
#include "kernels/conv/conv_design.h"
#include "kernels/conv/conv_direct_weight.h"
#include "kernels/conv/conv_pack.h"
#include "kernels/conv/conv_pixels.h"

enum {
    PIXELS = 96, // pixels of one table of pointers: a multiple of 6 and 8
    UNITS = 48,  // pieces of work wanted, so that many threads end together
    // bytes of a block that stays in the second-level cache while pixels pass by
    WEIGHT_BYTES = 640 << 10,
    MAX_TILES = PIXELS / 6,
    LINE = 16,           // units of a cache line
    AHEAD = 2,           // tiles between the one computed and those whose inputs are fetched
    TABLE = PIXELS + 40, // pointers with those for fetching: AHEAD * 8 + SR_CONV_FETCH and a tile
};

// How a pass reads its input: `in` pixels of C numbers, all groups.
typedef struct {
    int numbers;     // in a unit of four bytes of the tensors
    int64_t in;      // numbers of the whole input
    int C, run;      // `run` pixels side by side are one tap
    int widened;     // numbers of a pixel that a unit widens; 0: inputs are units, or floats
    bool halves;     // bfloat16 with products of floats
    bool all_before; // the whole input is widened before the sweep
} Reading;

// One sweep over a grid of outputs, for all groups.
typedef struct {
    SrConvGrid grid;
    // (N, out_h, out_w, out_c units); output (a, b) is pixel (a * out_step + out_at, ...).
    float *out;
    int out_h, out_w, out_c, out_step_h, out_step_w, out_at_h, out_at_w;
    bool add;
    const SrConvEnd *end; // NULL: nothing follows
    const SrConvKernels *kernels;
    int groups, reduced, columns; // of one group; reduced and columns: units of a tap, outputs
    int all_taps;                 // taps of the kernel; the grid may visit fewer
    int rows;                     // pixels of a tile at most
    Reading read;
    bool stream; // outputs bypass the caches
    int own;     // channels of one of the merged groups whose lanes pick; else 0
    // (lanes): first channel of each column's group
    int32_t lane_from[SR_ALIGN / sizeof(float)];
    const float *packed; // (groups, blocks, all taps, reduced, width)
    int64_t pixels;
    int pixel_blocks, splits, shares; // units of work: shares of the groups * splits * pixel_blocks
    char *threads;                    // (threads, thread_bytes): one table each
    size_t thread_bytes;
} Sweep;

// Table of one thread, in scratch.
typedef struct {
    const float **in;     // (all taps, TABLE)
    float **out;          // (TABLE)
    const float **beside; // (TABLE): the residual of each output; used with SrConvEnd
    float *sums;          // (3, all columns): sums of the unit of these pixels; NULL: none
    int *tap, *taps;      // (MAX_TILES, all taps), (MAX_TILES): taps of a tile that touch the image
    float *edge;          // (all taps * TABLE, reduced), for runs cut by the edge
    float *wide;          // (PIXELS, wide_row(widened)), one tap
} Table;

// Returns the floats from one widened pixel to the next: rows a power of two apart would share few
// places in the first-level cache.
static size_t wide_row(int widened) {
    return widened ? (size_t)(sr__conv_ceil_div(widened, LINE) + 1) * LINE : 0;
}

static Table take_table(SrConvScratch *scratch, int all_taps, int run, int reduced, int widened) {
    size_t slots = (size_t)all_taps * TABLE;
    return (Table){
        .in = sr__conv_take(scratch, sizeof(float *) * slots),
        .out = sr__conv_take(scratch, sizeof(float *) * TABLE),
        .beside = sr__conv_take(scratch, sizeof(float *) * TABLE),
        .tap = sr__conv_take(scratch, sizeof(int) * MAX_TILES * (size_t)all_taps),
        .taps = sr__conv_take(scratch, sizeof(int) * MAX_TILES),
        .edge = sr__conv_take(scratch, run > 1 ? sizeof(float) * slots * (size_t)reduced : 0),
        .wide = sr__conv_take(scratch, sizeof(float) * PIXELS * wide_row(widened))};
}

static size_t table_bytes(int all_taps, int run, int reduced, int widened) {
    SrConvScratch count = {0};
    take_table(&count, all_taps, run, reduced, widened);
    return count.used;
}

// Fills the pointers of `count` pixels from `first`.  Past the last pixel the pointers are valid
// but arbitrary.
static void fill_table(const Sweep *s, const Table *table, int64_t first) {
    int count = (int)SR_MIN(s->pixels - first, TABLE);
    SR_ASSERT(count > 0);
    sr__conv_pixels(&s->grid, first, count, table->in, TABLE, table->edge);
    for (int t = 0; t < s->grid.taps; t++)
        for (int i = count; i < TABLE; i++)
            table->in[s->grid.tap[t].id * TABLE + i] = s->grid.zeros;
    SrConvPlace at;
    int64_t image = (int64_t)s->out_h * s->out_w * s->out_c;
    int64_t step = s->grid.images_inside ? image : (int64_t)s->out_step_w * s->out_c;
    for (int i = 0; i < count; i += at.together) {
        at = sr__conv_place(&s->grid, first + i, count - i);
        int64_t h = at.a * s->out_step_h + s->out_at_h, w = at.b * s->out_step_w + s->out_at_w;
        float *out = s->out + at.n * image + (h * s->out_w + w) * s->out_c;
        for (int j = 0; j < at.together; j++)
            table->out[i + j] = out + j * step;
    }
    for (int i = count; i < TABLE; i++)
        table->out[i] = s->out;
    for (int i = 0; s->end && s->end->residual && i < TABLE; i++)
        table->beside[i] = (const float *)s->end->residual + (table->out[i] - s->out);
}

// Lists for each tile the taps that are inside the image for at least one of the tile's pixels.
static void list_taps(const Sweep *s, const Table *table, int count) {
    for (int tile = 0; tile * s->rows < count; tile++) {
        int from = tile * s->rows, to = SR_MIN(from + s->rows, count), n = 0;
        for (int t = 0; t < s->grid.taps; t++) {
            int id = s->grid.tap[t].id, touched = 0;
            for (int i = from; i < to; i++)
                touched |= table->in[id * TABLE + i] != s->grid.zeros;
            if (touched)
                table->tap[tile * s->all_taps + n++] = id;
        }
        table->taps[tile] = n;
    }
}

// Widens the inputs of `count` pixels and points the table to them.
static void widen_inputs(const Sweep *s, const Table *table, int count) {
    size_t row = wide_row(s->read.widened);
    SR_ASSERT(count <= PIXELS && s->all_taps == 1);
    s->kernels->widen(table->in, 0, count, s->read.widened, table->wide, (int64_t)row);
    for (int i = 0; i < TABLE; i++)
        table->in[i] = table->wide + (size_t)(i % PIXELS) * row;
}

// Multiplies all tiles of the table by channels [c0, c0 + channels) and the block of columns at
// k0.  The first block of some channels also brings the inputs of later tiles into the cache.
static void run_block(const Sweep *s, const Table *table, int count, int64_t c0, int64_t channels,
                      int group, int k0, bool first_block) {
    float *sums = c0 + channels == s->reduced ? table->sums : NULL;
    int columns = SR_MIN(s->columns - k0, s->kernels->block),
        width = sr__conv_width(s->kernels, columns);
    SR_ASSERT(columns > 0 && channels > 0 && c0 + channels <= s->reduced && group < s->groups);
    int64_t rows = (int64_t)s->all_taps * s->reduced; // rows of a packed block
    SrConvTile t = {
        .in_stride = TABLE,
        .first = (int64_t)group * s->reduced + c0,
        .channels = s->own ? s->own : channels,
        .lane_from = s->own ? s->lane_from : NULL,
        .together = s->reduced,
        .w = s->packed + group * rows * sr__conv_width(s->kernels, s->columns) + rows * k0 +
             c0 * width,
        .w_tap = (int64_t)s->reduced * width,
        .out_first = (int64_t)group * s->columns + k0,
        .columns = columns,
        .halves = s->read.halves,
        .add = s->add || c0 > 0,
        .end = c0 + channels == s->reduced ? s->end : NULL,
        .sums = sums ? sums + (int64_t)group * s->columns + k0 : NULL,
        .sums_stride = (int64_t)s->out_c * s->read.numbers,
        .out_base = s->out,
        .ahead = first_block ? AHEAD * s->rows : 0,
        .beside_first = (int64_t)group * s->columns + k0,
        .out_ahead = s->stream ? 0 : AHEAD * s->rows,
        .stream = s->stream,
    };
    bool fetch_residual = t.end && t.end->residual && !first_block && s->grid.taps == 1;
    for (int from = 0, tile = 0; from < count; from += s->rows, tile++) {
        t.beside = fetch_residual ? table->beside + from + AHEAD * s->rows : NULL;
        t.tap = table->tap + tile * s->all_taps;
        t.taps = table->taps[tile];
        t.in = table->in + from;
        t.out = table->out + from;
        t.pixels = SR_MIN(count - from, s->rows);
        t.sums_begin = from == 0;
        s->kernels->tile(&t);
    }
}

// Returns the channels computed in one go, so that a block's weights stay in the second-level
// cache.  bfloat16 outputs get all channels at once, because they cannot hold an incomplete sum.
static int64_t channel_step(const Sweep *s) {
    if (s->read.numbers > 1)
        return s->reduced;
    int64_t bytes = (int64_t)s->all_taps * s->reduced * s->kernels->block * (int64_t)sizeof(float);
    int64_t parts = (bytes + WEIGHT_BYTES - 1) / WEIGHT_BYTES;
    return (s->reduced + parts * 16 - 1) / (parts * 16) * 16;
}

// Computes the columns of blocks [from, to) of one group.
static void run_group(const Sweep *s, const Table *table, int count, int group, int from, int to) {
    int64_t step = channel_step(s);
    SR_ASSERT(step > 0 && from <= to);
    for (int64_t c0 = 0; c0 < s->reduced; c0 += step)
        for (int b = from; b < to; b++)
            run_block(s, table, count, c0, SR_MIN(step, s->reduced - c0), group,
                      b * s->kernels->block, b == from);
}

// Runs unit i = (share of the groups, split of the columns, block of pixels).
static void sweep_unit(void *arg, int64_t i, int thread) {
    const Sweep *s = arg;
    SrConvScratch scratch = {s->threads + (size_t)thread * s->thread_bytes, 0};
    Table table = take_table(&scratch, s->all_taps, s->grid.run, s->reduced, s->read.widened);
    int64_t first = i % s->pixel_blocks * PIXELS;
    int split = (int)(i / s->pixel_blocks % s->splits),
        share = (int)(i / s->pixel_blocks / s->splits);
    int count = (int)SR_MIN(s->pixels - first, PIXELS);
    SR_ASSERT(count > 0 && split < s->splits && share < s->shares);
    if (s->end && s->end->sums.unit) {
        int64_t unit = i % s->pixel_blocks;
        table.sums = s->end->sums.unit + unit * 3 * s->out_c * s->read.numbers;
        if (i == unit)
            s->end->sums.count[unit] = (float)count;
    }
    fill_table(s, &table, first);
    list_taps(s, &table, count);
    if (s->read.widened && s->grid.taps) // without taps the table is empty
        widen_inputs(s, &table, count);
    int blocks = sr__conv_ceil_div(s->columns, s->kernels->block);
    for (int g = s->groups * share / s->shares; g < s->groups * (share + 1) / s->shares; g++)
        run_group(s, &table, count, g, blocks * split / s->splits,
                  blocks * (split + 1) / s->splits);
    if (s->stream)
        s->kernels->stream_end();
}

// Returns whether outputs bypass the caches.  A line that is written whole need not be read first,
// and the caches keep what they hold.  This pays from 12 MB on, even where the last level would
// hold the output until the next pass reads it.  All phases of a strided gradient make one output.
static bool streams(const Sweep *s) {
    int64_t units = (int64_t)s->grid.N * s->out_h * s->out_w * s->out_c;
    return sr__conv_streams(s->out, units, s->out_c) && !s->add && !(s->end && s->end->activate) &&
           channel_step(s) >= s->reduced && s->columns % (LINE * s->read.numbers) == 0;
}

// Cuts the work: a unit is a block of pixels against a share of the columns.  Groups and columns
// are split only where the pixels alone give too few units, because each share looks the pixels up
// again.
static void sweep(Sweep *s) {
    s->pixels = (int64_t)s->grid.N * s->grid.grid_h * s->grid.grid_w;
    if (s->pixels == 0)
        return;
    s->pixel_blocks = (int)((s->pixels + PIXELS - 1) / PIXELS);
    int blocks = sr__conv_ceil_div(s->columns, s->kernels->block);
    s->shares = SR_MIN(s->groups, sr__conv_ceil_div(UNITS, s->pixel_blocks));
    s->splits = SR_MIN(blocks, sr__conv_ceil_div(UNITS, s->pixel_blocks * s->shares));
    s->rows = s->kernels->rows(SR_MIN(sr__conv_width(s->kernels, s->columns), s->kernels->block));
    s->stream = streams(s);
    s->grid.images_inside =
        s->grid.taps > 1 && s->grid.grid_h * s->grid.grid_w <= 64 && s->grid.N >= 2 * s->rows;
    sr_parallel_for((int64_t)s->shares * s->splits * s->pixel_blocks, sweep_unit, s);
}

// reduced, produced: channels of one of the merged groups.
static void pick_lanes(Sweep *s, const SrConvPacking *p, int reduced, int produced) {
    if (!sr__conv_picks(p))
        return;
    s->own = reduced;
    for (int j = 0; j < p->kernels->lanes; j++) // lanes past the last column may read any channel
        s->lane_from[j] = SR_MIN(j, s->columns - 1) / produced * reduced;
}

static Reading reading_of(const SrConvShape *s, SrConvPass pass) {
    bool x = pass == SR_CONV_FORWARD;
    Reading r = {.numbers = sr__conv_numbers(s->type), .run = x ? sr__conv_run(s) : 1};
    r.C = x ? s->C : s->K;
    r.in = (int64_t)s->N * (x ? (int64_t)s->H * s->W : (int64_t)s->P * s->Q) * r.C;
    r.halves = s->type == SR_BF16 && sr__conv_kernels(s->machine, s->type)->depth == 1;
    r.all_before = r.halves && s->R * s->S > r.run;
    r.widened = r.halves && !r.all_before ? r.run * r.C : 0;
    return r;
}

// Scratch that all threads share; a table per thread follows.
typedef struct {
    float *zeros;   // (reduced of all groups)
    SrConvTap *tap; // (taps)
    float *in;      // the input as floats, where all of it is widened before
    char *threads;
    size_t thread_bytes;
} Pieces;

static Pieces take_pieces(SrConvScratch *scratch, const SrConvPacking *p, const Reading *r) {
    int run = r->run, reduced = r->C / p->groups / p->kernels->depth;
    size_t bytes = table_bytes(p->taps / run, run, run * reduced, r->widened);
    Pieces pieces = {
        .zeros = sr__conv_take(scratch, sizeof(float) * (size_t)(p->groups * run * reduced)),
        .tap = sr__conv_take(scratch, sizeof(SrConvTap) * (size_t)p->taps),
        .in = sr__conv_take(scratch, r->all_before ? sizeof(float) * (size_t)r->in : 0),
        .threads = sr__conv_take(scratch, bytes * (size_t)sr_parallel_threads()),
        .thread_bytes = bytes};
    if (pieces.zeros)
        memset(pieces.zeros, 0, sizeof(float) * (size_t)(p->groups * run * reduced));
    return pieces;
}

static size_t scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    SrConvPacking p = sr__conv_packing(s);
    SrConvScratch count = {0};
    if (pass == SR_CONV_BACKWARD_WEIGHT)
        return sr__conv_direct_weight_bytes(s);
    Reading reading = reading_of(s, pass);
    take_pieces(&count, &p, &reading);
    return count.used;
}

// Returns where the sweep reads its input; widens it where that comes first.
static const float *input(const SrConvShape *s, const Reading *r, const Pieces *pieces,
                          const void *in) {
    if (r->all_before)
        sr_cast(s->machine, SR_F32, pieces->in, SR_BF16, in, r->in);
    return r->all_before ? pieces->in : in;
}

static int64_t sum_units(const SrConvShape *s) {
    return ((int64_t)s->N * s->P * s->Q + PIXELS - 1) / PIXELS;
}

// (groups, blocks, taps, reduced, width)
static SrConvPrepared prepared(const SrConvShape *s, SrConvPass pass) {
    SrConvPacking p = sr__conv_packing(s);
    int depth = p.kernels->depth;
    int64_t group = pass == SR_CONV_FORWARD ? sr__conv_pack_floats(&p, p.C / depth, p.K)
                                            : sr__conv_pack_floats(&p, p.K / depth, p.C);
    return sr__conv_prepared(SR_CONV_DIRECT, s, pass, p.groups * group);
}

static void prepare(const SrConvShape *s, SrConvPass pass, const float *w, float *packed) {
    SrConvPacking p = sr__conv_packing(s);
    if (pass == SR_CONV_FORWARD)
        sr__conv_pack_forward(&p, w, packed);
    else
        sr__conv_pack_backward(&p, w, packed);
}

static void forward(const SrConvShape *shape, const void *x, const float *w, const SrConvEnd *end,
                    void *y, void *scratch) {
    SrConvShape flat = sr__conv_flat(shape), *s = &flat;
    SrConvPacking p = sr__conv_packing(s);
    Reading r = reading_of(s, SR_CONV_FORWARD);
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, &p, &r);
    Sweep job = {
        .grid = {.in = input(s, &r, &pieces, x),
                 .N = s->N,
                 .H = s->H,
                 .W = s->W,
                 .C = r.all_before ? s->C : s->C / r.numbers,
                 .grid_h = s->P,
                 .grid_w = s->Q,
                 .step_h = s->stride_h,
                 .step_w = s->stride_w,
                 .run = r.run,
                 .tap = pieces.tap,
                 .taps = sr__conv_taps(s, r.run, pieces.tap),
                 .zeros = pieces.zeros},
        .out = y,
        .out_h = s->P,
        .out_w = s->Q,
        .out_c = s->K / r.numbers,
        .out_step_h = 1,
        .out_step_w = 1,
        .end = end,
        .kernels = p.kernels,
        .groups = p.groups,
        .read = r,
        .reduced = r.run * p.C / p.kernels->depth,
        .columns = p.K,
        .all_taps = p.taps / r.run,
        .packed = w,
        .threads = pieces.threads,
        .thread_bytes = pieces.thread_bytes,
    };
    pick_lanes(&job, &p, p.Cg, p.Kg);
    sweep(&job);
}

// Returns whether tap t carries any output to the inputs `at`, at + stride, at + 2 * stride, ...
// If so, input number i of them comes from output i + *offset.
static bool reaches(int at, int t, int stride, int pad, int dilation, int *offset) {
    int a = at + pad - t * dilation;
    if (((a % stride) + stride) % stride != 0)
        return false;
    *offset = a >= 0 ? a / stride : -(-a / stride);
    return true;
}

// Lists the taps of one phase: inputs whose row has remainder at_h and whose column has at_w.
static int phase_taps(const SrConvShape *s, int at_h, int at_w, SrConvTap *tap) {
    int n = 0;
    for (int t = 0; t < s->R * s->S; t++) {
        SrConvTap found = {.id = t};
        if (reaches(at_h, t / s->S, s->stride_h, s->pad_h, s->dilation_h, &found.dh) &&
            reaches(at_w, t % s->S, s->stride_w, s->pad_w, s->dilation_w, &found.dw))
            tap[n++] = found;
    }
    return n;
}

static void backward_data(const SrConvShape *shape, const void *dy, const float *w, void *dx,
                          bool add, void *scratch) {
    SrConvShape flat = sr__conv_flat(shape), *s = &flat;
    SrConvPacking p = sr__conv_packing(s);
    Reading r = reading_of(s, SR_CONV_BACKWARD_DATA);
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, &p, &r);
    Sweep job = {
        .grid = {.in = input(s, &r, &pieces, dy),
                 .N = s->N,
                 .H = s->P,
                 .W = s->Q,
                 .C = r.all_before ? s->K : s->K / r.numbers,
                 .step_h = 1,
                 .step_w = 1,
                 .run = 1,
                 .tap = pieces.tap,
                 .zeros = pieces.zeros},
        .out = dx,
        .out_h = s->H,
        .out_w = s->W,
        .out_c = s->C / r.numbers,
        .out_step_h = s->stride_h,
        .out_step_w = s->stride_w,
        .add = add,
        .kernels = p.kernels,
        .groups = p.groups,
        .read = r,
        .reduced = p.K / p.kernels->depth,
        .columns = p.C,
        .all_taps = p.taps,
        .packed = w,
        .threads = pieces.threads,
        .thread_bytes = pieces.thread_bytes,
    };
    pick_lanes(&job, &p, p.Kg, p.Cg);
    for (int phase = 0; phase < s->stride_h * s->stride_w; phase++) {
        job.out_at_h = phase / s->stride_w;
        job.out_at_w = phase % s->stride_w;
        job.grid.grid_h = sr__conv_ceil_div(SR_MAX(s->H - job.out_at_h, 0), s->stride_h);
        job.grid.grid_w = sr__conv_ceil_div(SR_MAX(s->W - job.out_at_w, 0), s->stride_w);
        job.grid.taps = phase_taps(s, job.out_at_h, job.out_at_w, pieces.tap);
        // A phase that no tap reaches still writes its zeros, unless dx is added to.
        if (job.grid.taps > 0 || !add)
            sweep(&job);
    }
}

// Estimated time: the multiply-adds, without taps outside small maps, divided by the measured share
// of the peak.
static double cost(const SrConvShape *s, SrConvPass pass) {
    const SrConvKernels *kernels = sr__conv_kernels(s->machine, s->type);
    Reading r = reading_of(s, pass);
    int in = r.C / s->groups, out = (s->C + s->K - r.C) / s->groups;
    bool grouped = s->groups > 1 && r.halves; // left to the designs for floats
    bool reads_units = !r.all_before || pass == SR_CONV_BACKWARD_WEIGHT;
    if (grouped || out % r.numbers || (reads_units && in % r.numbers))
        return -1;
    double widening = r.all_before ? 12.0 * (double)r.in : r.halves ? 3.0 * (double)r.in : 0;
    if (pass == SR_CONV_BACKWARD_WEIGHT)
        return widening + sr__conv_direct_weight_cost(s, kernels->depth);
    double work = (double)s->N * s->P * s->Q * s->K * (s->C / s->groups) * s->R * s->S;
    bool skips = s->P * s->Q <= 64 && s->N >= 12;
    return widening + work * (skips ? sr__conv_inside(s) : 1) / (0.93 * kernels->depth);
}

static void backward_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            void *scratch) {
    sr__conv_direct_weight(s, x, dy, dw, NULL, scratch);
}

const SrConvDesign sr__conv_direct = {
    .name = "direct",
    .bit = SR_CONV_DIRECT,
    .cost = cost,
    .scratch_bytes = scratch_bytes,
    .prepared = prepared,
    .prepare = prepare,
    .sum_units = sum_units,
    .forward = forward,
    .backward_data = backward_data,
    .backward_weight = backward_weight,
    .sums_bias = sr__conv_direct_weight_bias,
    .backward_weight_bias = sr__conv_direct_weight,
};
