// Convolution on tile registers (AMX), forward and backward data: an implicit matrix product over bfloat16 numbers.
// The micro-kernels are in conv_tile_*_amx.c, the weight gradient in conv_tile_weight.c.
//
// A tile of pixels is read in one of three ways:
//   direct  1x1 kernels without strides: pixels as they lie;
//   flat    a window of pixels is copied into padded planes in scratch, whose positions run on across rows and images
//           (conv_tile_plan.h): borders, strides and tails of channels all end in the copy;
//   images  small maps: the same pixel of 16 images, as they lie; taps outside the map are left out.
//
// A unit of work is a run of positions against a range of blocks of outputs whose weights fit the second-level cache.
// Every output is computed in one go in one order, so units could follow anything; those of forward depend on the
// shape alone because the outputs' sums are left unit by unit.
#include "kernels/conv/conv_tiles.h"

#include <string.h>

#include "base/parallel.h"

enum {
    WEIGHT_BYTES = 768 << 10, // of a range of blocks
    WINDOW_BYTES = 640 << 10,
    RUN = 1024,        // positions of a unit at most
    SHORTEST_RUN = 64, // and at least
    UNITS = 16,        // pieces of work wanted
    TILE = 16,
    MOST_STEPS = 6 * SR_TILE_TAPS,
    AHEAD = 24 << 10, // bytes
    STREAMED = 6 << 20,
    SMALL_MAP = 14, // rows of a map whose images are better side by side
};

const char sr__tile_zeros[SR_TILE_MOST_CHUNKS * SR_TILE_LINE] __attribute__((aligned(SR_ALIGN)));

SrTileParts sr__tile_parts(int parts) {
    static const SrTileParts all[] = {
        {1, {0}, {0}}, {3, {1, 0, 0}, {0, 1, 0}}, {6, {2, 0, 1, 1, 0, 0}, {0, 2, 1, 0, 1, 0}}};
    return all[parts - 1];
}

static SrConvFp32 fp32 = SR_CONV_FP32_AUTO; // sr_conv_fp32

void sr_conv_fp32(SrConvFp32 how) { fp32 = how; }

int sr__tile_parts_of(SrDtype type) {
    if (type == SR_BF16)
        return 1;
    return fp32 == SR_CONV_FP32_IEEE ? 0 : fp32 == SR_CONV_FP32_X3 ? 2 : 3;
}

static bool emulated; // sr_conv_emulate_tiles

void sr_conv_emulate_tiles(bool on) { emulated = on; }

extern const SrTileProducts sr__tile_products_emulated;
extern const SrTileOperands sr__tile_operands_emulated;
#if defined(__x86_64__)
extern const SrTileProducts sr__tile_products_amx;
extern const SrTileOperands sr__tile_operands_amx;
#endif

const SrTileKernels *sr__tile_kernels(void) {
    static const SrTileKernels plain = {&sr__tile_products_emulated, &sr__tile_operands_emulated};
    if (emulated)
        return &plain;
#if defined(__x86_64__)
    static const SrTileKernels amx = {&sr__tile_products_amx, &sr__tile_operands_amx};
    return sr_cpu_has_tiles() ? &amx : NULL;
#else
    return NULL;
#endif
}

typedef enum { DIRECT, FLAT, IMAGES } Way;

typedef struct {
    SrTilePlan plan;
    const SrTileKernels *kernels;
    Way way;
    int parts;
    SrTileParts products;
    int chunks, blocks;                              // of a group
    int64_t weight_chunk, weight_block, weight_part; // bytes
    int range, ranges;                               // blocks of a unit; units across the blocks
    int64_t run, runs; // positions, or images' items, of a unit; units along them
    int64_t items;     // positions or items in all
    int64_t window;    // positions of a plane in scratch
    const char *in, *packed;
    char *out;
    bool add;
    const SrConvEnd *end;
    bool stream;
    SrDtype type;
    char *threads;
    size_t thread_bytes;
} Job;

static int64_t number_bytes(SrDtype type) { return type == SR_BF16 ? 2 : 4; }

// 16 images each, the last ones perhaps computed twice.
static int image_groups(const SrTilePlan *p) { return (p->N + TILE - 1) / TILE; }

