// Winograd convolution F(m x m, 3 x 3), m = 2, 3 or 4, forward and backward data, for 3x3 kernels
// of stride 1.
//
// (m + 2)^2 multiplications replace 9 m^2: 2.25 times fewer for m = 2, 3.24 times for m = 3, 4
// times for m = 4.  The rounding error is about ten times that of the direct sum for m = 4, and
// half of that for m = 3.  Every point xi of the transform is a matrix product over channels, done
// by the direct design's micro-kernel.  Backward data is the forward of dy with the kernel rotated
// and C and K exchanged.
//
// Two orders of work; the one that stores less is taken:
//   by tiles    weights are transformed beforehand (prepare); a unit takes TILES tiles through all
//   channels
//   by columns  all inputs are transformed first; a unit transforms the weights of one block of
//   columns.  For a few tiles of many channels, whose transformed weights (16 MB for 512 x 512 at m
//   = 2, 38 MB at m = 4) would not fit a cache and be used twice at most.
#include "kernels/conv/conv_winograd_kernels.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/conv/conv_design.h"
#include "kernels/conv/conv_kernels.h"
#include "kernels/conv/conv_winograd_weight.h"

enum {
    // Tiles of a unit of sums: a multiple of 6 and 8.  A block has as many, or a few times as many.
    TILES = 24,
    MOST_TILES = 96,  // tiles of a block at most: multiplied in one go
    PIXELS = 4 * 4,   // pixels of a tile's outputs at most
    GROUP_TILES = 96, // tiles at least for which weights are transformed
    BLOCKS = 4,       // blocks per thread at least, where blocks are larger than need be
};

typedef struct {
    const SrMachine *machine;
    const SrConvKernels *gemm;
    const SrWinogradKernels *transform;
    SrConvPatch in, out; // without place
    int m, points, pad_h, pad_w;
    SrWinogradTiles tiles;
    SrDtype type;      // of the images
    int C, K, C_width; // reduced and produced channels; C_width: C in whole vectors
    SrConvWeights weights;
    bool backward, add, by_columns;
    const SrConvEnd *end; // NULL: nothing follows
    int tiles_once;       // tiles of a block: TILES or a multiple of it
    int tile_blocks, column_blocks,
        // Groups of tile blocks: units, by columns, of one column block.
        tile_groups;
    const float *u;   // by tiles: (column blocks, points, C, width)
    float *v, *zeros; // by columns: v (tile blocks, points, tiles, C_width)
    char *threads;
    size_t thread_bytes;
} Job;

// Scratch of one thread.
typedef struct {
    const float **in;    // (tiles + SR_CONV_FETCH): rows of v
    float **out;         // (tiles): rows of m
    const float **later; // (2 * tiles * PIXELS + SR_CONV_FETCH): pixels needed soon
    float *u, *v;        // the operand that is made in parts: one column block, or one tile block
    float *work;         // the products (points, tiles, width)
} Table;

static int64_t u_block(const Job *job) { return (int64_t)job->points * job->C * job->gemm->block; }
static int64_t v_block(const Job *job) {
    return job->points * sr__winograd_point(job->tiles_once, job->C_width);
}

static Table take_table(SrConvScratch *scratch, const Job *job) {
    size_t block = (size_t)job->gemm->block, points = (size_t)job->points,
           tiles = (size_t)job->tiles_once;
    size_t u = job->by_columns ? points * (size_t)job->C * block : 0;
    size_t v = job->by_columns ? 0 : (size_t)v_block(job);
    size_t work = points * (size_t)sr__winograd_point(job->tiles_once, (int)block);
    return (Table){
        .in = sr__conv_take(scratch, sizeof(float *) * (tiles + SR_CONV_FETCH)),
        .out = sr__conv_take(scratch, sizeof(float *) * tiles),
        .later = sr__conv_take(scratch, sizeof(float *) * (2 * tiles * PIXELS + SR_CONV_FETCH)),
        .u = sr__conv_take(scratch, sizeof(float) * u),
        .v = sr__conv_take(scratch, sizeof(float) * v),
        .work = sr__conv_take(scratch, sizeof(float) * work)};
}

static int64_t units_of(const SrWinogradTiles *tiles) { return (tiles->count + TILES - 1) / TILES; }

