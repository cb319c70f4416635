// Weight gradient of the direct convolution: for each tap, dw (C, K) += x^T dy over the pixels the tap reaches.
//
// Work is cut into units (group, range of pixels, rows of C, columns of K), all taps each, so that x is read
// from memory once a unit and its neighbourhood comes from cache.  Ranges have partial sums of their own,
// (range, group, tap, C, K); sr__conv_unpack adds them in order.
#include <string.h>

#include "base/parallel.h"
#include "kernels/conv_design.h"
#include "kernels/conv_direct.h"
#include "kernels/conv_pack.h"
#include "kernels/conv_pixels.h"

enum {
    PIXELS = 256,          // multiplied in one go: long enough to hide loading and storing the sums
    ROWS = 64,             // of x copied side by side at a time
    COPY_FROM = 128,       // channels: beyond, pixels lie so far apart that they share cache sets
    STEP = 256,            // rows and columns of a unit at most
    UNITS = 32,            // pieces of work wanted
    PART_BYTES = 8 << 20,  // of all partial sums together, unless a single one is larger
};

typedef struct {
    SrConvGrid grid;
    const float *dy; // (N, P, Q, K)
    int K;           // of all groups
    const SrConvKernels *kernels;
    int groups, rows, columns; // of one group: channels of a tap, outputs
    int64_t pixels;
    int ranges, row_step, column_step;
    float *part; // (ranges, groups, taps, rows, width of columns)
    char *threads;
    size_t thread_bytes;
} Job;

// What one thread needs; lives in scratch.
typedef struct {
    const float **in; // (taps, PIXELS): after list_inside only the pixels inside the image
    int *index;       // (taps, PIXELS): which pixels those are
    int *inside;      // (taps): how many
    const float **at; // (PIXELS): the pixels of dy
    float *y, *x;     // (blocks, PIXELS, width), (PIXELS, ROWS): copied side by side
    const float **x_at; // (PIXELS): rows of x
    float *edge;      // (taps * PIXELS, rows)
} Table;

static Table take_table(SrConvScratch *scratch, int taps, int run, int rows, int column_step) {
    size_t slots = (size_t)taps * PIXELS;
    return (Table){.in = sr__conv_take(scratch, sizeof(float *) * slots),
                   .index = sr__conv_take(scratch, sizeof(int) * slots),
                   .inside = sr__conv_take(scratch, sizeof(int) * (size_t)taps),
                   .at = sr__conv_take(scratch, sizeof(float *) * PIXELS),
                   .y = sr__conv_take(scratch, sizeof(float) * PIXELS * (size_t)column_step),
                   .x = sr__conv_take(scratch, sizeof(float) * PIXELS * ROWS),
                   .x_at = sr__conv_take(scratch, sizeof(float *) * PIXELS),
                   .edge = sr__conv_take(scratch, run > 1 ? sizeof(float) * slots * (size_t)rows : 0)};
}

static int64_t part_floats(const Job *job) {
    return (int64_t)job->groups * job->grid.taps * job->rows * sr__conv_width(job->kernels, job->columns);
}

static int64_t units(const Job *job) {
    return (int64_t)job->groups * job->ranges * sr__conv_ceil_div(job->rows, job->row_step) *
           sr__conv_ceil_div(job->columns, job->column_step);
}

// Cuts the work; depends on the shape alone.
static void cut(Job *job) {
    int64_t chunks = (job->pixels + PIXELS - 1) / PIXELS;
    int64_t most = PART_BYTES / (part_floats(job) * (int64_t)sizeof(float));
    job->row_step = job->column_step = STEP;
    job->ranges = 1;
    int64_t wanted = (UNITS + units(job) - 1) / units(job);
    job->ranges = (int)SR_MAX(1, SR_MIN(wanted, SR_MIN(most, chunks)));
    for (int step = STEP / 2; step >= ROWS; step /= 2) {
        if (units(job) < UNITS)
            job->row_step = step;
        if (units(job) < UNITS)
            job->column_step = step;
    }
}

static Job new_job(const SrConvShape *s, const SrConvPacking *p) {
    int run = sr__conv_run(s);
    Job job = {
        .grid = {.N = s->N, .H = s->H, .W = s->W, .C = s->C, .grid_h = s->P, .grid_w = s->Q,
                 .step_h = s->stride_h, .step_w = s->stride_w, .run = run, .taps = p->taps / run},
        .K = s->K,
        .kernels = p->kernels,
        .groups = p->groups, .rows = run * p->C, .columns = p->K,
        .pixels = (int64_t)s->N * s->P * s->Q,
    };
    cut(&job);
    return job;
}

// Keeps only the pixels whose tap is inside the image.
static void list_inside(const Job *job, const Table *table, int count) {
    for (int t = 0; t < job->grid.taps; t++) {
        const float **in = table->in + t * PIXELS;
        int *index = table->index + t * PIXELS, n = 0;
        for (int i = 0; i < count; i++)
            if (in[i] != job->grid.zeros) {
                in[n] = in[i];
                index[n++] = i;
            }
        table->inside[t] = n;
    }
}