// Positions that are computed for nothing against taps outside the map that are left out.
static Way choose_way(const SrTilePlan *p, SrDtype type) {
    bool whole = type == SR_BF16 && p->C % SR_TILE_CHUNK == 0;
    bool one = p->planes == 1 && p->phases == 1 && p->taps == 1 && p->step_h == 1 &&
               p->step_w == 1 && p->before + p->after == 0 && p->rows == p->in_h &&
               p->pitch == p->in_w && p->map_h == p->in_h && p->map_w == p->in_w;
    if (whole && one)
        return DIRECT;
    bool fits = p->N >= TILE && 8 * p->N >= 7 * TILE * image_groups(p);
    bool small = p->map_h <= SMALL_MAP && p->C / SR_TILE_CHUNK <= SR_TILE_MOST_CHUNKS;
    return whole && fits && small && !one ? IMAGES : FLAT;
}

static int64_t clamp(int64_t n, int64_t low, int64_t high) { return SR_MAX(low, SR_MIN(n, high)); }

// Positions of a unit: a window that stays in the second-level cache and is long beside what its taps reach beyond it.
static int64_t run_length(const Job *job) {
    const SrTilePlan *p = &job->plan;
    int64_t even = sr__tile_up((job->items + UNITS - 1) / UNITS, SR_TILE_BLOCK);
    if (job->way == IMAGES)
        return clamp(sr__tile_up(even, 2), 2, RUN / TILE);
    int64_t line = (int64_t)SR_TILE_LINE * job->chunks * p->planes * job->parts;
    int64_t halo = p->before + p->after, most = SR_MIN(RUN, WINDOW_BYTES / line);
    int64_t run = clamp(even, SHORTEST_RUN, SR_MAX(most, SHORTEST_RUN));
    run = job->way == FLAT ? SR_MAX(run, 4 * halo) : run;
    return sr__tile_up(SR_MIN(run, job->items), SR_TILE_BLOCK);
}

