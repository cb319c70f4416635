// Weight gradient of the direct convolution: for each tap, dw (C, K) += x^T dy over the pixels that
// the tap reaches.
//
// A 1x1 kernel's gradient is computed transposed, dw (K, C) += dy^T x, because PyTorch stores it
// so.  "Rows" and "columns" below stand for C and K, or for K and C.
//
// Work is cut into units (group, range of pixels, rows, columns), each with all taps.  A unit then
// reads x from memory once, and its neighbourhood comes from the cache.  Each range has partial
// sums (range, group, block of columns, tap, row, width), which are added in order.  With a single
// range a unit keeps its sums and adds them to dw itself.
//
// bfloat16 multiplies pairs of pixels.  Copies put the same channel of two pixels next to each
// other, and "pixel" below then means a pair.  In a pair with one pixel outside the image, zeros
// stand for that pixel.  Where pairs are not multiplied, the copies are floats, of single pixels.
#include <string.h>

#include "base/parallel.h"
#include "kernels/conv/conv_design.h"
#include "kernels/conv/conv_direct_weight.h"
#include "kernels/conv/conv_pack.h"
#include "kernels/conv/conv_pixels.h"

enum {
    // Pixels (or pairs) multiplied in one go at most: long enough to hide loading and storing the
    // sums.
    PIXELS = 96,
    STEP = 256, // rows and columns of a unit at most
    LEAST_STEP = 64,
    LINE = SR_ALIGN / (int)sizeof(float),
    FETCHED_TAPS = 4,
    FETCHES = (FETCHED_TAPS + 1) * STEP / LINE,
    UNITS = 16,           // pieces of work wanted when ranges are cut
    RANGE_PIXELS = 1024,  // pixels of a range at least
    PART_BYTES = 8 << 20, // bytes of all partial sums together, unless a single one is larger
};

typedef struct {
    SrConvGrid grid;
    const float *dy; // (N, P, Q, K)
    int K;           // channels of all groups
    int taps_w;      // columns of taps
    bool turned;     // rows are outputs and columns channels; false: the other way round
    bool own;        // units keep their sums
    bool copies;     // columns are copied side by side: bfloat16, or not whole vectors
    const SrConvKernels *kernels;
    int depth;                 // pixels in a unit of the kernels: 1 or 2
    int numbers;               // numbers in a unit of x and dy: 1 or 2
    int step, chunk;           // units and pixels multiplied in one go
    int groups, rows, columns; // rows and columns of one group
    int64_t pixels;
    int ranges, row_step, column_step;
    float *part; // (ranges, groups, blocks, taps, rows, width), unless `own`
    // (ranges, groups * rows): what the pixels of dy in each range add to the gradient of the bias.
    float *row_sums;
    float *dw, *dbias; // dbias not NULL: `turned`
    char *threads;
    size_t thread_bytes;
} Job;

// Scratch of one thread.
typedef struct {
    const float **in;      // (taps, chunk); after list_inside only the pixels inside the image
    const float **columns; // (taps, chunk): the columns that meet those pixels
    int *inside;           // (taps): number of pixels inside
    const float **dy;      // (chunk): the pixels of dy
    float *y;              // (blocks, step, width): columns, copied side by side
    // (step, row_step and a line more): rows, copied so that they use all sets of the cache
    float *x;
    const float **x_at; // (chunk): rows of x
    float *edge;        // (taps * chunk, rows)
    float *own;         // (blocks, taps, rows, width) of the unit
    // Operands of the next chunk, fetched while this one is multiplied: pixels of x
    // (FETCHED_TAPS, chunk) and of dy (chunk), and their lines.
    const float **next_x, **next_dy;
    SrConvFetch *fetch; // (FETCHES)
} Table;

