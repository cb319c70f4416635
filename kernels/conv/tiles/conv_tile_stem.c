// Stems on tile registers: convolutions of few channels, forward and weight gradient, in bfloat16.
//
// Pixels are copied into rows padded to 1, 2 or 4 channels.  There a row of the kernel's taps is a
// run of at most 32 numbers, which one product takes in one go: 7 products for the 147 terms of a
// 7x7 kernel over 3 channels.  Numbers after the last tap meet zero weights.  There is no gradient
// of x, which nothing needs for images.
//
// A unit of work is a run of output rows of one image.
#include <string.h>

#include "base/bf16.h"
#include "base/parallel.h"
#include "kernels/conv/conv_design.h"
#include "kernels/conv/tiles/conv_tile_kernels.h"
#include "kernels/conv/tiles/conv_tile_parts.h"

enum {
    KEY = SR_CONV_ALL + 2, // key of prepared weights, next to the SR_CONV_ bits
    CHUNK = SR_TILE_CHUNK,
    TILE = 16,
    ROWS = 16,       // output rows of a unit
    MOST_TAPS = 16,  // rows of taps
    POSITIONS = 256, // positions multiplied in one go in the weight gradient
    RANGES = 16,     // ranges of units, whose gradients are added in order
    SUM = SR_TILE_BLOCK * SR_TILE_BLOCK,
    STREAMED = 6 << 20,
};

typedef struct {
    SrConvShape s;
    const SrTileKernels *kernels;
    int e;              // channels of a padded pixel
    int64_t pixel, row; // bytes from one output's pixels to the next's; bytes of a padded row
    int blocks;         // blocks of outputs
    int bands;          // units of an image
    int64_t units;
    const SrBf16 *x;
    const char *packed, *dy;
    char *y;
    const SrConvEnd *end;
    SrTileEnd tile_end;
    float *part; // (ranges, blocks, R, SUM)
    int64_t ranges;
    char *threads;
    size_t thread_bytes;
} Job;

static int padded_channels(const SrConvShape *s) { return s->C <= 2 ? s->C : 4; }

static Job new_job(const SrConvShape *s) {
    Job job = {.s = *s, .kernels = sr__tile_kernels(s->machine), .e = padded_channels(s)};
    // The last tile of a row reads past the row's last pixel.
    int64_t columns = (int64_t)(s->Q + TILE) * s->stride_w + CHUNK;
    job.row = sr__tile_up(2 * job.e * SR_MAX(columns, s->W + 2 * s->pad_w + CHUNK), SR_ALIGN);
    job.pixel = 2 * s->stride_w * job.e;
    job.blocks = sr__tile_blocks(s->K);
    job.bands = (s->P + ROWS - 1) / ROWS;
    job.units = (int64_t)s->N * job.bands;
    job.ranges = SR_MIN(RANGES, job.units);
    return job;
}

static double cost(const SrConvShape *s, SrConvPass pass) {
    bool fits = s->C <= 4 && s->S * padded_channels(s) <= CHUNK && s->R <= MOST_TAPS &&
                s->groups == 1 && s->dilation_w == 1 && (int64_t)s->N * s->H * s->W < INT32_MAX;
    if (!sr__tile_kernels(s->machine) || s->type != SR_BF16 || pass == SR_CONV_BACKWARD_DATA ||
        !fits)
        return -1;
    double outputs = (double)s->N * s->P * s->Q;
    return outputs * s->R * CHUNK * SR_TILE_BLOCK * sr__tile_blocks(s->K) / 5 +
           6.0 * (s->N * s->H * s->W * s->C + outputs * s->K);
}

// Returns the rows of padded pixels that the output rows of a unit need.
static int band_rows(const SrConvShape *s) {
    return (ROWS - 1) * s->stride_h + (s->R - 1) * s->dilation_h + 1;
}

// Scratch of one thread.
typedef struct {
    SrTilePipe *pipe;
    SrTileStep *step;      // (R)
    char *band;            // (band_rows, row)
    char *turned, *paired; // (blocks, POSITIONS, 64 bytes), (R, POSITIONS, 64 bytes)
} Piece;

