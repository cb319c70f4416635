// Weight gradient by Winograd's transform: du[xi] (C, K) += V[xi]^T Z[xi] over all tiles, V the
// transformed inputs and Z the transformed output gradients; dw = G^T du G.
//
// A unit is (range of tiles, rows of C, columns of K).  It keeps du for its corner of the matrix in
// the cache and turns it back into nine taps at its end, so that partial sums of ranges have the
// layout and size of the direct design's, (range, tap, C, K), and are added by the same function.
#include "kernels/conv_winograd.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/conv_design.h"
#include "kernels/conv_pack.h"

enum {
    TILES = 48, // multiplied in one go
    STEP = 128, // rows and columns of a unit at most; the more, the fewer tiles transformed twice
    LEAST_STEP = 64,
    UNITS = 16,           // pieces of work wanted of the cut into ranges
    RANGE_TILES = 192,    // of a range at least: pays for its transform back
    PART_BYTES = 8 << 20, // of all partial sums together, unless a single one is larger
};

typedef struct {
    const SrConvKernels *gemm;
    const SrWinogradKernels *transform;
    SrDtype type;      // of x and dy
    SrConvPatch x, dy; // without place
    int m, points, pad_h, pad_w, C, K, K_width;
    SrWinogradTiles tiles;
    int row_step, column_step, ranges;
    float *part, *zeros; // (ranges, 9, C, K_width), (C or K)
    char *threads;
    size_t thread_bytes;
} Job;

// What one thread needs; lives in scratch.
typedef struct {
    const float **rows, **columns; // (TILES): of v and of z's first block
    float *v, *z; // (points, TILES, row_step), (blocks of columns, points, TILES, block)
    float *du;    // (points, rows, columns of the unit)
} Table;

// Of one block of columns in z.
static int64_t z_floats(const Job *job) {
    return job->points * sr__winograd_point(TILES, job->gemm->block);
}

static Table take_table(SrConvScratch *scratch, const Job *job) {
    size_t points = (size_t)job->points, rows = (size_t)job->row_step,
           columns = (size_t)job->column_step;
    size_t blocks = columns / (size_t)job->gemm->block, z_block = (size_t)z_floats(job);
    return (Table){.rows = sr__conv_take(scratch, sizeof(float *) * TILES),
                   .columns = sr__conv_take(scratch, sizeof(float *) * TILES),
                   .v =
                       sr__conv_take(scratch, sizeof(float) * points *
                                                  (size_t)sr__winograd_point(TILES, job->row_step)),
                   .z = sr__conv_take(scratch, sizeof(float) * blocks * z_block),
                   .du = sr__conv_take(scratch, sizeof(float) * points * rows * columns)};
}

static int64_t units(const Job *job) {
    return (int64_t)job->ranges * sr__conv_ceil_div(job->C, job->row_step) *
           sr__conv_ceil_div(job->K, job->column_step);
}

