// Weight gradient by Winograd's transform: du[xi] (C, K) += V[xi]^T Z[xi] over all tiles, where V
// are the transformed inputs and Z the transformed output gradients; then dw = G^T du G.
//
// A unit keeps du for a corner of the matrix (some rows of C, some columns of K) in the cache and
// turns it back into nine taps at its end.  Two orders of work:
//   ranges  few channels, many tiles: a unit is also a range of tiles and transforms them itself.
//           Partial sums have the layout and size of the direct design's, (range, block, tap, C,
//           width), and the same function adds them.
//   shared  many channels: all tiles are transformed once, a chunk at a time, and every unit reads
//           what it needs; its taps go straight to dw.
#include "kernels/conv/conv_winograd_weight.h"

#include "kernels/conv/conv_winograd_kernels.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/conv/conv_design.h"
#include "kernels/conv/conv_pack.h"

enum {
    TILES = 48, // tiles of a range multiplied in one go
    // rows and columns of a unit at most; with more, fewer tiles are transformed twice
    STEP = 128,
    LEAST_STEP = 64,
    UNITS = 16,           // pieces of work wanted when ranges are cut
    RANGE_TILES = 192,    // tiles of a range at least: pays for its transform back
    PART_BYTES = 8 << 20, // bytes of all partial sums together, unless a single one is larger
    SHARED_UNITS = 8,     // units of LEAST_STEP rows and columns from which tiles are shared
    SHARED_TILES = 256,   // tiles of a chunk at most
    // bytes of a transformed chunk at most; the last-level cache holds other data too
    SHARED_BYTES = 20 << 20,
    TRANSFORMED = 8, // tiles of a unit that transforms shared ones
    LINE = SR_ALIGN / (int)sizeof(float),
    FETCHES = 2 * LEAST_STEP / LINE, // per point
    PIXELS = 4 * 4,                  // pixels of a tile at most
};

typedef struct {
    const SrConvKernels *gemm;
    const SrWinogradKernels *transform;
    SrDtype type;      // of x and dy
    SrConvPatch x, dy; // without place
    int m, points, pad_h, pad_w, C, K, K_width;
    SrWinogradTiles tiles;
    int row_step, column_step, ranges;
    bool shared;
    int chunk;           // tiles multiplied in one go
    int64_t first;       // first tile of the present shared chunk
    int count;           // number of tiles in it
    float *v, *z;        // of a shared chunk: (steps of C or K, points, chunk, LEAST_STEP)
    float *dw;           // (K, C, 9)
    float *part, *zeros; // (ranges, blocks, 9, C, width), (C or K)
    char *threads;
    size_t thread_bytes;
} Job;

// Scratch of one thread.
typedef struct {
    const float **rows, **columns; // (chunk): of v and z
    float *v, *z; // (points, chunk, row_step), (points, chunk, column_step), unless shared
    float *du;    // (blocks, points, rows, columns of the unit)
    float *taps;  // (9, rows, width) of a block of the unit, if shared
    // (x or dy, PIXELS, TILES): pixels of the next chunk's tiles, unless shared
    const float **next;
} Table;

// Returns the floats of one step's chunk, transformed.
static int64_t chunk_floats(const Job *job, int step) {
    return job->points * sr__winograd_point(job->chunk, step);
}

static Table take_table(SrConvScratch *scratch, const Job *job) {
    size_t corner = (size_t)job->row_step * (size_t)job->column_step, chunk = (size_t)job->chunk;
    size_t v = job->shared ? 0 : (size_t)chunk_floats(job, job->row_step);
    size_t z = job->shared ? 0 : (size_t)chunk_floats(job, job->column_step);
    return (Table){
        .rows = sr__conv_take(scratch, sizeof(float *) * chunk),
        .columns = sr__conv_take(scratch, sizeof(float *) * chunk),
        .v = sr__conv_take(scratch, sizeof(float) * v),
        .z = sr__conv_take(scratch, sizeof(float) * z),
        .du = sr__conv_take(scratch, sizeof(float) * (size_t)job->points * corner),
        .next = sr__conv_take(scratch, job->shared ? 0 : sizeof(float *) * 2 * PIXELS * TILES),
        .taps = sr__conv_take(scratch, job->shared ? sizeof(float) * 9 * corner : 0)};
}

