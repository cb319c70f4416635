// Weight gradient on tile registers: dw += products over pixels, 32 per step.
//
// One of x and dy is transposed ("turned", 16 channels x 32 positions a tile); the other is paired
// (16 pairs of positions x 16 channels).  With several taps dy is turned and x paired at the flat
// positions of the plan.  x is paired twice, with pairs that begin at even and at odd positions, so
// that the distance of any tap is a whole number of pairs.  Positions outside the map have dy = 0.
// With one tap, the operand with fewer channels is turned, because turning takes three times as
// long as pairing.
//
// Positions are cut into ranges with separate sums, which are added in order; their number depends
// on the shape alone.  Within a range sums grow position by position, however the rest is cut.
// Chunks of positions keep operands in the second-level cache; units of channels serve the threads.
#include "kernels/conv/tiles/conv_tile_weight.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/conv/conv_design.h"
#include "kernels/conv/tiles/conv_tile_kernels.h"
#include "kernels/conv/tiles/conv_tile_parts.h"
#include "kernels/conv/tiles/conv_tile_plan.h"

enum {
    STEP = 32,
    OPERANDS = 500 << 10, // bytes of a chunk; larger chunks go to memory and back
    SUMS = 600 << 10,     // bytes of sums that stay in the cache next to a chunk
    PART_BYTES = 2 << 20, // bytes of the sums of all ranges
    RANGES = 16,
    SHORTEST_RANGE = 2048, // positions
    TOGETHER = 4,          // paired blocks at a time, with one tap
    FAR = 256,             // positions between those read and those fetched
    SUM = SR_TILE_BLOCK * SR_TILE_BLOCK,
};

typedef struct {
    SrTilePlan plan;
    const SrTileKernels *kernels;
    SrTileParts products;
    int parts, taps;
    bool swapped; // x is turned and dy paired; false: the other way round
    bool odd;     // pairs at odd positions are needed too
    int a, b;     // channels of a group that are turned, and paired
    int a_blocks, b_blocks;
    int a_step, b_step;     // blocks of a unit
    int a_splits, b_splits; // units of a group and range
    int together;           // paired blocks at a time
    // steps of positions multiplied in one go: operands stay in the first-level cache
    int steps;
    int64_t ranges, range, chunk; // positions of a range, of a chunk
    // A unit sees all its positions in one chunk, and needs the sums of one paired block at a time.
    bool once;
    int64_t lead, window; // paired side: positions of a chunk before its first, and in all
    const char *at_a, *at_b;
    SrDtype type;
    float *dw, *part; // (groups, ranges, a_blocks, b_blocks, taps, SUM)
    char *threads;
    size_t thread_bytes;
} Job;

static int64_t number_bytes(const Job *job) { return job->type == SR_BF16 ? 2 : 4; }

static int versions(const Job *job) { return 1 + job->odd; }

// Returns the bytes of a position's paired operands of one block, all planes and versions.
static int64_t paired_bytes(const Job *job) {
    return (int64_t)SR_TILE_LINE * versions(job) * job->plan.planes * job->parts;
}

// Chooses between two orders by estimated cycles.  Either all turned blocks pass one chunk of
// positions after the other, and the sums are read once per chunk.  Or some turned blocks take all
// positions, and each split pairs again.
static void cut_positions(Job *job) {
    const SrTilePlan *p = &job->plan;
    double positions = (double)job->range;
    int64_t line = (int64_t)SR_TILE_LINE * job->parts, fixed = job->together * paired_bytes(job);
    int64_t weights = (int64_t)job->a * job->b * job->taps;
    double chunks = ceil(positions * (double)(job->a_blocks * line + fixed) / OPERANDS);
    double sums = (double)chunks * 8 * (double)weights / (weights * 4 < SUMS ? 40 : 12);
    double room = SR_MAX(1, 2 * OPERANDS - positions * (double)fixed);
    double splits = ceil(positions * (double)(job->a_blocks * line) / room);
    double pairing =
        (splits - 1) * positions * job->b *
        (p->planes * versions(job) * job->parts * 0.08 + (double)number_bytes(job) * 0.2);
    bool fits = positions * (double)(line + fixed) <= 2 * OPERANDS;
    job->chunk = job->range;
    job->a_splits = 1;
    if (chunks > 1 && fits && pairing < sums)
        job->a_splits = (int)SR_MIN(splits, job->a_blocks);
    else if (chunks > 1)
        job->chunk = sr__tile_up((int64_t)(positions / chunks), (int64_t)STEP * job->steps);
    job->chunk = SR_MIN(job->chunk, job->range);
    job->once = job->ranges == 1 && job->chunk >= job->range;
}