static Piece take_piece(SrConvScratch *scratch, const Job *job, SrConvPass pass) {
    bool weight = pass == SR_CONV_BACKWARD_WEIGHT;
    size_t R = (size_t)job->s.R, line = SR_TILE_LINE * POSITIONS;
    return (Piece){.pipe = sr__conv_take(scratch, weight ? 0 : sizeof(SrTilePipe)),
                   .step = sr__conv_take(scratch, weight ? 0 : sizeof(SrTileStep) * R),
                   .band = sr__conv_take(scratch, (size_t)job->row * (size_t)band_rows(&job->s)),
                   .turned = sr__conv_take(scratch, weight ? line * (size_t)job->blocks : 0),
                   .paired = sr__conv_take(scratch, weight ? line * R : 0)};
}

static size_t arranged_floats(const SrConvShape *s) { return (size_t)s->K * CHUNK * (size_t)s->R; }

// Scratch that all threads share in the weight gradient.
typedef struct {
    float *part, *arranged; // (ranges, blocks, R, SUM), (K, CHUNK, R)
} Shared;

static Shared take_shared(SrConvScratch *scratch, const Job *job) {
    size_t sums = (size_t)job->blocks * (size_t)job->s.R * SUM;
    return (Shared){.part = sr__conv_take(scratch, sizeof(float) * (size_t)job->ranges * sums),
                    .arranged = sr__conv_take(scratch, sizeof(float) * arranged_floats(&job->s))};
}

static size_t scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    Job job = new_job(s);
    SrConvScratch thread = {0}, all = {0};
    take_piece(&thread, &job, pass);
    if (pass == SR_CONV_BACKWARD_WEIGHT)
        take_shared(&all, &job);
    return all.used + thread.used * (size_t)sr_parallel_threads();
}

// Copies one row of an image between its zeros.
static void pad_row(const Job *job, const SrBf16 *x, char *row) {
    const SrConvShape *s = &job->s;
    SrBf16 *to = (SrBf16 *)row + s->pad_w * job->e;
    if (s->C == 3)
        for (int w = 0; w < s->W; w++, x += 3, to += 4) {
            to[0] = x[0];
            to[1] = x[1];
            to[2] = x[2];
        }
    else
        for (int w = 0; w < s->W; w++, x += s->C, to += job->e)
            for (int c = 0; c < s->C; c++)
                to[c] = x[c];
}

// A unit: output rows [first, last) of image n.
typedef struct {
    int n, first, last;
} Band;

static Band copy_band(const Job *job, int64_t unit, char *to) {
    const SrConvShape *s = &job->s;
    Band b = {.n = (int)(unit / job->bands), .first = (int)(unit % job->bands) * ROWS};
    b.last = SR_MIN(b.first + ROWS, s->P);
    memset(to, 0, (size_t)(job->row * band_rows(s)));
    for (int i = 0; i < band_rows(s); i++) {
        int h = b.first * s->stride_h - s->pad_h + i;
        if (h >= 0 && h < s->H)
            pad_row(job, job->x + ((int64_t)b.n * s->H + h) * s->W * s->C, to + i * job->row);
    }
    return b;
}

// Tiles are 16 outputs of a row; a block has two of them.
static void run_band(const Job *job, Band b, const SrTileEnd *end, Piece *piece) {
    const SrConvShape *s = &job->s;
    int across = (s->Q + TILE - 1) / TILE, items = (b.last - b.first) * across;
    for (int item = 0; item < items; item += 2) {
        const char *pixels[2];
        char *out[SR_TILE_BLOCK];
        for (int j = 0; j < 2; j++) {
            int h = (item + j) / across, q = (item + j) % across * TILE;
            bool inside = item + j < items;
            pixels[j] =
                inside ? piece->band + h * s->stride_h * job->row + q * job->pixel : piece->band;
            char *first = job->y + 2 * (((int64_t)b.n * s->P + b.first + h) * s->Q + q) * s->K;
            for (int i = 0; i < TILE; i++)
                out[TILE * j + i] = inside && q + i < s->Q ? first + (int64_t)2 * i * s->K : NULL;
        }
        for (int r = 0; r < s->R; r++) {
            int64_t at = r * s->dilation_h * job->row;
            piece->step[r] = (SrTileStep){{pixels[0] + at, pixels[1] + at},
                                          {job->pixel, job->pixel},
                                          job->packed + (int64_t)r * SR_TILE_BYTES};
        }
        job->kernels->products->product(
            &(SrTileProduct){.step = piece->step,
                             .groups = 1,
                             .steps = s->R,
                             .chunks = 1,
                             .weight_block = (int64_t)s->R * SR_TILE_BYTES,
                             .block_to = job->blocks,
                             .out = out,
                             .end = end,
                             .pipe = piece->pipe});
    }
}