static int row_steps(const Job *job) { return sr__conv_ceil_div(job->C, job->row_step); }
static int column_steps(const Job *job) { return sr__conv_ceil_div(job->K, job->column_step); }
static int64_t units(const Job *job) {
    return (int64_t)job->ranges * row_steps(job) * column_steps(job);
}

// Cuts equal chunks.  The cut depends on the shape alone, because the chunks' sums are added in dw.
static bool share(Job *job) {
    job->row_step = job->column_step = LEAST_STEP;
    job->ranges = 1;
    if (units(job) < SHARED_UNITS)
        return false;
    int64_t tile = (int64_t)sizeof(float) * job->points * (job->C + job->K);
    int64_t most = SR_MAX(LEAST_STEP, SR_MIN(SHARED_BYTES / tile, SHARED_TILES));
    int64_t chunks = SR_MAX(1, (job->tiles.count + most - 1) / most);
    job->chunk = (int)((job->tiles.count + chunks - 1) / chunks);
    return true;
}

// Cuts ranges and steps.  Ranges depend on the shape alone, because their sums are added; steps
// only say who computes what, so they may follow the number of threads.
static void cut(Job *job) {
    job->shared = share(job);
    if (job->shared)
        return;
    job->chunk = TILES;
    int64_t part = (int64_t)sizeof(float) * 9 * job->C * job->K_width;
    job->row_step = job->column_step = STEP;
    job->ranges = 1;
    int64_t most = SR_MIN(PART_BYTES / part, job->tiles.count / RANGE_TILES);
    job->ranges = (int)SR_MAX(1, SR_MIN((UNITS + units(job) - 1) / units(job), most));
    if (units(job) < 2 * sr_parallel_threads())
        job->row_step = LEAST_STEP;
    if (units(job) < 2 * sr_parallel_threads())
        job->column_step = LEAST_STEP;
}

static Job new_job(const SrConvShape *s, int m) {
    Job job = {.gemm = sr__conv_kernels(s->machine, SR_F32),
               .transform = sr__winograd(s->machine, m, s->type),
               .type = s->type,
               .x = {.H = s->H, .W = s->W, .C = s->C},
               .dy = {.H = s->P, .W = s->Q, .C = s->K},
               .m = m,
               .points = (m + 2) * (m + 2),
               .pad_h = s->pad_h,
               .pad_w = s->pad_w,
               .C = s->C,
               .K = s->K,
               .tiles = sr__winograd_tiles(m, s->N, s->P, s->Q)};
    job.K_width = sr__conv_width(job.gemm, s->K);
    cut(&job);
    return job;
}

static void take_pieces(SrConvScratch *scratch, Job *job) {
    SrConvScratch count = {0};
    take_table(&count, job);
    job->thread_bytes = count.used;
    size_t part = 9 * (size_t)(job->ranges * job->C) * (size_t)job->K_width;
    size_t v = (size_t)chunk_floats(job, LEAST_STEP) * (size_t)row_steps(job);
    size_t z = (size_t)chunk_floats(job, LEAST_STEP) * (size_t)column_steps(job);
    job->part = sr__conv_take(scratch, job->shared ? 0 : sizeof(float) * part);
    job->v = sr__conv_take(scratch, job->shared ? sizeof(float) * v : 0);
    job->z = sr__conv_take(scratch, job->shared ? sizeof(float) * z : 0);
    job->zeros = sr__conv_take(scratch, sizeof(float) * (size_t)SR_MAX(job->C, job->K));
    job->threads = sr__conv_take(scratch, count.used * (size_t)sr_parallel_threads());
}

typedef struct {
    int range, c0, rows, k0, columns;
    int row_width, width; // rows and columns in whole vectors
    bool listed;          // the table lists the next chunk's pixels
} Unit;