static Table take_table(SrConvScratch *scratch, const Job *job) {
    size_t taps = (size_t)job->grid.taps, chunk = (size_t)job->chunk;
    size_t edge = job->grid.run > 1 ? taps * chunk * (size_t)job->rows : 0;
    size_t own = job->own ? taps * (size_t)job->row_step * (size_t)job->column_step : 0;
    return (Table){
        .in = sr__conv_take(scratch, sizeof(float *) * taps * chunk),
        .columns = sr__conv_take(scratch, sizeof(float *) * taps * chunk),
        .inside = sr__conv_take(scratch, sizeof(int) * taps),
        .dy = sr__conv_take(scratch, sizeof(float *) * chunk),
        .y = sr__conv_take(scratch, sizeof(float) * (size_t)job->step * (size_t)job->column_step),
        .x = sr__conv_take(scratch,
                           sizeof(float) * (size_t)job->step * (size_t)(job->row_step + LINE)),
        .x_at = sr__conv_take(scratch, sizeof(float *) * chunk),
        .edge = sr__conv_take(scratch, sizeof(float) * edge),
        .own = sr__conv_take(scratch, sizeof(float) * own),
        .next_x = sr__conv_take(scratch, sizeof(float *) * chunk * FETCHED_TAPS),
        .next_dy = sr__conv_take(scratch, sizeof(float *) * chunk),
        .fetch = sr__conv_take(scratch, sizeof(SrConvFetch) * FETCHES)};
}

static int64_t group_floats(const Job *job) { // floats of a group's part
    return (int64_t)job->grid.taps * job->rows * sr__conv_width(job->kernels, job->columns);
}
static int64_t part_floats(const Job *job) { return job->groups * group_floats(job); }

static int64_t units(const Job *job) {
    return (int64_t)job->groups * job->ranges * sr__conv_ceil_div(job->rows, job->row_step) *
           sr__conv_ceil_div(job->columns, job->column_step);
}

// Returns the pixels multiplied in one go.  All runs have equal length, because a short rest would
// load and store all sums.  Sums of a run are added to those before it, so the length depends on
// the shape alone.
static void cut_range(Job *job) {
    int64_t most = (int64_t)PIXELS * job->depth * job->ranges;
    int64_t chunks = SR_MAX(1, (job->pixels + most - 1) / most) * job->ranges;
    job->step = (int)((job->pixels + chunks * job->depth - 1) / (chunks * job->depth));
    job->chunk = job->step * job->depth;
}

// Cuts n into equal steps of about `most` at most; all steps but the last are whole multiples of
// `unit`.
static int even_step(int n, int most, int unit) {
    int steps = sr__conv_ceil_div(n, most);
    return sr__conv_ceil_div(sr__conv_ceil_div(n, steps), unit) * unit;
}

static void set_steps(Job *job, int rows, int columns) {
    job->row_step = even_step(job->rows, rows, job->kernels->rows(job->kernels->block));
    job->column_step = even_step(job->columns, columns, job->kernels->block);
}

// Cuts ranges and steps.  Ranges depend on the shape alone, because their sums are added.  Steps
// only say who computes what and may follow the number of threads.  Each range costs clearing and
// adding sums; short steps copy operands again.
static void cut(Job *job) {
    int64_t most = PART_BYTES / (part_floats(job) * (int64_t)sizeof(float));
    // With more taps, fewer rows: all taps' sums must stay in the second-level cache.
    int rows = job->grid.taps > 1 ? LEAST_STEP : STEP, columns = STEP;
    job->ranges = 1;
    set_steps(job, SR_MIN(rows, STEP / 2), columns / 2);
    int64_t wanted = (UNITS + units(job) - 1) / units(job);
    job->ranges = (int)SR_MAX(1, SR_MIN(wanted, SR_MIN(most, job->pixels / RANGE_PIXELS)));
    set_steps(job, rows, columns);
    for (int step = STEP / 2; step >= LEAST_STEP; step /= 2) {
        if (units(job) < 2 * sr_parallel_threads())
            set_steps(job, rows = SR_MIN(rows, step), columns);
        if (units(job) < 2 * sr_parallel_threads())
            set_steps(job, rows, columns = step);
    }
    cut_range(job);
}