// Sets the tiles of a block.  The transformed inputs of a block must stay in half of the
// second-level cache while all weights pass by; with more tiles the weights are read less often.
// Units of sums stay the same, and every output is computed the same way in any block, so no bit
// depends on the cache.
static int tiles_once(const Job *job) {
    int64_t bytes = (int64_t)sizeof(float) * job->points * job->C_width * TILES;
    int64_t most = SR_MIN((int64_t)job->machine->second_cache / 2 / bytes, MOST_TILES / TILES);
    int64_t units = job->tiles.count / TILES / (BLOCKS * sr_parallel_threads());
    return TILES * (int)SR_MAX(1, SR_MIN(most, units));
}

static Job new_job(const SrConvShape *s, int m, SrConvPass pass) {
    bool backward = pass == SR_CONV_BACKWARD_DATA;
    Job job = {.machine = s->machine,
               .gemm = sr__conv_kernels(s->machine, SR_F32),
               .transform = sr__winograd(s->machine, m, s->type),
               .type = s->type,
               .m = m,
               .points = (m + 2) * (m + 2),
               .backward = backward,
               .weights = {.K = s->K, .C = s->C, .taps = 9}};
    SrConvPatch x = {.H = s->H, .W = s->W, .C = s->C}, y = {.H = s->P, .W = s->Q, .C = s->K};
    job.in = backward ? y : x;
    job.out = backward ? x : y;
    job.pad_h = backward ? 2 - s->pad_h : s->pad_h;
    job.pad_w = backward ? 2 - s->pad_w : s->pad_w;
    job.C = job.in.C;
    job.K = job.out.C;
    job.C_width = sr__conv_width(job.gemm, job.C);
    job.tiles = sr__winograd_tiles(m, s->N, job.out.H, job.out.W);
    job.by_columns = 2 * units_of(&job.tiles) * TILES <= job.K;
    job.tiles_once = job.by_columns ? TILES : tiles_once(&job);
    job.tile_blocks = (int)((job.tiles.count + job.tiles_once - 1) / job.tiles_once);
    job.column_blocks = sr__conv_ceil_div(job.K, job.gemm->block);
    // Two units per thread.  The bits do not change: every output is computed the same way in any
    // unit.
    int wanted = sr__conv_ceil_div(2 * sr_parallel_threads(), job.column_blocks);
    job.tile_groups = (int)SR_MAX(1, SR_MIN(wanted, job.tiles.count / GROUP_TILES));
    return job;
}

static void take_pieces(SrConvScratch *scratch, Job *job) {
    SrConvScratch count = {0};
    take_table(&count, job);
    job->thread_bytes = count.used;
    size_t v = job->by_columns ? (size_t)v_block(job) * (size_t)job->tile_blocks : 0;
    job->v = sr__conv_take(scratch, sizeof(float) * v);
    job->zeros = sr__conv_take(scratch, sizeof(float) * (size_t)job->C);
    job->threads = sr__conv_take(scratch, count.used * (size_t)sr_parallel_threads());
}

static Table thread_table(const Job *job, int thread) {
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    return take_table(&scratch, job);
}

static int block_columns(const Job *job, int b) {
    return SR_MIN(job->K - b * job->gemm->block, job->gemm->block);
}

// Transforms the weights of column block b into u.  They are packed to the end of u, its last 9
// points, and transformed from there; all taps of some weights are read before their points are
// written.
static void transform_weights(const Job *job, int b, float *u) {
    int columns = block_columns(job, b), k0 = b * job->gemm->block;
    float *work = u + (int64_t)(job->points - 9) * job->C * sr__conv_width(job->gemm, columns);
    if (job->backward)
        job->gemm->pack_backward(&job->weights, k0, columns, work);
    else
        job->gemm->pack_forward(&job->weights, k0, columns, work);
    job->transform->weights(work, job->C, sr__conv_width(job->gemm, columns), job->backward, u);
}

static SrWinogradPlace block_place(const Job *job, int block) {
    return sr__winograd_place(&job->tiles, (int64_t)block * job->tiles_once);
}

static SrConvPatch patch_at(const Job *job, const SrConvPatch *tensor, SrWinogradPlace place) {
    return sr__winograd_patch(tensor, job->type, job->m, place);
}

static int block_tiles(const Job *job, int block) {
    return (int)SR_MIN(job->tiles.count - (int64_t)block * job->tiles_once, job->tiles_once);
}