// Columns [k0, k1) of dy's pixels, block after block.
static void copy_dy(const Job *job, const Table *table, int64_t first, int count, int group, int k0, int k1) {
    for (int i = 0; i < count; i++)
        table->at[i] = job->dy + (first + i) * job->K + group * job->columns;
    for (int k = k0; k < k1; k += job->kernels->block)
        job->kernels->gather(table->at, k, count, SR_MIN(k1 - k, job->kernels->block),
                             table->y + (int64_t)(k - k0) * PIXELS);
}

// Rows [c, c + rows) of tap t: all columns of the unit.
static void add_rows(const Job *job, const Table *table, int t, int c, int rows, int group, int k0, int k1,
                     float *part) {
    int width = sr__conv_width(job->kernels, job->columns), channel = group * job->rows + c;
    SrConvOuter o = {.pixels = table->inside[t],
                     .rows = rows,
                     .x = table->in + t * PIXELS,
                     .first = channel,
                     .index = table->index + t * PIXELS,
                     .out_stride = width};
    if (job->grid.C >= COPY_FROM) {
        job->kernels->gather(o.x, channel, o.pixels, rows, table->x);
        for (int i = 0; i < o.pixels; i++)
            table->x_at[i] = table->x + i * sr__conv_width(job->kernels, rows);
        o.x = table->x_at;
        o.first = 0;
    }
    for (int k = k0; k < k1; k += job->kernels->block) {
        o.width = sr__conv_width(job->kernels, SR_MIN(k1 - k, job->kernels->block));
        o.y = table->y + (int64_t)(k - k0) * PIXELS;
        o.out = part + ((int64_t)t * job->rows + c) * width + k;
        job->kernels->outer(&o);
    }
}

typedef struct {
    int group, range, c0, c1, k0, k1;
} Unit;

static Unit unit_at(const Job *job, int64_t i) {
    int row_steps = sr__conv_ceil_div(job->rows, job->row_step);
    int column_steps = sr__conv_ceil_div(job->columns, job->column_step);
    Unit u = {.k0 = (int)(i % column_steps) * job->column_step};
    u.c0 = (int)(i / column_steps % row_steps) * job->row_step;
    u.range = (int)(i / column_steps / row_steps % job->ranges);
    u.group = (int)(i / column_steps / row_steps / job->ranges);
    u.c1 = SR_MIN(u.c0 + job->row_step, job->rows);
    u.k1 = SR_MIN(u.k0 + job->column_step, job->columns);
    return u;
}

static void clear(const Job *job, const Unit *u, float *part) {
    int width = sr__conv_width(job->kernels, job->columns), to = sr__conv_width(job->kernels, u->k1);
    for (int t = 0; t < job->grid.taps; t++)
        for (int c = u->c0; c < u->c1; c++)
            memset(part + ((int64_t)t * job->rows + c) * width + u->k0, 0, sizeof(float) * (size_t)(to - u->k0));
}

static void run_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Unit u = unit_at(job, i);
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    Table table = take_table(&scratch, job->grid.taps, job->grid.run, job->rows, job->column_step);
    float *part = job->part + (u.range * (int64_t)job->groups + u.group) * (part_floats(job) / job->groups);
    clear(job, &u, part);
    int64_t chunks = (job->pixels + PIXELS - 1) / PIXELS;
    for (int64_t chunk = chunks * u.range / job->ranges; chunk < chunks * (u.range + 1) / job->ranges; chunk++) {
        int64_t first = chunk * PIXELS;
        int count = (int)SR_MIN(job->pixels - first, PIXELS);
        sr__conv_pixels(&job->grid, first, count, table.in, PIXELS, table.edge);
        list_inside(job, &table, count);
        copy_dy(job, &table, first, count, u.group, u.k0, u.k1);
        for (int t = 0; t < job->grid.taps; t++)
            for (int c = u.c0; c < u.c1; c += ROWS)
                add_rows(job, &table, t, c, SR_MIN(u.c1 - c, ROWS), u.group, u.k0, u.k1, part);
    }
}

// Scratch: what all threads share, then a table for each.  Returns the place of the taps.
static SrConvTap *take_pieces(SrConvScratch *scratch, Job *job) {
    SrConvScratch count = {0};
    take_table(&count, job->grid.taps, job->grid.run, job->rows, job->column_step);
    job->thread_bytes = count.used;
    job->part = sr__conv_take(scratch, sizeof(float) * (size_t)(job->ranges * part_floats(job)));
    job->threads = sr__conv_take(scratch, count.used * (size_t)sr_parallel_threads());
    return sr__conv_take(scratch, sizeof(SrConvTap) * (size_t)job->grid.taps);
}

size_t sr__conv_direct_weight_bytes(const SrConvShape *s) {
    SrConvPacking p = sr__conv_packing(s);
    Job job = new_job(s, &p);
    SrConvScratch count = {0};
    take_pieces(&count, &job);
    return count.used;
}

void sr__conv_direct_weight(const SrConvShape *s, const float *x, const float *dy, float *dw, void *scratch) {
    SrConvPacking p = sr__conv_packing(s);
    Job job = new_job(s, &p);
    SrConvScratch pool = {scratch, 0};
    SrConvTap *tap = take_pieces(&pool, &job);
    sr__conv_taps(s, job.grid.run, tap);
    job.grid.tap = tap;
    job.grid.in = x;
    job.grid.zeros = job.part; // never read, only told from x by list_inside
    job.dy = dy;
    sr_parallel_for(units(&job), run_unit, &job);
    sr__conv_unpack(&p, job.part, job.ranges, dw);
}