static Unit unit_at(const Job *job, int64_t i) {
    Unit u = {.k0 = (int)(i % column_steps(job)) * job->column_step};
    u.c0 = (int)(i / column_steps(job) % row_steps(job)) * job->row_step;
    u.range = (int)(i / column_steps(job) / row_steps(job));
    u.rows = SR_MIN(job->row_step, job->C - u.c0);
    u.columns = SR_MIN(job->column_step, job->K - u.k0);
    u.row_width = sr__conv_width(job->gemm, u.rows);
    u.width = sr__conv_width(job->gemm, u.columns);
    return u;
}

// Transforms channels first to first + channels - 1 of a tile of x, or of dy, into v or z.
static void transform_x(const Job *job, SrWinogradPlace place, int first, int channels, float *v,
                        int64_t point) {
    SrConvPatch d = sr__winograd_patch(&job->x, job->type, job->m, place);
    d.h -= job->pad_h;
    d.w -= job->pad_w;
    d.first = first;
    d.channels = channels;
    d.zeros = job->zeros;
    job->transform->input(&d, v, point);
}

static void transform_dy(const Job *job, SrWinogradPlace place, int first, int channels, float *z,
                         int64_t point) {
    SrConvPatch g = sr__winograd_patch(&job->dy, job->type, job->m, place);
    g.first = first;
    g.channels = channels;
    g.zeros = job->zeros;
    job->transform->gradient(&g, z, point);
}

// Lists tile by tile where the unit's rows of v and columns of z lie at the first point, and how
// far the next point is.
static void list_tiles(const Job *job, const Table *table, const float *v, int v_width,
                       const float *z, int z_width) {
    for (int i = 0; i < job->chunk; i++) {
        table->rows[i] = v + (int64_t)i * v_width;
        table->columns[i] = z + (int64_t)i * z_width;
    }
}

// Lists the pixels of tiles [first, first + count), position after position in a tile, tile after
// tile.  These are also the pixels that the input patches do not share with later tiles.
static void list_next(const Job *job, const SrConvPatch *tensor, int64_t first, int count,
                      const float **next) {
    SrWinogradPlace place = sr__winograd_place(&job->tiles, first);
    int64_t pixel = tensor->C * (int64_t)sr_dtype_bytes(job->type);
    for (int t = 0; t < TILES; t++) {
        SrConvPatch p = sr__winograd_patch(tensor, job->type, job->m, place);
        const char *row = (const char *)p.image + ((int64_t)p.h * p.W + p.w) * pixel;
        const float **at = next + t;
        for (int h = 0; h < job->m; h++, row += p.W * pixel)
            for (int w = 0; w < job->m; w++, at += TILES) {
                bool inside = p.h + h < p.H && p.w + w < p.W;
                *at = inside ? (const float *)(const void *)(row + w * pixel) : job->zeros;
            }
        if (t + 1 < count)
            sr__winograd_next(&job->tiles, &place);
    }
}

// Lists what is fetched during point xi's products: the next point's operands if they come from far
// away, or the next chunk's pixels, in the unit's channels.
static int list_lines(const Job *job, const Table *table, const Unit *u, int64_t v_next,
                      int64_t z_next, int xi, SrConvFetch fetch[FETCHES]) {
    int n = 0, pixels = job->m * job->m, size = (int)sr_dtype_bytes(job->type);
    if (job->shared) {
        for (int c = 0; c < u->rows && xi + 1 < job->points; c += LINE)
            fetch[n++] = (SrConvFetch){table->rows, v_next + c};
        for (int k = 0; k < u->columns && xi + 1 < job->points; k += LINE)
            fetch[n++] = (SrConvFetch){table->columns, z_next + k};
        return n;
    }
    int x_lines = pixels * sr__conv_ceil_div(u->rows * size, SR_ALIGN),
        y_lines = pixels * sr__conv_ceil_div(u->columns * size, SR_ALIGN);
    int from = xi * FETCHES, to = SR_MIN(from + FETCHES, x_lines + y_lines);
    for (int i = from; i < to && u->listed; i++) {
        bool x = i < x_lines;
        int line = x ? i : i - x_lines, c0 = x ? u->c0 : u->k0;
        fetch[n++] = (SrConvFetch){table->next + ((x ? 0 : PIXELS) + line % pixels) * TILES,
                                   c0 * size / (int)sizeof(float) + line / pixels * LINE};
    }
    return n;
}