// Ranges depend on the shape alone, for their sums are added; steps only say who computes what, so
// they may follow the number of threads.
static void cut(Job *job) {
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
    Job job = {.gemm = sr__conv_kernels(SR_F32),
               .transform = sr__winograd(m, s->type),
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
    job->part = sr__conv_take(scratch, sizeof(float) * 9 * (size_t)(job->ranges * job->C) *
                                           (size_t)job->K_width);
    job->zeros = sr__conv_take(scratch, sizeof(float) * (size_t)SR_MAX(job->C, job->K));
    job->threads = sr__conv_take(scratch, count.used * (size_t)sr_parallel_threads());
}

typedef struct {
    int range, c0, rows, k0, columns;
    int row_width; // rows in whole vectors
} Unit;

static Unit unit_at(const Job *job, int64_t i) {
    int column_steps = sr__conv_ceil_div(job->K, job->column_step);
    int row_steps = sr__conv_ceil_div(job->C, job->row_step);
    Unit u = {.k0 = (int)(i % column_steps) * job->column_step};
    u.c0 = (int)(i / column_steps % row_steps) * job->row_step;
    u.range = (int)(i / column_steps / row_steps);
    u.rows = SR_MIN(job->row_step, job->C - u.c0);
    u.columns = SR_MIN(job->column_step, job->K - u.k0);
    u.row_width = sr__conv_width(job->gemm, u.rows);
    return u;
}

static SrConvPatch patch_at(const Job *job, const SrConvPatch *tensor, int64_t tile, int first,
                            int channels) {
    SrConvPatch p = *tensor;
    int64_t image = tile / (job->tiles.rows * job->tiles.columns);
    p.image = sr__at(job->type, p.image, image * p.H * p.W * p.C);
    p.h = (int)(tile / job->tiles.columns % job->tiles.rows) * job->m;
    p.w = (int)(tile % job->tiles.columns) * job->m;
    p.first = first;
    p.channels = channels;
    p.zeros = job->zeros;
    return p;
}

// Tiles first .. first + count into v and z.
static void transform(const Job *job, const Table *table, const Unit *u, int64_t first, int count) {
    int block = job->gemm->block;
    for (int i = 0; i < count; i++) {
        SrConvPatch d = patch_at(job, &job->x, first + i, u->c0, u->rows);
        d.h -= job->pad_h;
        d.w -= job->pad_w;
        job->transform->input(&d, table->v + (int64_t)i * u->row_width,
                              sr__winograd_point(TILES, u->row_width));
        for (int k = 0; k < u->columns; k += block) {
            SrConvPatch g =
                patch_at(job, &job->dy, first + i, u->k0 + k, SR_MIN(block, u->columns - k));
            float *z = table->z + k / block * z_floats(job);
            job->transform->gradient(&g, z + (int64_t)i * block, sr__winograd_point(TILES, block));
        }
    }
}

// du[block of columns] (points, rows, width) += V^T Z
static void multiply(const Job *job, const Table *table, const Unit *u, int count) {
    int block = job->gemm->block;
    SrConvOuter o = {.pixels = count, .rows = u->rows, .x = table->rows, .y = table->columns};
    for (int xi = 0; xi < job->points; xi++)
        for (int k = 0; k < u->columns; k += block) {
            o.width = sr__conv_width(job->gemm, SR_MIN(block, u->columns - k));
            o.x_first = xi * sr__winograd_point(TILES, u->row_width);
            o.y_first = k / block * z_floats(job) + xi * sr__winograd_point(TILES, block);
            o.out =
                table->du + (int64_t)job->points * u->rows * k + (int64_t)xi * u->rows * o.width;
            o.out_stride = o.width;
            job->gemm->outer(&o);
        }
}

static void run_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Unit u = unit_at(job, i);
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    Table table = take_table(&scratch, job);
    int width = sr__conv_width(job->gemm, u.columns);
    memset(table.du, 0, sizeof(float) * (size_t)job->points * (size_t)u.rows * (size_t)width);
    for (int j = 0; j < TILES; j++) {
        table.rows[j] = table.v + (int64_t)j * u.row_width;
        table.columns[j] = table.z + (int64_t)j * job->gemm->block;
    }
    int64_t from = job->tiles.count * u.range / job->ranges,
            to = job->tiles.count * (u.range + 1) / job->ranges;
    for (int64_t first = from; first < to; first += TILES) {
        int count = (int)SR_MIN(to - first, TILES);
        transform(job, &table, &u, first, count);
        multiply(job, &table, &u, count);
    }
    int64_t tap = (int64_t)job->C * job->K_width;
    float *part = job->part + u.range * 9 * tap + (int64_t)u.c0 * job->K_width + u.k0;
    for (int k = 0; k < u.columns; k += job->gemm->block)
        job->transform->weight_gradient(
            table.du + (int64_t)job->points * u.rows * k, u.rows,
            sr__conv_width(job->gemm, SR_MIN(job->gemm->block, u.columns - k)), part + k, tap,
            job->K_width);
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
    sr_parallel_for(units(&job), run_unit, &job);
    SrConvShape floats = *s; // as the partial sums are, whatever x is
    floats.type = SR_F32;
    SrConvPacking p = sr__conv_packing(&floats);
    sr__conv_unpack(&p, job.part, job.ranges, dw);
}