static int split(int blocks, int splits) { return (blocks + splits - 1) / splits; }

// Cuts the channels so that there are enough units for the threads.
static void cut_channels(Job *job, int groups) {
    int threads = sr_parallel_threads(), wanted = threads > 1 ? 2 * threads : 1;
    int64_t have = (int64_t)groups * job->ranges * job->a_splits;
    job->b_splits = (int)SR_MAX(1, SR_MIN(job->b_blocks, (wanted + have - 1) / have));
    have *= job->b_splits;
    int more = (int)((wanted + have - 1) / have);
    job->a_splits = SR_MAX(1, SR_MIN(job->a_blocks, job->a_splits * more));
    job->a_step = split(job->a_blocks, job->a_splits);
    job->b_step = split(job->b_blocks, job->b_splits);
    job->a_splits = split(job->a_blocks, job->a_step);
    job->b_splits = split(job->b_blocks, job->b_step);
}

static void new_job(Job *job, const SrConvShape *s) {
    *job = (Job){.kernels = sr__tile_kernels(s->machine), .type = s->type};
    job->parts = sr__tile_parts_of(s->machine, s->type);
    SrTilePlan *p = &job->plan;
    sr__tile_plan(p, s, SR_CONV_BACKWARD_WEIGHT);
    job->products = sr__tile_parts(job->parts);
    job->taps = p->taps;
    bool still = p->before + p->after == 0;
    job->swapped = p->taps == 1 && still && p->C < p->K;
    for (int t = 0; t < p->taps; t++)
        job->odd |= (p->tap[t].dh * p->pitch + p->tap[t].dw) % 2 != 0;
    job->a = job->swapped ? p->C : p->K;
    job->b = job->swapped ? p->K : p->C;
    job->a_blocks = sr__tile_blocks(job->a);
    job->b_blocks = sr__tile_blocks(job->b);
    job->together = p->taps == 1 ? SR_MIN(TOGETHER, job->b_blocks) : 1;
    job->steps = (p->taps == 1 ? 16 : 8) / (job->parts > 1 ? 2 : 1);
    int64_t all = sr__tile_up(p->positions, STEP), sums = (int64_t)sizeof(float) * p->groups *
                                                          job->a_blocks * job->b_blocks *
                                                          job->taps * SUM;
    job->ranges = SR_MAX(1, SR_MIN(SR_MIN(RANGES, PART_BYTES / sums), all / SHORTEST_RANGE));
    job->range = sr__tile_up((all + job->ranges - 1) / job->ranges, STEP);
    job->ranges = (all + job->range - 1) / job->range;
    cut_positions(job);
    cut_channels(job, p->groups);
    job->lead = sr__tile_up(p->before, STEP);
    job->window = still ? job->chunk : sr__tile_up(job->lead + job->chunk + p->after + 1, STEP);
}

// Scratch of one thread.
typedef struct {
    int32_t *inputs, *outputs; // (planes, window + STEP), (chunk)
    char *paired;              // (together, parts, versions, planes, window, 64 bytes)
    char *turned;              // (parts, a_step, chunk, 64 bytes)
    float *sums;               // (a_step, b_step or 1, taps, SUM), unless they are the range's own
} Piece;