static bool new_job(Job *job, const SrConvShape *s, SrConvPass pass) {
    *job = (Job){.kernels = sr__tile_kernels(), .type = s->type};
    job->parts = sr__tile_parts_of(s->type);
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
    job->items = job->way == IMAGES ? (int64_t)image_groups(p) * p->map_h * p->map_w : p->positions;
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

// What one thread needs; lives in scratch.
typedef struct {
    SrTilePipe *pipe;
    SrTileStep *step;          // (MOST_STEPS)
    int32_t *inputs, *outputs; // (window), (run)
    char *window;              // (parts, planes, chunks, window, 64 bytes); direct: 32 pixels
} Piece;

static Piece take_piece(SrConvScratch *scratch, const Job *job) {
    const SrTilePlan *p = &job->plan;
    bool flat = job->way == FLAT;
    size_t window = (size_t)SR_TILE_LINE * (size_t)job->chunks *
                    (flat ? (size_t)(job->window * p->planes * job->parts) : SR_TILE_BLOCK);
    return (Piece){.pipe = sr__conv_take(scratch, sizeof(SrTilePipe)),
                   .step = sr__conv_take(scratch, sizeof(SrTileStep) * MOST_STEPS),
                   .inputs =
                       sr__conv_take(scratch, flat ? sizeof(int32_t) * (size_t)job->window : 0),
                   .outputs = sr__conv_take(scratch, flat ? sizeof(int32_t) * (size_t)job->run : 0),
                   .window = sr__conv_take(scratch, job->way == IMAGES ? 0 : window)};
}

static size_t piece_bytes(const Job *job) {
    SrConvScratch count = {0};
    take_piece(&count, job);
    return count.used;
}

// One unit of work, of one group of channels.
typedef struct {
    const Job *job;
    Piece piece;
    int group, from, to; // blocks
    int64_t first, n;    // positions or items
    const char *in;      // the group's first channel
    char *out;
    SrTileEnd end;
} Unit;

static const char *weights(const Unit *u, int tap, int part) {
    const Job *job = u->job;
    return job->packed + u->group * job->weight_block * job->blocks + part * job->weight_part +
           (int64_t)tap * SR_TILE_BYTES;
}

static void run_block(const Unit *u, int groups, int steps, int64_t pixel_chunk, char *const *out,
                      const char *ahead, int lines) {
    const Job *job = u->job;
    job->kernels->products->product(&(SrTileProduct){.step = u->piece.step,
                                                     .groups = groups,
                                                     .steps = steps,
                                                     .chunks = job->chunks,
                                                     .pixel_chunk = pixel_chunk,
                                                     .weight_chunk = job->weight_chunk,
                                                     .weight_block = job->weight_block,
                                                     .block_from = u->from,
                                                     .block_to = u->to,
                                                     .out = out,
                                                     .ahead = ahead,
                                                     .ahead_lines = lines,
                                                     .end = &u->end,
                                                     .pipe = u->piece.pipe});
}

static void run_direct(const Unit *u) {
    const SrTilePlan *p = &u->job->plan;
    int64_t row = 2 * p->in_c, out_row = number_bytes(u->job->type) * p->out_c;
    for (int64_t m = u->first; m < u->first + u->n; m += SR_TILE_BLOCK) {
        const char *x = u->in + m * row, *at = x;
        int64_t here = SR_MIN(SR_TILE_BLOCK, p->positions - m), distance = row;
        if (here < SR_TILE_BLOCK) { // a tile may not read past the end
            distance = 2 * p->C;
            for (int64_t i = 0; i < here; i++)
                memcpy(u->piece.window + i * distance, x + i * row, (size_t)distance);
            memset(u->piece.window + here * distance, 0,
                   (size_t)((SR_TILE_BLOCK - here) * distance));
            at = u->piece.window;
        }
        char *out[SR_TILE_BLOCK];
        for (int i = 0; i < SR_TILE_BLOCK; i++)
            out[i] = i < here ? u->out + (m + i) * out_row : NULL;
        u->piece.step[0] =
            (SrTileStep){{at, at + TILE * distance}, {distance, distance}, weights(u, 0, 0)};
        int64_t ahead = SR_MAX(AHEAD, SR_TILE_BLOCK * row);
        bool more = p->groups == 1 && m * row + ahead + SR_TILE_BLOCK * row <= p->positions * row;
        run_block(u, 1, 1, SR_TILE_LINE, out, x + ahead, more ? p->C : 0);
    }
}

// The window of a unit, planes side by side.
static void copy_window(const Unit *u) {
    const Job *job = u->job;
    const SrTilePlan *p = &job->plan;
    int64_t from = u->first - p->before, pixels = u->n + p->before + p->after;
    for (int plane = 0; plane < p->planes; plane++) {
        sr__tile_inputs(p, plane, from, from + pixels, u->piece.inputs);
        job->kernels->operands->copy(
            &(SrTileCopy){.x = u->in,
                          .pixel_bytes = number_bytes(job->type) * p->in_c,
                          .parts = job->parts,
                          .channels = p->C,
                          .table = u->piece.inputs,
                          .pixels = pixels,
                          .to = u->piece.window + plane * job->chunks * job->window * SR_TILE_LINE,
                          .row = SR_TILE_LINE,
                          .chunk = job->window * SR_TILE_LINE,
                          .part = p->planes * job->chunks * job->window * SR_TILE_LINE});
    }
}

// Taps for each of the products of parts; returns how many.
static int flat_steps(const Unit *u, const SrTilePhase *f, int64_t m) {
    const Job *job = u->job;
    const SrTilePlan *p = &job->plan;
    int64_t plane = job->chunks * job->window * SR_TILE_LINE;
    SrTileStep *step = u->piece.step;
    for (int q = 0; q < job->products.n; q++)
        for (int t = 0; t < f->taps; t++) {
            const SrTileTap *tap = &p->tap[f->first + t];
            int64_t at = m + p->before + tap->dh * p->pitch + tap->dw;
            const char *x = u->piece.window + job->products.pixels[q] * p->planes * plane +
                            tap->plane * plane + at * SR_TILE_LINE;
            *step++ = (SrTileStep){{x, x + TILE * SR_TILE_LINE},
                                   {SR_TILE_LINE, SR_TILE_LINE},
                                   weights(u, tap->id, job->products.weights[q])};
        }
    return f->taps;
}

// Outputs of a block of positions from entry i of the table; false: none.
static bool place_outputs(const Unit *u, int64_t i, char *out[SR_TILE_BLOCK]) {
    int64_t pixel = number_bytes(u->job->type) * u->job->plan.out_c;
    bool any = false;
    for (int j = 0; j < SR_TILE_BLOCK; j++) {
        int32_t at = u->piece.outputs[i + j];
        out[j] = at < 0 ? NULL : u->out + at * pixel;
        any |= at >= 0;
    }
    return any;
}

// Outputs that no tap reaches.
static void write_zeros(const Unit *u, char *const out[SR_TILE_BLOCK]) {
    int64_t bytes = number_bytes(u->job->type), first = (int64_t)SR_TILE_BLOCK * u->from;
    int64_t n = SR_MIN((int64_t)SR_TILE_BLOCK * u->to, u->job->plan.K) - first;
    for (int i = 0; i < SR_TILE_BLOCK; i++)
        if (out[i])
            memset(out[i] + first * bytes, 0, (size_t)(n * bytes));
}

static void run_flat(const Unit *u) {
    const Job *job = u->job;
    const SrTilePlan *p = &job->plan;
    copy_window(u);
    for (int f = 0; f < p->phases; f++) {
        const SrTilePhase *phase = &p->phase[f];
        if (!phase->taps && job->add)
            continue;
        sr__tile_outputs(p, phase, u->first, u->first + u->n, u->piece.outputs);
        for (int64_t m = 0; m < u->n; m += SR_TILE_BLOCK) {
            char *out[SR_TILE_BLOCK];
            if (!place_outputs(u, m, out))
                continue;
            if (phase->taps || job->end)
                run_block(u, job->products.n, flat_steps(u, phase, m), job->window * SR_TILE_LINE,
                          out, NULL, 0);
            else
                write_zeros(u, out);
        }
    }
}

// Outputs of an item, pixel `item / groups` of a group of images; false: it does not exist.
static bool place_images(const Unit *u, const SrTilePhase *f, int64_t item, char **out) {
    const SrTilePlan *p = &u->job->plan;
    int g = (int)(item % image_groups(p)), pixel = (int)(item / image_groups(p));
    int h = pixel / p->map_w * p->out_step_h + f->at_h,
        w = pixel % p->map_w * p->out_step_w + f->at_w;
    int64_t number = 2 * p->out_c, image = (int64_t)p->out_h * p->out_w * number;
    int first = SR_MIN(TILE * g, p->N - TILE);
    bool inside = item < u->job->items && h < p->out_h && w < p->out_w;
    for (int i = 0; i < TILE; i++)
        out[i] = inside && first + i >= TILE * g
                     ? u->out + (first + i) * image + ((int64_t)h * p->out_w + w) * number
                     : NULL;
    return inside;
}

// Where a tap finds the first of the item's pixels; NULL: outside the map.
static const char *image_pixel(const Unit *u, const SrTileTap *tap, int64_t item) {
    const SrTilePlan *p = &u->job->plan;
    int g = (int)(item % image_groups(p)), pixel = (int)(item / image_groups(p));
    int h = (pixel / p->map_w + tap->dh) * p->step_h + p->plane_h[tap->plane];
    int w = (pixel % p->map_w + tap->dw) * p->step_w + p->plane_w[tap->plane];
    if (h < 0 || w < 0 || h >= p->in_h || w >= p->in_w)
        return NULL;
    int64_t first = SR_MIN(TILE * g, p->N - TILE);
    return u->in + 2 * (((first * p->in_h + h) * p->in_w + w) * p->in_c);
}

static int image_steps(const Unit *u, const SrTilePhase *f, int64_t item, const bool inside[2]) {
    const SrTilePlan *p = &u->job->plan;
    int64_t image = (int64_t)p->in_h * p->in_w * p->in_c * 2;
    int steps = 0;
    for (int t = 0; t < f->taps; t++) {
        const SrTileTap *tap = &p->tap[f->first + t];
        SrTileStep step = {.weights = weights(u, tap->id, 0)};
        bool any = false;
        for (int j = 0; j < 2; j++) {
            const char *at = inside[j] ? image_pixel(u, tap, item + j) : NULL;
            step.pixels[j] = at ? at : sr__tile_zeros;
            step.distance[j] = at ? image : 0;
            any |= at != NULL;
        }
        if (any)
            u->piece.step[steps++] = step;
    }
    return steps;
}

static void run_images(const Unit *u) {
    const Job *job = u->job;
    for (int f = 0; f < job->plan.phases; f++) {
        const SrTilePhase *phase = &job->plan.phase[f];
        for (int64_t item = u->first; item < u->first + u->n; item += 2) {
            char *out[SR_TILE_BLOCK];
            bool inside[2];
            for (int j = 0; j < 2; j++)
                inside[j] = place_images(u, phase, item + j, out + TILE * j);
            if (!inside[0] && !inside[1])
                continue;
            int steps = image_steps(u, phase, item, inside);
            if (steps || job->end)
                run_block(u, steps, 1, SR_TILE_LINE, out, NULL, 0);
            else if (!job->add)
                write_zeros(u, out);
        }
    }
}

// Outputs of a unit, which its sums count.
static int64_t count_outputs(const Job *job, Unit *u) {
    const SrTilePlan *p = &job->plan;
    int64_t found = 0;
    if (job->way == FLAT)
        return sr__tile_outputs(p, p->phase, u->first, u->first + u->n, u->piece.outputs);
    if (job->way == DIRECT)
        return SR_MIN(u->n, p->positions - u->first);
    for (int64_t item = u->first; item < SR_MIN(u->first + u->n, job->items); item++)
        found += SR_MIN(TILE, p->N - TILE * (int)(item % image_groups(p)));
    return found;
}

static void begin_sums(const Job *job, Unit *u, int64_t run) {
    SrChannelSums sums = job->end->sums;
    int K = job->plan.out_c;
    int64_t count = count_outputs(job, u);
    if (u->from == 0)
        sums.count[run] = (float)count;
    if (count == 0 && u->from == 0)
        memset(sums.unit + run * 3 * K, 0, sizeof(float) * 3 * (size_t)K);
}

static SrTileEnd group_end(const Job *job, int group, int64_t run) {
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
    const Job *job = arg;
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    Unit u = {.job = job, .piece = take_piece(&scratch, job)};
    int range = (int)(i / job->runs);
    int64_t run = i % job->runs, bytes = number_bytes(job->type);
    u.from = range * job->range;
    u.to = SR_MIN(u.from + job->range, job->blocks);
    u.first = run * job->run;
    u.n =
        sr__tile_up(SR_MIN(job->run, job->items - u.first), job->way == IMAGES ? 2 : SR_TILE_BLOCK);
    if (job->end && job->end->sums.unit)
        begin_sums(job, &u, run);
    job->kernels->products->configure();
    for (u.group = 0; u.group < job->plan.groups; u.group++) {
        u.in = job->in + (int64_t)u.group * job->plan.C * bytes;
        u.out = job->out + (int64_t)u.group * job->plan.K * bytes;
        u.end = group_end(job, u.group, run);
        u.piece.pipe->at = u.piece.pipe->waits = u.piece.pipe->begun = 0;
        if (job->way == DIRECT)
            run_direct(&u);
        else if (job->way == FLAT)
            run_flat(&u);
        else
            run_images(&u);
        job->kernels->products->flush(&u.end, u.piece.pipe);
    }
    job->kernels->products->release();
}

// Whole lines of an output too large for the caches go past them.
static bool streams(const Job *job) {
    const SrTilePlan *p = &job->plan;
    int64_t bytes = number_bytes(job->type), row = p->out_c * bytes;
    return (int64_t)p->N * p->out_h * p->out_w * row >= STREAMED && !job->add &&
           (p->K * bytes) % SR_TILE_LINE == 0 && (uintptr_t)job->out % SR_ALIGN == 0;
}

static void run_job(Job *job, const void *in, const float *packed, void *out, void *scratch) {
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
    Job job;
    new_job(&job, s, SR_CONV_FORWARD);
    job.end = end;
    run_job(&job, x, w, y, scratch);
}

static void backward_data(const SrConvShape *s, const void *dy, const float *w, void *dx, bool add,
                          void *scratch) {
    Job job;
    new_job(&job, s, SR_CONV_BACKWARD_DATA);
    job.add = add;
    run_job(&job, dy, w, dx, scratch);
}

static size_t scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    if (pass == SR_CONV_BACKWARD_WEIGHT)
        return sr__tile_weight_bytes(s);
    Job job;
    new_job(&job, s, pass);
    return piece_bytes(&job) * (size_t)sr_parallel_threads();
}

