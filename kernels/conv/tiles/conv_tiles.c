// Convolution on tile registers (AMX), forward and backward data: an implicit matrix product over
// bfloat16 numbers.  The micro-kernels are in conv_tile_product_amx.c and conv_tile_operand_amx.c,
// the weight gradient in conv_tile_weight.c.
//
// A tile of pixels is read in one of three ways (conv_tile_ways.c).  A unit of work is a run of
// positions against a range of output blocks whose weights fit the second-level cache.  Every
// output is computed in one go in one order, so its bits do not depend on the units.  The forward
// pass still cuts units by the shape alone, because channel sums are written per unit.
#include "kernels/conv/tiles/conv_tile_parts.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/conv/conv_design.h"
#include "kernels/conv/tiles/conv_tile_job.h"
#include "kernels/conv/tiles/conv_tile_kernels.h"
#include "kernels/conv/tiles/conv_tile_plan.h"
#include "kernels/conv/tiles/conv_tile_ways.h"
#include "kernels/conv/tiles/conv_tile_weight.h"

enum {
    WEIGHT_BYTES = 768 << 10, // bytes of weights of a range of blocks
    WINDOW_BYTES = 640 << 10,
    RUN = 1024,        // positions of a unit at most
    SHORTEST_RUN = 64, // positions of a unit at least
    UNITS = 16,        // pieces of work wanted
    MOST_STEPS = 6 * SR_TILE_TAPS,
    STREAMED = 6 << 20,
    SMALL_MAP = 14, // rows of a map below which images lie side by side
};

// Chooses how pixels are read.  Reading 16 images at once leaves out taps outside a small map,
// where `flat` would compute positions of the border in vain.
static SrTileWay choose_way(const SrTilePlan *p, SrDtype type) {
    bool whole = type == SR_BF16 && p->C % SR_TILE_CHUNK == 0;
    bool one = p->planes == 1 && p->phases == 1 && p->taps == 1 && p->step_h == 1 &&
               p->step_w == 1 && p->before + p->after == 0 && p->rows == p->in_h &&
               p->pitch == p->in_w && p->map_h == p->in_h && p->map_w == p->in_w;
    if (whole && one)
        return SR_TILE_DIRECT;
    bool fits = p->N >= SR_TILE_SIDE && 8 * p->N >= 7 * SR_TILE_SIDE * sr__tile_image_groups(p);
    bool small = p->map_h <= SMALL_MAP && p->C / SR_TILE_CHUNK <= SR_TILE_MOST_CHUNKS;
    return whole && fits && small && !one ? SR_TILE_IMAGES : SR_TILE_FLAT;
}

static int64_t clamp(int64_t n, int64_t low, int64_t high) { return SR_MAX(low, SR_MIN(n, high)); }

// Returns the positions of a unit: a window that stays in the second-level cache and is long
// compared with what its taps reach beyond it.
static int64_t run_length(const SrTileJob *job) {
    const SrTilePlan *p = &job->plan;
    int64_t even = sr__tile_up((job->items + UNITS - 1) / UNITS, SR_TILE_BLOCK);
    if (job->way == SR_TILE_IMAGES)
        return clamp(sr__tile_up(even, 2), 2, RUN / SR_TILE_SIDE);
    int64_t line = (int64_t)SR_TILE_LINE * job->chunks * p->planes * job->parts;
    int64_t halo = p->before + p->after, most = SR_MIN(RUN, WINDOW_BYTES / line);
    int64_t run = clamp(even, SHORTEST_RUN, SR_MAX(most, SHORTEST_RUN));
    run = job->way == SR_TILE_FLAT ? SR_MAX(run, 4 * halo) : run;
    return sr__tile_up(SR_MIN(run, job->items), SR_TILE_BLOCK);
}

static bool new_job(SrTileJob *job, const SrConvShape *s, SrConvPass pass) {
    *job = (SrTileJob){.kernels = sr__tile_kernels(s->machine), .type = s->type};
    job->parts = sr__tile_parts_of(s->machine, s->type);
    SrTilePlan *p = &job->plan;
    if (!sr__tile_plan(p, s, pass))
        return false;
    job->way = choose_way(p, s->type);
    job->products = sr__tile_parts(job->parts);
    job->chunks = sr__tile_blocks(p->C);
    job->blocks = sr__tile_blocks(p->K);
    job->weight_chunk = (int64_t)SR_TILE_BYTES * s->R * s->S;
    job->weight_block = job->weight_chunk * job->chunks;
    job->weight_part = job->weight_block * job->blocks * p->groups;
    job->items = job->way == SR_TILE_IMAGES
                     ? (int64_t)sr__tile_image_groups(p) * p->map_h * p->map_w
                     : p->positions;
    job->run = run_length(job);
    job->runs = (job->items + job->run - 1) / job->run;
    job->window = job->run + p->before + p->after;
    int most = (int)clamp(WEIGHT_BYTES / (job->weight_block * job->parts), 1, job->blocks);
    int wanted = (int)clamp(UNITS / job->runs, 1, job->blocks);
    job->ranges = SR_MAX((job->blocks + most - 1) / most, wanted);
    job->range = (job->blocks + job->ranges - 1) / job->ranges;
    job->ranges = (job->blocks + job->range - 1) / job->range;
    return true;
}