static Piece take_piece(SrConvScratch *scratch, const Job *job) {
    size_t window = (size_t)job->window, planes = (size_t)job->plan.planes;
    size_t chunk = (size_t)sr__tile_up(job->chunk, STEP);
    size_t blocks = (size_t)job->a_step * (size_t)(job->once ? 1 : job->b_step);
    size_t sums = job->ranges > 1 ? 0 : blocks * (size_t)job->taps * SUM;
    return (Piece){
        .inputs = sr__conv_take(scratch, sizeof(int32_t) * planes * (window + STEP)),
        .outputs = sr__conv_take(scratch, sizeof(int32_t) * chunk),
        .paired = sr__conv_take(scratch, (size_t)(job->together * paired_bytes(job)) * window),
        .turned = sr__conv_take(scratch, (size_t)(SR_TILE_LINE * job->parts * job->a_step) * chunk),
        .sums = sr__conv_take(scratch, sizeof(float) * sums)};
}

static float *take_parts(SrConvScratch *scratch, const Job *job) {
    size_t blocks =
        (size_t)(job->plan.groups * job->ranges) * (size_t)job->a_blocks * (size_t)job->b_blocks;
    return sr__conv_take(scratch,
                         job->ranges > 1 ? sizeof(float) * blocks * (size_t)job->taps * SUM : 0);
}

size_t sr__tile_weight_bytes(const SrConvShape *s) {
    Job job;
    new_job(&job, s);
    SrConvScratch thread = {0}, all = {0};
    take_piece(&thread, &job);
    take_parts(&all, &job);
    return all.used + thread.used * (size_t)sr_parallel_threads();
}

// Some blocks of channels over the positions of a range, a chunk at a time.
typedef struct {
    const Job *job;
    Piece piece;
    int group;
    int64_t number;     // index of the range
    int a0, a1, b0, b1; // turned blocks [a0, a1), paired blocks [b0, b1)
    // first position of the range; first and number of positions of the chunk
    int64_t from, first, n;
    const char *at_a, *at_b; // first channel of the group
} Unit;

// Lists where the channels of 32 positions begin, and fetches those a while ahead.
static void locate(const char *base, const int32_t *table, int64_t pixel, bool ahead,
                   const char *rows[STEP]) {
    for (int i = 0; i < STEP; i++)
        rows[i] = table[i] < 0 ? sr__tile_zeros : base + table[i] * pixel;
    if (!ahead || table[FAR] < 0)
        return;
    for (int i = 0; i < STEP; i++)
        __builtin_prefetch(base + SR_MAX(table[FAR + i], 0) * pixel, 0, 2);
}

static void turn_chunk(const Unit *u, const int32_t *table) {
    const Job *job = u->job;
    int64_t number = number_bytes(job),
            pixel = number * (job->swapped ? job->plan.in_c : job->plan.out_c);
    int64_t block = sr__tile_up(job->chunk, STEP) * SR_TILE_LINE;
    const char *rows[STEP];
    for (int64_t m = 0; m < u->n; m += STEP)
        for (int a = u->a0; a < u->a1; a++) {
            locate(u->at_a + SR_TILE_BLOCK * a * number, table + m, pixel, m + STEP + FAR < u->n,
                   rows);
            job->kernels->operands->turn(
                &(SrTileTurn){.pixel = rows,
                              .parts = job->parts,
                              .channels = job->a - SR_TILE_BLOCK * a,
                              .to = u->piece.turned + (a - u->a0) * block + m * SR_TILE_LINE,
                              .part = job->a_step * block});
        }
}