static int64_t sum_units(const SrConvShape *s) {
    Job job;
    return new_job(&job, s, SR_CONV_FORWARD) ? job.runs : 0;
}

static SrConvPrepared prepared(const SrConvShape *s, SrConvPass pass) {
    Job job;
    new_job(&job, s, pass);
    return sr__conv_prepared(SR_CONV_TILES, s, pass, job.weight_part * job.parts / 4);
}

typedef struct {
    Job job;
    const float *w;
    char *packed;
    bool forward;
} Packing;

// One block of one group.
static void pack_block(void *arg, int64_t i, int thread) {
    (void)thread;
    const Packing *packing = arg;
    const Job *job = &packing->job;
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

// In multiply-adds at full speed as the direct design counts them: products, of which tiles do fourteen times as many as
// vectors at best, and what reading and writing a number takes.  By pass (weight gradient or not) and parts.
typedef struct {
    double product, read, write;
} Rates;
static const Rates rates[2][3] = {{{0.10, 4, 4}, {0.26, 42, 24}, {0.49, 48, 24}},
                                  {{0.16, 6, 6}, {0.34, 50, 50}, {0.60, 56, 56}}};

// Blocks and chunks count whole.  Groups narrower than half a block stay with vectors.
static double cost(const SrConvShape *s, SrConvPass pass) {
    SrTilePlan p;
    bool narrow = s->groups > 1 && SR_MIN(s->C, s->K) / s->groups < TILE;
    int parts = sr__tile_parts_of(s->type);
    if (!sr__tile_kernels() || !parts || narrow || !sr__tile_plan(&p, s, pass))
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
    .forward = forward,
    .backward_data = backward_data,
    .backward_weight = sr__tile_weight,
};