static Job new_job(const SrConvShape *shape, const SrConvPacking *p) {
    SrConvShape flat = sr__conv_flat(shape), *s = &flat;
    int run = sr__conv_run(s), numbers = sr__conv_numbers(s->type);
    bool turned = p->taps == 1 && p->merged == 1 && s->pad_h == 0 && s->pad_w == 0;
    Job job = {
        .grid = {.N = s->N,
                 .H = s->H,
                 .W = s->W,
                 .C = s->C / numbers,
                 .grid_h = s->P,
                 .grid_w = s->Q,
                 .step_h = s->stride_h,
                 .step_w = s->stride_w,
                 .run = run,
                 .taps = p->taps / run},
        .K = s->K,
        .taps_w = s->S / run,
        .turned = turned,
        .kernels = p->kernels,
        .depth = p->kernels->depth,
        .numbers = numbers,
        .groups = p->groups,
        .rows = turned ? p->K : run * p->C,
        .columns = turned ? p->C : p->K,
        .pixels = (int64_t)s->N * s->P * s->Q,
    };
    bool whole = job.columns % p->kernels->lanes == 0;
    job.copies = numbers > 1 || !whole;
    cut(&job);
    job.own = p->merged == 1 && run == 1 && job.ranges == 1;
    return job;
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

// Returns the columns in the block at k of the unit, and how wide the block is stored.
static int block_columns(const Job *job, const Unit *u, int k) {
    return SR_MIN(u->k1 - k, job->kernels->block);
}
static int block_width(const Job *job, const Unit *u, int k) {
    return sr__conv_width(job->kernels, block_columns(job, u, k));
}

// Returns pixel i (or pair i) of the columns: the copy, or the original.
static const float *column_at(const Job *job, const Table *table, int i) {
    if (job->copies)
        return table->y + (int64_t)i * job->kernels->block;
    return job->turned ? table->in[i] : table->dy[i];
}

// Keeps only the pixels whose tap is inside the image, and the pairs with at least one such pixel.
static void list_inside(const Job *job, const Table *table, int count) {
    const float *zeros = job->grid.zeros;
    for (int t = 0; t < job->grid.taps; t++) {
        const float **in = table->in + t * job->chunk, **columns = table->columns + t * job->chunk;
        int n = 0;
        for (int i = 0; i < count; i += job->depth) {
            const float *second = i + 1 < count ? in[i + 1] : zeros; // second pixel of a pair
            if (in[i] == zeros && (job->depth == 1 || second == zeros))
                continue;
            columns[n] = column_at(job, table, i / job->depth);
            in[n * job->depth] = in[i];
            if (job->depth == 2)
                in[2 * n + 1] = second;
            n++;
        }
        table->inside[t] = n;
    }
}

// Returns the pixels that a tap's rows come from.
static const float **row_pixels(const Job *job, const Table *table, int t) {
    return job->turned ? table->dy : table->in + t * job->chunk;
}

// Copies columns of n units of the kernels side by side, as floats or pairs.
static void copy(const Job *job, const float *const *from, int64_t first, int n, int columns,
                 float *to, int64_t stride) {
    bool widens = job->numbers > job->depth;
    (widens ? job->kernels->widen : job->kernels->gather)(from, first, n, columns, to, stride);
}

// Lists the chunk's pixels of dy, and copies the columns [k0, k1) side by side where that is
// needed.
static void copy_columns(const Job *job, const Table *table, const Unit *u, int64_t first,
                         int count) {
    for (int i = 0; i < count; i++)
        table->dy[i] = job->dy + (first + i) * (job->K / job->numbers);
    if (!job->copies)
        return;
    if (count % job->depth)
        table->dy[count] = table->in[count] = job->grid.zeros;
    const float **from = job->turned ? table->in : table->dy;
    for (int k = u->k0; k < u->k1; k += job->kernels->block)
        copy(job, from, u->group * job->columns + k, sr__conv_ceil_div(count, job->depth),
             block_columns(job, u, k), table->y + (int64_t)(k - u->k0) * job->step,
             job->kernels->block);
}

// State of fetching: what is left to fetch while a chunk is multiplied.
typedef struct {
    const SrConvFetch *next;
    int left;
} Fetches;

// Lists taps that together touch every pixel of the chunk: the middle tap and, with strides, its
// neighbours.
static int fetched_taps(const Job *job, SrConvTap tap[FETCHED_TAPS]) {
    int columns = job->taps_w, rows = job->grid.taps / columns, n = 0;
    for (int r = rows / 2; r < SR_MIN(rows / 2 + SR_MIN(job->grid.step_h, 2), rows); r++)
        for (int s = columns / 2; s < SR_MIN(columns / 2 + SR_MIN(job->grid.step_w, 2), columns);
             s++) {
            tap[n] = job->grid.tap[r * columns + s];
            tap[n].id = n;
            n++;
        }
    return n;
}

// Lists the lines of the chunk at `first` that the unit will read: channels [x0, x1) of x and [dy0,
// dy1) of dy.
static Fetches fetch_lines(const Job *job, const Table *table, int64_t first, int x0, int x1,
                           int dy0, int dy1) {
    int chunk = job->chunk, count = (int)SR_MIN(job->pixels - first, chunk), n = 0;
    if (count <= 0)
        return (Fetches){NULL, 0};
    SrConvTap tap[FETCHED_TAPS];
    SrConvGrid grid = job->grid;
    grid.tap = tap;
    grid.taps = fetched_taps(job, tap);
    grid.run = 1;
    sr__conv_pixels(&grid, first, count, table->next_x, chunk, table->edge);
    for (int i = 0; i < count; i++)
        table->next_dy[i] = job->dy + (first + i) * (job->K / job->numbers);
    for (int i = count; i < chunk; i++) {
        for (int t = 0; t < grid.taps; t++)
            table->next_x[t * chunk + i] = table->next_x[t * chunk];
        table->next_dy[i] = table->next_dy[0];
    }
    for (int c = x0; c < x1; c += LINE * job->numbers)
        for (int t = 0; t < grid.taps; t++)
            table->fetch[n++] = (SrConvFetch){table->next_x + t * chunk, c / job->numbers};
    for (int k = dy0; k < dy1; k += LINE * job->numbers)
        table->fetch[n++] = (SrConvFetch){table->next_dy, k / job->numbers};
    return (Fetches){table->fetch, n};
}

static Fetches fetch_chunk(const Job *job, const Table *table, const Unit *u, int64_t first) {
    int row = u->group * job->rows, column = u->group * job->columns;
    int r0 = row + u->c0, r1 = row + u->c1, c0 = column + u->k0, c1 = column + u->k1;
    return job->turned ? fetch_lines(job, table, first, c0, c1, r0, r1)
                       : fetch_lines(job, table, first, r0, r1, c0, c1);
}

// Place of a unit's sums: its first row and column in (blocks, taps, rows, width).
typedef struct {
    float *at; // the block of the first column
    int rows, row;
} Sums;

static Sums unit_sums(const Job *job, const Table *table, const Unit *u) {
    if (job->own)
        return (Sums){table->own, u->c1 - u->c0, 0};
    float *group = job->part + (u->range * (int64_t)job->groups + u->group) * group_floats(job);
    return (Sums){group + (int64_t)u->k0 * job->grid.taps * job->rows, job->rows, u->c0};
}

static float *block_sums(const Job *job, const Unit *u, Sums sums, int t, int k) {
    int64_t width = block_width(job, u, k), tap = ((int64_t)k - u->k0) * job->grid.taps + t * width;
    return sums.at + tap * sums.rows + sums.row * width;
}

// Multiplies the unit's rows under tap t by all its columns.
static void add_tap(const Job *job, const Table *table, const Unit *u, int t, bool fresh, Sums sums,
                    Fetches *fetches) {
    int channel = u->group * job->rows + u->c0;
    SrConvOuter o = {.pixels = table->inside[t],
                     .rows = u->c1 - u->c0,
                     .x = row_pixels(job, table, t),
                     .x_first = channel,
                     .y = table->columns + t * job->chunk,
                     .fresh = fresh};
    if (job->numbers > 1) {
        copy(job, o.x, channel, o.pixels, o.rows, table->x, job->row_step + LINE);
        o.x = table->x_at;
        o.x_first = 0;
    }
    if (job->dbias && u->k0 == 0) // while the rows are in the cache
        job->kernels->sum_rows(o.x, o.x_first, o.pixels, o.rows, fresh,
                               job->row_sums + u->range * job->groups * job->rows + channel);
    for (int k = u->k0; k < u->k1; k += job->kernels->block) {
        o.width = block_width(job, u, k);
        o.y_first = job->copies ? (int64_t)(k - u->k0) * job->step : u->group * job->columns + k;
        o.out = block_sums(job, u, sums, t, k);
        o.fetch = fetches->next;
        o.fetches = fetches->left;
        int runs = SR_MIN(sr__conv_runs(job->kernels, o.rows, o.width), fetches->left);
        fetches->next += runs;
        fetches->left -= runs;
        job->kernels->outer(&o);
    }
}

// Adds the unit's sums to dw, over `parts` parts.
static void add_sums(const Job *job, const Unit *u, Sums sums, int parts) {
    int rows = u->c1 - u->c0, taps = job->grid.taps;
    int64_t row = (int64_t)(job->turned ? job->columns : job->rows * taps); // floats of a row of dw
    for (int k = u->k0; k < u->k1; k += job->kernels->block) {
        int columns = block_columns(job, u, k);
        SrConvParts from = {block_sums(job, u, sums, 0, k), parts, block_width(job, u, k),
                            part_floats(job)};
        if (job->turned) {
            float *dw = job->dw + ((int64_t)u->group * job->rows + u->c0) * row + k;
            job->kernels->join(&from, rows, columns, dw, row);
            continue;
        }
        SrConvWeights shape = {NULL, columns, rows, taps};
        float *dw = job->dw + ((int64_t)u->group * job->columns + k) * row + (int64_t)u->c0 * taps;
        for (int j = 0; j < columns; j += job->kernels->lanes)
            job->kernels->unpack(&shape, j, &from, dw, row);
    }
}

static void run_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Unit u = unit_at(job, i);
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    Table table = take_table(&scratch, job);
    Sums sums = unit_sums(job, &table, &u);
    for (int p = 0; p < job->chunk; p++) // the pairs, and as many again for the prefetch
        table.x_at[p] = table.x + (int64_t)(p % job->step) * (job->row_step + LINE);
    int64_t chunks = (job->pixels + job->chunk - 1) / job->chunk;
    int64_t from = chunks * u.range / job->ranges, to = chunks * (u.range + 1) / job->ranges;
    for (int64_t chunk = from; chunk < to; chunk++) {
        int64_t first = chunk * job->chunk;
        int count = (int)SR_MIN(job->pixels - first, job->chunk);
        sr__conv_pixels(&job->grid, first, count, table.in, job->chunk, table.edge);
        copy_columns(job, &table, &u, first, count);
        list_inside(job, &table, count);
        Fetches fetches = fetch_chunk(job, &table, &u, first + job->chunk);
        for (int t = 0; t < job->grid.taps; t++)
            add_tap(job, &table, &u, t, chunk == from, sums, &fetches);
    }
    if (job->own)
        add_sums(job, &u, sums, 1);
}