// Pairs one plane's positions of a block; `to` is the first of its versions.
static void pair_plane(const Unit *u, int b, const int32_t *table, int64_t positions, char *to) {
    const Job *job = u->job;
    int64_t number = number_bytes(job),
            pixel = number * (job->swapped ? job->plan.out_c : job->plan.in_c);
    int64_t version = job->plan.planes * job->window * SR_TILE_LINE;
    const char *rows[STEP];
    for (int64_t m = 0; m < positions; m += STEP)
        for (int v = 0; v < versions(job); v++) {
            bool ahead = v == 0 && m + STEP + FAR < positions;
            locate(u->at_b + SR_TILE_BLOCK * b * number, table + m + v, pixel, ahead, rows);
            job->kernels->operands->pair(&(SrTileTurn){.pixel = rows,
                                                       .parts = job->parts,
                                                       .channels = job->b - SR_TILE_BLOCK * b,
                                                       .to = to + v * version + m * SR_TILE_LINE,
                                                       .part = versions(job) * version});
        }
}

static void pair_chunk(const Unit *u, int b, int slot, const int32_t *tables, int64_t table_len) {
    const Job *job = u->job;
    bool still = job->plan.before + job->plan.after == 0;
    int64_t positions = still ? u->n : sr__tile_up(job->lead + u->n + job->plan.after + 1, STEP);
    char *to = u->piece.paired + slot * paired_bytes(job) * job->window;
    for (int plane = 0; plane < (job->swapped ? 1 : job->plan.planes); plane++)
        pair_plane(u, b, tables + plane * table_len, positions,
                   to + plane * job->window * SR_TILE_LINE);
}

static float *sums_of(const Unit *u, int a, int b) {
    const Job *job = u->job;
    int64_t block = (int64_t)job->taps * SUM;
    if (job->ranges > 1)
        return job->part +
               (((u->group * job->ranges + u->number) * job->a_blocks + a) * job->b_blocks + b) *
                   block;
    if (job->once)
        return u->piece.sums + (a - u->a0) * block;
    return u->piece.sums + ((int64_t)(a - u->a0) * job->b_step + b - u->b0) * block;
}

// Multiplies all taps of one block of dw, over `steps` steps from `from` on.
static void multiply(const Unit *u, int a, int b, int slot, int64_t from, int steps) {
    const Job *job = u->job;
    const SrTilePlan *p = &job->plan;
    int64_t block = sr__tile_up(job->chunk, STEP) * SR_TILE_LINE;
    int64_t plane = job->window * SR_TILE_LINE, version = p->planes * plane;
    float *sums = sums_of(u, a, b);
    for (int t = 0; t < p->taps; t++) {
        const SrTileTap *tap = &p->tap[t];
        int64_t at = job->lead + tap->dh * p->pitch + tap->dw;
        SrTileOuter o = {.products = job->products.n,
                         .steps = steps,
                         .sum = sums + tap->id * SUM,
                         .fresh = u->first == u->from && from == 0};
        for (int q = 0; q < job->products.n; q++) {
            // The turned side takes the part index of the weights.
            o.a[q] = u->piece.turned + job->products.weights[q] * job->a_step * block +
                     (a - u->a0) * block + from * SR_TILE_LINE;
            o.b[q] = u->piece.paired + slot * paired_bytes(job) * job->window +
                     job->products.pixels[q] * versions(job) * version + (at & 1) * version +
                     tap->plane * plane + at / 2 * 128 + from * SR_TILE_LINE;
        }
        job->kernels->products->outer(&o);
    }
}

static void join_block(const Job *job, int group, int a, int b, const float *sums) {
    const SrTileOperands *k = job->kernels->operands;
    int64_t A = job->a, B = job->b, a0 = SR_TILE_BLOCK * a, b0 = SR_TILE_BLOCK * b;
    float *dw = job->dw + group * A * B * job->taps;
    int rows = (int)SR_MIN(A - a0, SR_TILE_BLOCK), columns = (int)SR_MIN(B - b0, SR_TILE_BLOCK);
    if (job->swapped)
        k->join_turned(sums, dw + b0 * A + a0, A, rows, columns);
    else if (job->taps == 1)
        k->join(sums, dw + a0 * B + b0, B, rows, columns);
    else
        k->join_taps(sums, job->taps, dw + (a0 * B + b0) * job->taps, B * job->taps, rows, columns);
}