static void run_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    Piece piece = take_piece(&scratch, job, SR_CONV_FORWARD);
    Band b = copy_band(job, i, piece.band);
    SrTileEnd end = job->tile_end;
    if (end.sums) {
        end.sums += i * 3 * job->s.K;
        job->end->sums.count[i] = (float)((b.last - b.first) * job->s.Q);
    }
    piece.pipe->at = piece.pipe->waits = piece.pipe->begun = 0;
    job->kernels->products->configure();
    run_band(job, b, &end, &piece);
    job->kernels->products->flush(&end, piece.pipe);
    job->kernels->products->release();
}

static void forward(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                    void *y, void *scratch) {
    Job job = new_job(s);
    SrConvScratch count = {0};
    take_piece(&count, &job, SR_CONV_FORWARD);
    job.x = x;
    job.packed = (const char *)w;
    job.y = y;
    job.end = end;
    job.threads = scratch;
    job.thread_bytes = count.used;
    bool large = (int64_t)2 * s->N * s->P * s->Q * s->K >= STREAMED;
    job.tile_end = (SrTileEnd){.type = SR_BF16, .channels = s->K, .sums_stride = s->K};
    job.tile_end.stream = large && s->K % SR_TILE_BLOCK == 0 && (uintptr_t)y % SR_ALIGN == 0;
    if (end) {
        job.tile_end.bias = end->bias;
        job.tile_end.relu = end->relu;
        job.tile_end.residual = end->residual != NULL;
        job.tile_end.residual_at = end->residual ? (const char *)end->residual - (char *)y : 0;
        job.tile_end.sums = end->sums.unit;
    }
    sr_parallel_for(job.units, run_unit, &job);
}

static int64_t sum_units(const SrConvShape *s) { return new_job(s).units; }

// Arranges (K, C, R, S) as (K, CHUNK, R): number s * e + c of a row of taps.
static float *arranged_at(const SrConvShape *s, float *arranged, int k, int c, int r, int t) {
    return arranged + ((int64_t)k * CHUNK + t * padded_channels(s) + c) * s->R + r;
}

// Returns the packed weights; the arranged weights lie after them.
static size_t packed_bytes(const SrConvShape *s) {
    return (size_t)SR_TILE_BYTES * (size_t)(sr__tile_blocks(s->K) * s->R);
}

static SrConvPrepared prepared(const SrConvShape *s, SrConvPass pass) {
    return sr__conv_prepared(KEY, s, pass,
                             (int64_t)(packed_bytes(s) / sizeof(float) + arranged_floats(s)));
}

static void prepare(const SrConvShape *s, SrConvPass pass, const float *w, float *to) {
    (void)pass;
    float *arranged = to + packed_bytes(s) / sizeof(float);
    memset(arranged, 0, sizeof(float) * arranged_floats(s));
    for (int k = 0; k < s->K; k++)
        for (int c = 0; c < s->C; c++)
            for (int r = 0; r < s->R; r++)
                for (int t = 0; t < s->S; t++)
                    *arranged_at(s, arranged, k, c, r, t) = *w++;
    SrTilePacking pack = {
        .w = arranged, .K = s->K, .C = CHUNK, .taps = s->R, .parts = 1, .packed = (char *)to};
    for (int block = 0; block < sr__tile_blocks(s->K); block++)
        sr__tile_kernels(s->machine)->operands->pack_forward(&pack, block);
}