// Transforms the inputs of tile block `block` into v (points, tiles, C_width).
static void transform_inputs(const Job *job, int block, float *v) {
    SrWinogradPlace place = block_place(job, block);
    int count = block_tiles(job, block);
    for (int i = 0; i < count; i++, sr__winograd_next(&job->tiles, &place)) {
        SrConvPatch p = patch_at(job, &job->in, place);
        p.h -= job->pad_h;
        p.w -= job->pad_w;
        p.zeros = job->zeros;
        job->transform->input(&p, v + (int64_t)i * job->C_width,
                              sr__winograd_point(job->tiles_once, job->C_width));
    }
}

// Applies the end to the outputs of a tile that lie in the image.
static void finish_patch(const Job *job, const SrConvPatch *p) {
    for (int h = p->h; h < SR_MIN(p->h + job->m, p->H); h++)
        for (int w = p->w; w < SR_MIN(p->w + job->m, p->W); w++)
            sr__conv_finish(job->machine, job->end, job->type, job->out.image,
                            sr__at(job->type, p->image, ((int64_t)h * p->W + w) * p->C + p->first),
                            p->first, p->channels);
}

// Writes the outputs of column block b for the tiles [from, to) of tile block `block`, one unit of
// sums; work as in write_outputs.
static void write_unit(const Job *job, const float *work, int block, int b, int from, int to) {
    int columns = block_columns(job, b), width = sr__conv_width(job->gemm, columns), pixels = 0;
    int64_t first = (int64_t)block * job->tiles_once + from, unit = first / TILES;
    SrWinogradPlace place = sr__winograd_place(&job->tiles, first);
    const SrConvEnd *end = job->end;
    float *sums = end && end->sums.unit ? end->sums.unit + unit * 3 * job->K : NULL;
    for (int i = from; i < to; i++, sr__winograd_next(&job->tiles, &place)) {
        SrConvPatch p = patch_at(job, &job->out, place);
        p.first = b * job->gemm->block;
        p.channels = columns;
        p.sums = sums ? sums + p.first : NULL;
        p.sums_stride = job->K;
        p.sums_begin = i == from;
        job->transform->output(work + (int64_t)i * width,
                               sr__winograd_point(job->tiles_once, width), &p, job->add);
        if (end && !sums)
            finish_patch(job, &p);
        pixels += SR_MIN(job->m, p.H - p.h) * SR_MIN(job->m, p.W - p.w);
    }
    if (sums && b == 0)
        end->sums.count[unit] = (float)pixels;
}

// Turns the products of column block b of tile block `block`, work (points, tiles, width), into
// outputs.
static void write_outputs(const Job *job, const float *work, int block, int b) {
    int tiles = block_tiles(job, block);
    for (int from = 0; from < tiles; from += TILES)
        write_unit(job, work, block, b, from, SR_MIN(from + TILES, tiles));
}

// Adds to a list of n the pixels of one of the images where tile block `block` has its outputs.
static int list_pixels(const Job *job, const SrConvPatch *tensor, int block, const float **list,
                       int n) {
    SrWinogradPlace place = block_place(job, block);
    int count = block_tiles(job, block);
    int64_t pixel = tensor->C * (int64_t)sr_dtype_bytes(job->type);
    for (int i = 0; i < count; i++, sr__winograd_next(&job->tiles, &place)) {
        SrConvPatch p = patch_at(job, tensor, place);
        int rows = SR_MIN(job->m, p.H - p.h), columns = SR_MIN(job->m, p.W - p.w);
        const char *row = (const char *)p.image + ((int64_t)p.h * p.W + p.w) * pixel;
        for (int h = 0; h < rows; h++, row += p.W * pixel)
            for (int w = 0; w < columns; w++)
                list[n++] = (const float *)(const void *)(row + w * pixel);
    }
    return n;
}

// Fetches operands during the products, because the transforms would otherwise wait for memory.
// The first column block fetches the places of the outputs.  The last one fetches the inputs that
// this thread needs next, as neighbouring units mostly belong to one thread.
static int list_later(const Job *job, const Table *table, int block, int b) {
    int n = 0, next = block + 1;
    if (b == 0)
        n = list_pixels(job, &job->out, block, table->later, n);
    if (b == job->column_blocks - 1 && !job->by_columns && next < job->tile_blocks)
        n = list_pixels(job, &job->in, next, table->later, n);
    for (int i = 0; i < SR_CONV_FETCH; i++)
        table->later[n + i] = job->zeros;
    return n;
}