static void run_chunk(const Unit *u) {
    const Job *job = u->job;
    const SrTilePlan *p = &job->plan;
    int64_t lines = job->window + STEP;
    int64_t from = u->first - job->lead;
    sr__tile_outputs(p, p->phase, u->first, u->first + u->n, u->piece.outputs);
    for (int plane = 0; plane < p->planes; plane++)
        sr__tile_inputs(p, plane, from, from + lines, u->piece.inputs + plane * lines);
    turn_chunk(u, job->swapped ? u->piece.inputs : u->piece.outputs);
    for (int b = u->b0; b < u->b1; b += job->together) {
        int end = SR_MIN(b + job->together, u->b1);
        for (int i = b; i < end; i++)
            pair_chunk(u, i, i - b, job->swapped ? u->piece.outputs : u->piece.inputs, lines);
        for (int i = b; i < end; i++) {
            for (int64_t m = 0; m < u->n; m += (int64_t)STEP * job->steps)
                for (int a = u->a0; a < u->a1; a++)
                    multiply(u, a, i, i - b, m, (int)SR_MIN(job->steps, (u->n - m) / STEP));
            for (int a = u->a0; job->once && a < u->a1; a++)
                join_block(job, u->group, a, i, sums_of(u, a, i));
        }
    }
}

static void run_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    Unit u = {.job = job, .piece = take_piece(&scratch, job)};
    int a = (int)(i % job->a_splits), b = (int)(i / job->a_splits % job->b_splits);
    i /= (int64_t)job->a_splits * job->b_splits;
    u.number = i % job->ranges;
    u.group = (int)(i / job->ranges);
    u.a0 = a * job->a_step;
    u.a1 = SR_MIN(u.a0 + job->a_step, job->a_blocks);
    u.b0 = b * job->b_step;
    u.b1 = SR_MIN(u.b0 + job->b_step, job->b_blocks);
    u.at_a = job->at_a + (int64_t)u.group * job->a * number_bytes(job);
    u.at_b = job->at_b + (int64_t)u.group * job->b * number_bytes(job);
    u.from = u.number * job->range;
    int64_t to = SR_MIN(u.from + job->range, sr__tile_up(job->plan.positions, STEP));
    job->kernels->products->configure();
    for (u.first = u.from; u.first < to; u.first += job->chunk) {
        u.n = SR_MIN(job->chunk, to - u.first);
        run_chunk(&u);
    }
    job->kernels->products->release();
    for (int k = u.a0; job->ranges == 1 && !job->once && k < u.a1; k++)
        for (int c = u.b0; c < u.b1; c++)
            join_block(job, u.group, k, c, sums_of(&u, k, c));
}

// Adds one block to dw: the ranges' sums in order.
static void join_ranges(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    Unit u = {.job = job};
    int b = (int)(i % job->b_blocks), a = (int)(i / job->b_blocks % job->a_blocks);
    u.group = (int)(i / job->b_blocks / job->a_blocks);
    for (u.number = 0; u.number < job->ranges; u.number++)
        join_block(job, u.group, a, b, sums_of(&u, a, b));
}

void sr__tile_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                     void *scratch) {
    Job job;
    new_job(&job, s);
    SrConvScratch pool = {scratch, 0}, count = {0};
    job.at_a = job.swapped ? x : dy;
    job.at_b = job.swapped ? dy : x;
    job.dw = dw;
    job.part = take_parts(&pool, &job);
    take_piece(&count, &job);
    job.thread_bytes = count.used;
    job.threads = (char *)scratch + pool.used;
    sr_parallel_for((int64_t)s->groups * job.ranges * job.a_splits * job.b_splits, run_unit, &job);
    if (job.ranges > 1)
        sr_parallel_for((int64_t)s->groups * job.a_blocks * job.b_blocks, join_ranges, &job);
}