// Computes du (blocks, points, rows, width) = or += V^T Z over `count` tiles.
static void multiply(const Job *job, const Table *table, const Unit *u, int64_t v_point,
                     int64_t z_point, int count, bool add) {
    SrConvFetch fetch[FETCHES];
    SrConvOuter o = {
        .pixels = count, .rows = u->rows, .x = table->rows, .y = table->columns, .fresh = !add};
    for (int xi = 0; xi < job->points; xi++) {
        o.fetch = fetch;
        o.fetches = list_lines(job, table, u, (xi + 1) * v_point, (xi + 1) * z_point, xi, fetch);
        for (int k = 0; k < u->columns; k += job->gemm->block) {
            o.width = SR_MIN(u->width - k, job->gemm->block);
            o.x_first = xi * v_point;
            o.y_first = xi * z_point + k;
            o.out = table->du + ((int64_t)k * job->points + (int64_t)xi * o.width) * u->rows;
            job->gemm->outer(&o);
            int runs = SR_MIN(sr__conv_runs(job->gemm, u->rows, o.width), o.fetches);
            o.fetch += runs;
            o.fetches -= runs;
        }
    }
}

static Table thread_table(const Job *job, int thread) {
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    return take_table(&scratch, job);
}

// Turns the block of the unit's columns at k back into taps, at row `first` of (9, rows, width).
static void transform_back(const Job *job, const Table *table, const Unit *u, int k, float *taps,
                           int rows, int first) {
    int width = SR_MIN(u->width - k, job->gemm->block);
    job->transform->weight_gradient(table->du + (int64_t)k * job->points * u->rows, u->rows, width,
                                    taps + (int64_t)first * width, (int64_t)rows * width, width);
}

// Computes a corner of a range.
static void range_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Unit u = unit_at(job, i);
    Table table = thread_table(job, thread);
    int64_t v_point = sr__winograd_point(TILES, u.row_width);
    int64_t z_point = sr__winograd_point(TILES, u.width);
    list_tiles(job, &table, table.v, u.row_width, table.z, u.width);
    int64_t from = job->tiles.count * u.range / job->ranges,
            to = job->tiles.count * (u.range + 1) / job->ranges;
    SrWinogradPlace place = sr__winograd_place(&job->tiles, from);
    for (int64_t first = from; first < to; first += TILES) {
        int count = (int)SR_MIN(to - first, TILES);
        for (int t = 0; t < count; t++, sr__winograd_next(&job->tiles, &place)) {
            transform_x(job, place, u.c0, u.rows, table.v + (int64_t)t * u.row_width, v_point);
            transform_dy(job, place, u.k0, u.columns, table.z + (int64_t)t * u.width, z_point);
        }
        // Beyond the range the next one begins, mostly this thread's next unit.
        int64_t next = first + count, left = SR_MIN(job->tiles.count - next, TILES);
        u.listed = left > 0;
        if (u.listed) {
            list_next(job, &job->x, next, (int)left, table.next);
            list_next(job, &job->dy, next, (int)left, table.next + PIXELS * TILES);
        }
        multiply(job, &table, &u, v_point, z_point, count, first > from);
    }
    float *part = job->part + 9 * (int64_t)job->C * (u.range * job->K_width + u.k0);
    for (int k = 0; k < u.columns; k += job->gemm->block)
        transform_back(job, &table, &u, k, part + 9 * (int64_t)job->C * k, job->C, u.c0);
}