static SrTilePiece take_piece(SrConvScratch *scratch, const SrTileJob *job) {
    const SrTilePlan *p = &job->plan;
    bool flat = job->way == SR_TILE_FLAT;
    size_t window = (size_t)SR_TILE_LINE * (size_t)job->chunks *
                    (flat ? (size_t)(job->window * p->planes * job->parts) : SR_TILE_BLOCK);
    return (SrTilePiece){
        .pipe = sr__conv_take(scratch, sizeof(SrTilePipe)),
        .step = sr__conv_take(scratch, sizeof(SrTileStep) * MOST_STEPS),
        .inputs = sr__conv_take(scratch, flat ? sizeof(int32_t) * (size_t)job->window : 0),
        .outputs = sr__conv_take(scratch, flat ? sizeof(int32_t) * (size_t)job->run : 0),
        .window = sr__conv_take(scratch, job->way == SR_TILE_IMAGES ? 0 : window)};
}

static size_t piece_bytes(const SrTileJob *job) {
    SrConvScratch count = {0};
    take_piece(&count, job);
    return count.used;
}

// Returns the outputs of a unit, for its count of sums.
static int64_t count_outputs(const SrTileJob *job, SrTileUnit *u) {
    const SrTilePlan *p = &job->plan;
    int64_t found = 0;
    if (job->way == SR_TILE_FLAT)
        return sr__tile_outputs(p, p->phase, u->first, u->first + u->n, u->piece.outputs);
    if (job->way == SR_TILE_DIRECT)
        return SR_MIN(u->n, p->positions - u->first);
    for (int64_t item = u->first; item < SR_MIN(u->first + u->n, job->items); item++)
        found += SR_MIN(SR_TILE_SIDE, p->N - SR_TILE_SIDE * (int)(item % sr__tile_image_groups(p)));
    return found;
}

static void begin_sums(const SrTileJob *job, SrTileUnit *u, int64_t run) {
    SrChannelSums sums = job->end->sums;
    int K = job->plan.out_c;
    int64_t count = count_outputs(job, u);
    if (u->from == 0)
        sums.count[run] = (float)count;
    if (count == 0 && u->from == 0)
        memset(sums.unit + run * 3 * K, 0, sizeof(float) * 3 * (size_t)K);
}

static SrTileEnd group_end(const SrTileJob *job, int group, int64_t run) {
    const SrTilePlan *p = &job->plan;
    SrTileEnd end = {.type = job->type, .channels = p->K, .stream = job->stream};
    end.residual = job->add;
    if (!job->end)
        return end;
    end.bias = job->end->bias ? job->end->bias + (int64_t)group * p->K : NULL;
    end.relu = job->end->relu;
    end.residual = job->end->residual != NULL;
    end.residual_at = end.residual ? (const char *)job->end->residual - job->out : 0;
    float *sums = job->end->sums.unit;
    end.sums = sums ? sums + run * 3 * p->out_c + (int64_t)group * p->K : NULL;
    end.sums_stride = p->out_c;
    return end;
}

static void run_unit(void *arg, int64_t i, int thread) {
    const SrTileJob *job = arg;
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    SrTileUnit u = {.job = job, .piece = take_piece(&scratch, job)};
    int range = (int)(i / job->runs);
    int64_t run = i % job->runs, bytes = sr__tile_number_bytes(job->type);
    u.from = range * job->range;
    u.to = SR_MIN(u.from + job->range, job->blocks);
    u.first = run * job->run;
    u.n = sr__tile_up(SR_MIN(job->run, job->items - u.first),
                      job->way == SR_TILE_IMAGES ? 2 : SR_TILE_BLOCK);
    if (job->end && job->end->sums.unit)
        begin_sums(job, &u, run);
    job->kernels->products->configure();
    for (u.group = 0; u.group < job->plan.groups; u.group++) {
        u.in = job->in + (int64_t)u.group * job->plan.C * bytes;
        u.out = job->out + (int64_t)u.group * job->plan.K * bytes;
        u.end = group_end(job, u.group, run);
        u.piece.pipe->at = u.piece.pipe->waits = u.piece.pipe->begun = 0;
        if (job->way == SR_TILE_DIRECT)
            sr__tile_run_direct(&u);
        else if (job->way == SR_TILE_FLAT)
            sr__tile_run_flat(&u);
        else
            sr__tile_run_images(&u);
        job->kernels->products->flush(&u.end, u.piece.pipe);
    }
    job->kernels->products->release();
}

// Outputs too large for the caches are written past them, in whole lines.
static bool streams(const SrTileJob *job) {
    const SrTilePlan *p = &job->plan;
    int64_t bytes = sr__tile_number_bytes(job->type), row = p->out_c * bytes;
    return (int64_t)p->N * p->out_h * p->out_w * row >= STREAMED && !job->add &&
           (p->K * bytes) % SR_TILE_LINE == 0 && (uintptr_t)job->out % SR_ALIGN == 0;
}