// Positions [m, m + 32) of a unit: transposes dy and pairs the pixels under each row of taps.
// Zeros follow position `count`.
static void make_operands(const Job *job, Band b, int m, int slot, const Piece *piece) {
    const SrConvShape *s = &job->s;
    int count = (b.last - b.first) * s->Q;
    const char *rows[SR_TILE_BLOCK], *pixels[SR_TILE_BLOCK], *at[SR_TILE_BLOCK];
    int64_t first = ((int64_t)b.n * s->P + b.first) * s->Q;
    for (int i = 0; i < SR_TILE_BLOCK; i++) {
        int h = (m + i) / s->Q, q = (m + i) % s->Q;
        bool inside = m + i < count;
        rows[i] = inside ? job->dy + 2 * (first + m + i) * s->K : NULL;
        pixels[i] = inside ? piece->band + h * s->stride_h * job->row + q * job->pixel : NULL;
    }
    for (int k = 0; k < job->blocks; k++) {
        for (int i = 0; i < SR_TILE_BLOCK; i++)
            at[i] = rows[i] ? rows[i] + (int64_t)2 * SR_TILE_BLOCK * k : sr__tile_zeros;
        job->kernels->operands->turn(
            &(SrTileTurn){.pixel = at,
                          .parts = 1,
                          .channels = s->K - SR_TILE_BLOCK * k,
                          .to = piece->turned + ((int64_t)k * POSITIONS + slot) * SR_TILE_LINE});
    }
    for (int r = 0; r < s->R; r++) {
        for (int i = 0; i < SR_TILE_BLOCK; i++)
            at[i] = pixels[i] ? pixels[i] + r * s->dilation_h * job->row : sr__tile_zeros;
        job->kernels->operands->pair(
            &(SrTileTurn){.pixel = at,
                          .parts = 1,
                          .channels = CHUNK,
                          .to = piece->paired + ((int64_t)r * POSITIONS + slot) * SR_TILE_LINE});
    }
}

static void add_band(const Job *job, Band b, const Piece *piece, float *sums, bool *fresh) {
    int count = (b.last - b.first) * job->s.Q;
    for (int from = 0; from < count; from += POSITIONS, *fresh = false) {
        int steps = (SR_MIN(POSITIONS, count - from) + SR_TILE_BLOCK - 1) / SR_TILE_BLOCK;
        for (int i = 0; i < steps; i++)
            make_operands(job, b, from + SR_TILE_BLOCK * i, SR_TILE_BLOCK * i, piece);
        for (int k = 0; k < job->blocks; k++)
            for (int r = 0; r < job->s.R; r++)
                job->kernels->products->outer(
                    &(SrTileOuter){.a = {piece->turned + (int64_t)k * POSITIONS * SR_TILE_LINE},
                                   .b = {piece->paired + (int64_t)r * POSITIONS * SR_TILE_LINE},
                                   .products = 1,
                                   .steps = steps,
                                   .sum = sums + ((int64_t)k * job->s.R + r) * SUM,
                                   .fresh = *fresh});
    }
}

static void run_range(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    SrConvScratch scratch = {job->threads + (size_t)thread * job->thread_bytes, 0};
    Piece piece = take_piece(&scratch, job, SR_CONV_BACKWARD_WEIGHT);
    float *sums = job->part + i * job->blocks * job->s.R * SUM;
    bool fresh = true;
    job->kernels->products->configure();
    for (int64_t u = job->units * i / job->ranges; u < job->units * (i + 1) / job->ranges; u++)
        add_band(job, copy_band(job, u, piece.band), &piece, sums, &fresh);
    job->kernels->products->release();
}

static void backward_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            void *scratch) {
    Job job = new_job(s);
    SrConvScratch pool = {scratch, 0}, count = {0};
    Shared shared = take_shared(&pool, &job);
    take_piece(&count, &job, SR_CONV_BACKWARD_WEIGHT);
    job.x = x;
    job.dy = dy;
    job.part = shared.part;
    job.threads = (char *)scratch + pool.used;
    job.thread_bytes = count.used;
    sr_parallel_for(job.ranges, run_range, &job);
    memset(shared.arranged, 0, sizeof(float) * arranged_floats(s));
    for (int64_t i = 0; i < job.ranges; i++)
        for (int k = 0; k < job.blocks; k++)
            job.kernels->operands->join_taps(
                job.part + (i * job.blocks + k) * s->R * SUM, s->R,
                shared.arranged + (int64_t)k * SR_TILE_BLOCK * CHUNK * s->R, (int64_t)CHUNK * s->R,
                s->K - SR_TILE_BLOCK * k, CHUNK);
    for (int k = 0; k < s->K; k++)
        for (int c = 0; c < s->C; c++)
            for (int r = 0; r < s->R; r++)
                for (int t = 0; t < s->S; t++)
                    *dw++ += *arranged_at(s, shared.arranged, k, c, r, t);
}

const SrConvDesign sr__conv_tile_stem = {
    .name = "tiles",
    .bit = SR_CONV_TILES,
    .cost = cost,
    .scratch_bytes = scratch_bytes,
    .prepared = prepared,
    .prepare = prepare,
    .sum_units = sum_units,
    .ends_with_relu_only = true,
    .forward = forward,
    .backward_weight = backward_weight,
};