// Multiplies all points of a full column block, tile by tile of the micro-kernel.
static void multiply_wide(const Job *job, const Table *table, const float *u, const float *v,
                          int count, int laters) {
    int width = job->gemm->block, rows = job->gemm->rows(width), later = 0;
    for (int i = 0; i < count + SR_CONV_FETCH; i++)
        table->in[i] = v + (int64_t)SR_MIN(i, job->tiles_once - 1) * job->C_width;
    for (int i = 0; i < count; i++)
        table->out[i] = table->work + (int64_t)i * width;
    SrConvTile t = {.tap = (const int[]){0}, .taps = 1, .channels = job->C, .columns = width};
    for (int xi = 0; xi < job->points; xi++) {
        t.w = u + (int64_t)xi * job->C * width;
        t.first = xi * sr__winograd_point(job->tiles_once, job->C_width);
        t.out_first = xi * sr__winograd_point(job->tiles_once, width);
        for (int i = 0; i < count; i += rows) {
            t.in = table->in + i;
            t.out = table->out + i;
            t.pixels = SR_MIN(count - i, rows);
            t.beside = later < laters ? table->later + later : NULL;
            later += SR_CONV_FETCH;
            job->gemm->tile(&t);
        }
    }
}

// Computes column block b of tile block `block`: the products of all points, then the outputs.
static void multiply(const Job *job, const Table *table, const float *u, const float *v, int block,
                     int b) {
    int width = sr__conv_width(job->gemm, block_columns(job, b));
    int count = block_tiles(job, block), laters = list_later(job, table, block, b);
    if (width == job->gemm->block)
        multiply_wide(job, table, u, v, count, laters);
    else
        SR_CPU_PICK(job->machine, sr__conv_points)
            ->points(&(SrConvPoints){.points = job->points,
                                     .rows = count,
                                     .channels = job->C,
                                     .width = width,
                                     .in = v,
                                     .in_row = job->C_width,
                                     .in_point = sr__winograd_point(job->tiles_once, job->C_width),
                                     .w = u,
                                     .out = table->work,
                                     .out_point = sr__winograd_point(job->tiles_once, width),
                                     .later = table->later,
                                     .laters = laters});
    write_outputs(job, table->work, block, b);
}

typedef struct {
    const Job *job;
    float *u; // Job.u
} Transform;

static void weights_unit(void *arg, int64_t i, int thread) {
    (void)thread;
    const Transform *t = arg;
    transform_weights(t->job, (int)i, t->u + i * u_block(t->job));
}

static void inputs_unit(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    transform_inputs(job, (int)i, job->v + i * v_block(job));
}

static void tiles_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Table table = thread_table(job, thread);
    transform_inputs(job, (int)i, table.v);
    for (int b = 0; b < job->column_blocks; b++)
        multiply(job, &table, job->u + b * u_block(job), table.v, (int)i, b);
}

// Runs unit i = (column block, group of tile blocks).
static void columns_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Table table = thread_table(job, thread);
    int b = (int)(i / job->tile_groups), group = (int)(i % job->tile_groups);
    transform_weights(job, b, table.u);
    int from = job->tile_blocks * group / job->tile_groups,
        to = job->tile_blocks * (group + 1) / job->tile_groups;
    for (int block = from; block < to; block++)
        multiply(job, &table, table.u, job->v + block * v_block(job), block, b);
}

static void run(const SrConvShape *s, int m, SrConvPass pass, const void *in, const float *w,
                const SrConvEnd *end, void *out, bool add, void *scratch) {
    Job job = new_job(s, m, pass);
    SrConvScratch pool = {scratch, 0};
    take_pieces(&pool, &job);
    memset(job.zeros, 0, sizeof(float) * (size_t)job.C);
    job.in.image = (void *)in; // only read: the patch of `input`
    job.out.image = out;
    job.weights.w = job.u = w;
    job.add = add;
    job.end = end;
    if (job.by_columns) {
        sr_parallel_for(job.tile_blocks, inputs_unit, &job);
        sr_parallel_for((int64_t)job.column_blocks * job.tile_groups, columns_unit, &job);
    } else {
        sr_parallel_for(job.tile_blocks, tiles_unit, &job);
    }
}

static SrConvPrepared prepared(const SrConvShape *s, int m, unsigned bit, SrConvPass pass) {
    Job job = new_job(s, m, pass);
    int64_t u = (int64_t)job.points * job.C * sr__conv_width(job.gemm, job.K);
    return sr__conv_prepared(bit, s, pass, job.by_columns ? 0 : u);
}

