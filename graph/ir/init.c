// Draws initial parameters from PyTorch's distributions (torch.nn.init) with the counter-based
// generator (base/rng.h).
//
// A tensor is drawn in pieces of fixed size, each from a stream of its own.  Bits therefore depend
// neither on the number of threads nor on the order in which entries were added.
#include "graph/ir/init.h"

#include <math.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/rng.h"

enum { PIECE = 1 << 14 }; // numbers a stream; part of what makes a run repeatable

typedef struct {
    float *value; // (count)
    int64_t count;
    SrInitKind kind;
    double scale; // bound or deviation of the distribution
    uint64_t seed, key;
} Draw;

// Draws a truncated normal number by rejection, which accepts 95 % of the draws.
static double truncated_normal(SrRng *rng) {
    double z;
    do
        z = sr_rng_normal(rng);
    while (fabs(z) > 2);
    return z;
}

// Draws the numbers from piece * PIECE on, out of the stream (seed, name, piece).
static void draw_piece(void *arg, int64_t piece, int thread) {
    (void)thread;
    const Draw *d = arg;
    SrRng rng = sr_rng(d->seed, SR_RNG_INIT, (uint64_t)piece, d->key, 0, 0);
    int64_t first = piece * PIECE, end = SR_MIN(first + PIECE, d->count);
    SR_ASSERT(first < end);
    if (d->kind == SR_INIT_UNIFORM) {
        sr_rng_fill_range(&rng, -d->scale, d->scale, d->value + first, end - first);
        return;
    }
    for (int64_t i = first; i < end; i++)
        d->value[i] =
            (float)(d->scale * (d->kind == SR_INIT_TRUNCATED_NORMAL ? truncated_normal(&rng)
                                                                    : sr_rng_normal(&rng)));
}

static int64_t fan_in(SrShape shape) { // weight (out, in, ...)
    int64_t n = 1;
    for (int i = 1; i < shape.rank; i++)
        n *= shape.d[i];
    return n;
}

// Sets counters (I64) and constants.  Other types of state keep the zeros of fresh memory.
static void fill(SrTensor out, double value) {
    int64_t count = sr_shape_count(out.shape);
    for (int64_t i = 0; i < count; i++) {
        if (out.dtype == SR_I64)
            ((int64_t *)out.data)[i] = (int64_t)value;
        else if (out.dtype == SR_F32)
            ((float *)out.data)[i] = (float)value;
    }
}

static void sobel(float *value, int64_t count) {
    static const float filters[] = {1, 0, -1, 2, 0, -2, 1, 0, -1, 1, 2, 1, 0, 0, 0, -1, -2, -1};
    for (int64_t i = 0; i < count; i++)
        value[i] = filters[i % SR_COUNT(filters)];
}

static void identity(float *value, SrShape s) {
    for (int64_t i = 0; i < sr_shape_count(s); i++)
        value[i] = i / sr_shape_last(s) == i % sr_shape_last(s);
}

// Sets ConViT's position weights (d'Ascoli et al., arXiv:2103.10697, section 3) for E = side^2
// heads. Head e attends to the patch at the offset (e / side, e % side) - centre.  Weights belong
// to column offsets, row offsets and squared distances.
static void locality(float *value, SrShape s, double strength) {
    int E = s.d[0], D = s.d[1] / 3, side = (int)sqrt(E);
    double centre = (side - 1) / 2.0;
    for (int64_t i = 0; i < sr_shape_count(s); i++) {
        int e = (int)(i / s.d[1]), kind = (int)(i % s.d[1]) / D;
        double offset = kind == 0 ? e / side - centre : e % side - centre;
        value[i] = (float)(strength * (kind == 2 ? -1 : 2 * offset));
    }
}

// Sets fixed positions: half of the D numbers encode the column, half the row.  Each half has D /
// 4 sines and D / 4 cosines of the place times 10000^(-i / (D / 4)), in the order of the
// published code of He et al., "Masked autoencoders" (2021).
static void sine_positions(SrTensor to, int prefix) {
    int D = sr_shape_last(to.shape), n = D / 4;
    int64_t L = sr_shape_rows(to.shape) - prefix;
    int side = (int)lround(sqrt((double)L));
    float *out = to.data; // (prefix + side^2, D)
    fill(to, 0);
    for (int64_t l = 0; l < (int64_t)side * side; l++)
        for (int k = 0; k < 4 * n; k++) {
            int64_t place = k < 2 * n ? l % side : l / side;
            double a = (double)place * pow(10000, -(double)(k % n) / n);
            out[(prefix + l) * D + k] = (float)(k / n % 2 ? cos(a) : sin(a));
        }
}

// Sets tensors whose values are computed, not drawn.  False: the tensor is drawn.
static bool lay_out(SrTensor out, SrInit init) {
    switch (init.kind) {
    case SR_INIT_SOBEL: sobel(out.data, sr_shape_count(out.shape)); return true;
    case SR_INIT_IDENTITY: identity(out.data, out.shape); return true;
    case SR_INIT_LOCALITY: locality(out.data, out.shape, init.value); return true;
    case SR_INIT_SINE_POSITIONS: sine_positions(out, (int)init.value); return true;
    default: return false;
    }
}

void sr__init_draw(SrTensor out, SrInit init, const char *name, uint64_t seed) {
    SR_ASSERT(out.data && init.kind != SR_INIT_NORM_OF);
    if (out.dtype != SR_F32 || init.kind == SR_INIT_CONSTANT) {
        fill(out, init.value);
        return;
    }
    if (lay_out(out, init))
        return;
    Draw d = {.value = out.data,
              .count = sr_shape_count(out.shape),
              .kind = init.kind,
              .scale = init.value,
              .seed = seed,
              .key = sr_hash_text(name)};
    if (d.kind == SR_INIT_UNIFORM_FAN_IN) {
        d.kind = SR_INIT_UNIFORM; // torch.nn.Linear's default: kaiming_uniform with a = sqrt(5)
        d.scale = init.value / sqrt((double)SR_MAX(fan_in(out.shape), 1));
    }
    sr_parallel_for((d.count + PIECE - 1) / PIECE, draw_piece, &d);
}

void sr__init_row_norms(SrTensor g, SrTensor v) {
    int64_t rows = sr_shape_count(g.shape), width = sr_shape_count(v.shape) / SR_MAX(rows, 1);
    SR_ASSERT(g.dtype == SR_F32 && v.dtype == SR_F32 && rows * width == sr_shape_count(v.shape));
    const float *in = v.data; // (rows, width)
    float *out = g.data;      // (rows)
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (double)in[r * width + i] * (double)in[r * width + i];
        out[r] = (float)sqrt(sum);
    }
}