// Runs unit i = (x or dy, a few tiles of the chunk): all channels.
static void transform_unit(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    int64_t point = sr__winograd_point(job->chunk, LEAST_STEP),
            step = chunk_floats(job, LEAST_STEP);
    int first = (int)(i / 2) * TRANSFORMED, last = SR_MIN(first + TRANSFORMED, job->count);
    bool x = i % 2 == 0;
    int channels = x ? job->C : job->K;
    SrWinogradPlace place = sr__winograd_place(&job->tiles, job->first + first);
    for (int t = first; t < last; t++, sr__winograd_next(&job->tiles, &place))
        for (int c = 0; c < channels; c += LEAST_STEP)
            (x ? transform_x : transform_dy)(
                job, place, c, SR_MIN(channels - c, LEAST_STEP),
                (x ? job->v : job->z) + c / LEAST_STEP * step + (int64_t)t * LEAST_STEP, point);
}

// Computes a corner over all tiles of a chunk and adds its taps to dw.
static void shared_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Unit u = unit_at(job, i);
    Table table = thread_table(job, thread);
    int64_t point = sr__winograd_point(job->chunk, LEAST_STEP),
            step = chunk_floats(job, LEAST_STEP);
    list_tiles(job, &table, job->v + u.c0 / LEAST_STEP * step, LEAST_STEP,
               job->z + u.k0 / LEAST_STEP * step, LEAST_STEP);
    multiply(job, &table, &u, point, point, job->count, false);
    for (int k = 0; k < u.columns; k += job->gemm->block) {
        transform_back(job, &table, &u, k, table.taps, u.rows, 0);
        SrConvWeights shape = {NULL, SR_MIN(u.columns - k, job->gemm->block), u.rows, 9};
        SrConvParts parts = {table.taps, 1, sr__conv_width(job->gemm, shape.K), 0};
        float *dw = job->dw + ((int64_t)(u.k0 + k) * job->C + u.c0) * 9;
        for (int j = 0; j < shape.K; j += job->gemm->lanes)
            job->gemm->unpack(&shape, j, &parts, dw, (int64_t)job->C * 9);
    }
}

// Estimated time: products at the measured share of the peak; transforming du back, which takes as
// long as some tiles; transforming a channel of a tile of x and dy (bench/conv_bench.c).
double sr__winograd_weight_cost(const SrConvShape *s, int m) {
    double tiles = (double)sr__winograd_tiles(m, s->N, s->P, s->Q).count, C = s->C, K = s->K;
    return m == 4   ? 36 * (tiles + 11) * C * K / 0.8 + 350 * tiles * (C + K)
           : m == 3 ? 25 * (tiles + 13) * C * K / 0.83 + 240 * tiles * (C + K)
                    : 16 * (tiles + 16) * C * K / 0.85 + 130 * tiles * (C + K);
}

size_t sr__winograd_weight_bytes(const SrConvShape *s, int m) {
    Job job = new_job(s, m);
    SrConvScratch count = {0};
    take_pieces(&count, &job);
    return count.used;
}

void sr__winograd_weight(const SrConvShape *s, int m, const void *x, const void *dy, float *dw,
                         void *scratch) {
    Job job = new_job(s, m);
    SrConvScratch pool = {scratch, 0};
    take_pieces(&pool, &job);
    memset(job.zeros, 0, sizeof(float) * (size_t)SR_MAX(job.C, job.K));
    job.x.image = (void *)x; // only read: the patches of `input` and `gradient`
    job.dy.image = (void *)dy;
    job.dw = dw;
    if (job.shared) {
        for (; job.first < job.tiles.count; job.first += job.chunk) {
            job.count = (int)SR_MIN(job.tiles.count - job.first, job.chunk);
            sr_parallel_for(2 * (int64_t)sr__conv_ceil_div(job.count, TRANSFORMED), transform_unit,
                            &job);
            sr_parallel_for(units(&job), shared_unit, &job);
        }
        return;
    }
    sr_parallel_for(units(&job), range_unit, &job);
    SrConvShape floats = *s; // partial sums are floats, whatever x is
    floats.type = SR_F32;
    SrConvPacking p = sr__conv_packing(&floats);
    sr__conv_unpack(&p, job.part, job.ranges, dw);
}