static void prepare(const SrConvShape *s, int m, SrConvPass pass, const float *w, float *u) {
    Job job = new_job(s, m, pass);
    job.weights.w = w;
    sr_parallel_for(job.column_blocks, weights_unit, &(Transform){&job, u});
}

static int64_t sum_units(const SrConvShape *s, int m) {
    SrWinogradTiles tiles = sr__winograd_tiles(m, s->N, s->P, s->Q);
    return units_of(&tiles);
}

static size_t scratch_bytes(const SrConvShape *s, int m, SrConvPass pass) {
    if (pass == SR_CONV_BACKWARD_WEIGHT)
        return sr__winograd_weight_bytes(s, m);
    Job job = new_job(s, m, pass);
    SrConvScratch count = {0};
    take_pieces(&count, &job);
    return count.used;
}

// Estimated time: the multiplications divided by the measured share of the peak, where the
// transforms take the rest (bench/conv_bench.c).  Transforming the weights takes as long as 16
// tiles.  It follows that m = 3 serves maps of 3, 5, 6, 9, 13 to 15, 17, 18 and 21, and m = 4 most
// others.  The direct design serves smaller maps and a few tiles of many channels, and m = 2 those
// in between.
static double cost(const SrConvShape *s, int m, SrConvPass pass) {
    bool fits = s->R == 3 && s->S == 3 && s->stride_h == 1 && s->stride_w == 1 &&
                s->dilation_h == 1 && s->dilation_w == 1 && s->groups == 1 && s->pad_h <= 2 &&
                s->pad_w <= 2 && s->C >= 16 && s->K >= 16;
    if (!fits)
        return -1;
    if (pass == SR_CONV_BACKWARD_WEIGHT)
        return sr__winograd_weight_cost(s, m);
    bool data = pass == SR_CONV_BACKWARD_DATA;
    SrWinogradTiles tiles = sr__winograd_tiles(m, s->N, data ? s->H : s->P, data ? s->W : s->Q);
    double share = m == 4 ? 0.72 : m == 3 ? 0.78 : 0.85;
    return (m + 2) * (m + 2) * ((double)tiles.count + 16) * s->C * s->K / share;
}

// The three sizes as designs.
#define DESIGN(m)                                                                                 \
    static double cost_##m(const SrConvShape *s, SrConvPass pass) { return cost(s, m, pass); }    \
    static size_t scratch_bytes_##m(const SrConvShape *s, SrConvPass pass) {                      \
        return scratch_bytes(s, m, pass);                                                         \
    }                                                                                             \
    static SrConvPrepared prepared_##m(const SrConvShape *s, SrConvPass pass) {                   \
        return prepared(s, m, SR_CONV_WINOGRAD##m, pass);                                         \
    }                                                                                             \
    static void prepare_##m(const SrConvShape *s, SrConvPass pass, const float *w, float *u) {    \
        prepare(s, m, pass, w, u);                                                                \
    }                                                                                             \
    static int64_t sum_units_##m(const SrConvShape *s) { return sum_units(s, m); }                \
    static void forward_##m(const SrConvShape *s, const void *x, const float *w,                  \
                            const SrConvEnd *end, void *y, void *scratch) {                       \
        run(s, m, SR_CONV_FORWARD, x, w, end, y, false, scratch);                                 \
    }                                                                                             \
    static void backward_data_##m(const SrConvShape *s, const void *dy, const float *w, void *dx, \
                                  bool add, void *scratch) {                                      \
        run(s, m, SR_CONV_BACKWARD_DATA, dy, w, NULL, dx, add, scratch);                          \
    }                                                                                             \
    static void backward_weight_##m(const SrConvShape *s, const void *x, const void *dy,          \
                                    float *dw, void *scratch) {                                   \
        sr__winograd_weight(s, m, x, dy, dw, scratch);                                            \
    }                                                                                             \
    const SrConvDesign sr__conv_winograd##m = {                                                   \
        .name = "winograd" #m,                                                                    \
        .bit = SR_CONV_WINOGRAD##m,                                                               \
        .cost = cost_##m,                                                                         \
        .scratch_bytes = scratch_bytes_##m,                                                       \
        .prepared = prepared_##m,                                                                 \
        .prepare = prepare_##m,                                                                   \
        .sum_units = sum_units_##m,                                                               \
        .forward = forward_##m,                                                                   \
        .backward_data = backward_data_##m,                                                       \
        .backward_weight = backward_weight_##m,                                                   \
    };

DESIGN(2)
DESIGN(3)
DESIGN(4)