// Shared scratch, followed by a table per thread.  Returns the place of the taps.
static SrConvTap *take_pieces(SrConvScratch *scratch, Job *job) {
    SrConvScratch count = {0};
    take_table(&count, job);
    job->thread_bytes = count.used;
    size_t part = job->own ? 0 : (size_t)(job->ranges * part_floats(job));
    job->part = sr__conv_take(scratch, sizeof(float) * part);
    size_t sums = job->turned ? (size_t)(job->ranges * job->groups * job->rows) : 0;
    job->row_sums = sr__conv_take(scratch, sizeof(float) * sums);
    job->threads = sr__conv_take(scratch, count.used * (size_t)sr_parallel_threads());
    // Only pairs read these zeros.  Otherwise list_inside drops the pixels outside by this address.
    size_t zeros = job->depth > 1 ? (size_t)SR_MAX(job->grid.run * job->grid.C, job->K) : 1;
    float *row = sr__conv_take(scratch, sizeof(float) * zeros);
    if (row)
        memset(row, 0, sizeof(float) * zeros);
    job->grid.zeros = row;
    return sr__conv_take(scratch, sizeof(SrConvTap) * (size_t)job->grid.taps);
}

enum { SUM_ROWS = 16 };

// Runs unit i = (group, block of columns, SUM_ROWS rows): dw += the parts' sums in order.
static void sum_rows(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    int steps = sr__conv_ceil_div(job->rows, SUM_ROWS), block = job->kernels->block;
    int blocks = sr__conv_ceil_div(job->columns, block);
    int row = (int)(i % steps) * SUM_ROWS, k = (int)(i / steps % blocks) * block,
        group = (int)(i / steps / blocks);
    Unit u = {group, 0, row, SR_MIN(row + SUM_ROWS, job->rows), k, SR_MIN(k + block, job->columns)};
    add_sums(job, &u, unit_sums(job, NULL, &u), job->ranges);
}