static void run_job(SrTileJob *job, const void *in, const float *packed, void *out, void *scratch) {
    job->in = in;
    job->packed = (const char *)packed;
    job->out = out;
    job->stream = streams(job);
    job->threads = scratch;
    job->thread_bytes = piece_bytes(job);
    sr_parallel_for(job->ranges * job->runs, run_unit, job);
}

static void forward(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                    void *y, void *scratch) {
    SrTileJob job;
    new_job(&job, s, SR_CONV_FORWARD);
    job.end = end;
    run_job(&job, x, w, y, scratch);
}

static void backward_data(const SrConvShape *s, const void *dy, const float *w, void *dx, bool add,
                          void *scratch) {
    SrTileJob job;
    new_job(&job, s, SR_CONV_BACKWARD_DATA);
    job.add = add;
    run_job(&job, dy, w, dx, scratch);
}

static size_t scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    if (pass == SR_CONV_BACKWARD_WEIGHT)
        return sr__tile_weight_bytes(s);
    SrTileJob job;
    new_job(&job, s, pass);
    return piece_bytes(&job) * (size_t)sr_parallel_threads();
}

static int64_t sum_units(const SrConvShape *s) {
    SrTileJob job;
    return new_job(&job, s, SR_CONV_FORWARD) ? job.runs : 0;
}

static SrConvPrepared prepared(const SrConvShape *s, SrConvPass pass) {
    SrTileJob job;
    new_job(&job, s, pass);
    return sr__conv_prepared(SR_CONV_TILES, s, pass, job.weight_part * job.parts / 4);
}

typedef struct {
    SrTileJob job;
    const float *w;
    char *packed;
    bool forward;
} Packing;

// Packs one block of one group.
static void pack_block(void *arg, int64_t i, int thread) {
    (void)thread;
    const Packing *packing = arg;
    const SrTileJob *job = &packing->job;
    const SrTilePlan *p = &job->plan;
    int64_t group = i / job->blocks;
    int taps = (int)(job->weight_chunk / SR_TILE_BYTES);
    SrTilePacking pack = {.w = packing->w + group * p->K * p->C * taps,
                          .K = packing->forward ? p->K : p->C,
                          .C = packing->forward ? p->C : p->K,
                          .taps = taps,
                          .parts = job->parts,
                          .packed = packing->packed + group * job->blocks * job->weight_block,
                          .part = job->weight_part};
    int block = (int)(i % job->blocks);
    if (packing->forward)
        job->kernels->operands->pack_forward(&pack, block);
    else
        job->kernels->operands->pack_backward(&pack, block);
}

static void prepare(const SrConvShape *s, SrConvPass pass, const float *w, float *to) {
    Packing packing = {.w = w, .packed = (char *)to, .forward = pass == SR_CONV_FORWARD};
    new_job(&packing.job, s, pass);
    sr_parallel_for((int64_t)packing.job.blocks * s->groups, pack_block, &packing);
}

// Times in the direct design's multiply-adds at full speed: of a product, and of reading and of
// writing a number.  Tiles do at best fourteen times as many products as vectors.  Indexed by pass
// (1: weight gradient) and parts - 1.
typedef struct {
    double product, read, write;
} Rates;
static const Rates rates[2][3] = {{{0.10, 4, 4}, {0.26, 42, 24}, {0.49, 48, 24}},
                                  {{0.16, 6, 6}, {0.34, 50, 50}, {0.60, 56, 56}}};

// Estimated time.  Partly filled blocks and chunks count as whole ones.  Groups narrower than half
// a block are left to vectors.
static double cost(const SrConvShape *s, SrConvPass pass) {
    SrTilePlan p;
    bool narrow = s->groups > 1 && SR_MIN(s->C, s->K) / s->groups < SR_TILE_SIDE;
    int parts = sr__tile_parts_of(s->machine, s->type);
    if (!sr__tile_kernels(s->machine) || !parts || narrow || !sr__tile_plan(&p, s, pass))
        return -1;
    Rates r = rates[pass == SR_CONV_BACKWARD_WEIGHT][parts - 1];
    double blocks = (double)sr__tile_blocks(p.C) * sr__tile_blocks(p.K);
    double work = (double)p.positions * blocks * SR_TILE_CHUNK * SR_TILE_BLOCK * p.taps * p.groups;
    return work * r.product + r.read * (double)p.N * p.in_h * p.in_w * p.in_c +
           r.write * (double)p.N * p.out_h * p.out_w * p.out_c;
}

const SrConvDesign sr__conv_tiles = {
    .name = "tiles",
    .bit = SR_CONV_TILES,
    .cost = cost,
    .scratch_bytes = scratch_bytes,
    .prepared = prepared,
    .prepare = prepare,
    .sum_units = sum_units,
    .ends_with_relu_only = true,
    .forward = forward,
    .backward_data = backward_data,
    .backward_weight = sr__tile_weight,
};