static void sum_parts(Job *job) {
    int blocks = sr__conv_ceil_div(job->columns, job->kernels->block);
    sr_parallel_for((int64_t)job->groups * blocks * sr__conv_ceil_div(job->rows, SUM_ROWS),
                    sum_rows, job);
}

static void sum_bias(const Job *job) {
    int n = job->groups * job->rows;
    for (int range = 0; range < job->ranges; range++)
        for (int i = 0; i < n; i++)
            job->dbias[i] += job->row_sums[range * n + i];
}

// Estimated time: the multiply-adds divided by the measured share of the peak, plus the way of the
// sums to dw (bench/conv_bench.c).  A tile of one vector of columns loads more than it multiplies,
// even more so with pairs.
// columns loads more than it multiplies, and the more so of pairs.
double sr__conv_direct_weight_cost(const SrConvShape *s, int depth) {
    double sums = (double)s->K * (s->C / s->groups) * s->R * s->S;
    double share = depth > 1 ? 0.85 * depth : 0.9;
    int narrow = s->groups == 1 && s->C >= 16 ? SR_MIN(s->C, s->K) : 64; // a stem's rows fold
    if (narrow <= 32)
        share *= depth > 1 ? (narrow <= 16 ? 0.25 : 0.65) : (narrow <= 16 ? 0.43 : 0.9);
    return sums * ((double)s->N * s->P * s->Q * sr__conv_inside(s) / share + 25);
}

size_t sr__conv_direct_weight_bytes(const SrConvShape *s) {
    SrConvPacking p = sr__conv_packing(s);
    Job job = new_job(s, &p);
    SrConvScratch count = {0};
    take_pieces(&count, &job);
    return count.used;
}

bool sr__conv_direct_weight_bias(const SrConvShape *s) {
    SrConvPacking p = sr__conv_packing(s);
    return new_job(s, &p).turned;
}

void sr__conv_direct_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            float *dbias, void *scratch) {
    SrConvPacking p = sr__conv_packing(s);
    Job job = new_job(s, &p);
    SrConvScratch pool = {scratch, 0};
    SrConvTap *tap = take_pieces(&pool, &job);
    sr__conv_taps(s, job.grid.run, tap);
    job.grid.tap = tap;
    job.grid.in = x;
    job.dy = dy;
    job.dw = dw;
    job.dbias = dbias;
    sr_parallel_for(units(&job), run_unit, &job);
    if (job.turned && !job.own)
        sum_parts(&job);
    else if (!job.own)
        sr__conv_unpack(&p, job.part, job.ranges, dw);
    if (dbias)
        sum_bias(&job);
}
