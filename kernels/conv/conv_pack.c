// Packs weights into the blocks of conv_pack.h in parallel, and adds gradients of blocks back.
#include "kernels/conv/conv_pack.h"

#include <string.h>

#include "base/bf16.h"
#include "base/compiler.h"
#include "base/parallel.h"

// Returns the largest divisor of the number of groups whose merger still fits into one vector.
static int merge(const SrConvShape *s, int lanes) {
    int widest = SR_MAX(s->C, s->K) / s->groups, best = 1;
    for (int m = 2; m <= s->groups && m * widest <= lanes; m++)
        if (s->groups % m == 0)
            best = m;
    return best;
}

SrConvPacking sr__conv_packing(const SrConvShape *s) {
    const SrConvKernels *kernels = sr__conv_kernels(s->machine, s->type);
    int m = merge(s, kernels->lanes);
    SR_ASSERT(s->C % s->groups == 0 && s->K % s->groups == 0 && s->groups % m == 0);
    return (SrConvPacking){.kernels = kernels,
                           .groups = s->groups / m,
                           .merged = m,
                           .C = s->C / s->groups * m,
                           .K = s->K / s->groups * m,
                           .taps = s->R * s->S,
                           .Cg = s->C / s->groups,
                           .Kg = s->K / s->groups};
}

typedef struct {
    const SrConvPacking *p;
    const float *w, *part; // (K, C, taps) of all groups; (parts, groups, blocks, taps, C, width)
    float *packed, *dw;
    int parts, per_group;
} Job;

// Returns weight (k, c, t) of a merged group: zero where k and c come from different groups of the
// layer.
static float merged_weight(const SrConvPacking *p, const float *w, int k, int c, int t) {
    if (k / p->Kg != c / p->Cg)
        return 0;
    return w[((int64_t)k * p->Cg + c % p->Cg) * p->taps + t];
}

// Returns a unit of two weights.
static float pair(float low, float high) {
    SrBf16 both[2] = {sr_bf16_round(low), sr_bf16_round(high)};
    float unit;
    memcpy(&unit, both, sizeof unit);
    return unit;
}

static const float *group_weights(const Job *job, int g) {
    const SrConvPacking *p = job->p;
    return job->w + (int64_t)g * p->K * p->Cg * p->taps;
}

// Packs unit i = (group, block of output channels).
static void forward_block(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvPacking *p = job->p;
    int g = (int)(i / job->per_group), k0 = (int)(i % job->per_group) * p->kernels->block;
    int columns = SR_MIN(p->K - k0, p->kernels->block), width = sr__conv_width(p->kernels, columns);
    const float *w = group_weights(job, g);
    int units = p->C / p->kernels->depth;
    SR_ASSERT(g < p->groups && columns > 0 && units * p->kernels->depth == p->C);
    float *to =
        job->packed + g * sr__conv_pack_floats(p, units, p->K) + (int64_t)k0 * p->taps * units;
    if (p->merged == 1) {
        SrConvWeights weights = {w, p->K, p->C, p->taps};
        p->kernels->pack_forward(&weights, k0, columns, to);
        return;
    }
    int depth = p->kernels->depth;
    for (int t = 0; t < p->taps && sr__conv_picks(p); t++)
        for (int c = 0; c < p->Cg; c++)
            for (int j = 0; j < width; j++)
                to[((int64_t)t * p->C + c) * width + j] =
                    j < columns ? merged_weight(p, w, j, j / p->Kg * p->Cg + c, t) : 0;
    if (sr__conv_picks(p))
        return;
    for (int t = 0; t < p->taps; t++)
        for (int c = 0; c < p->C; c += depth)
            for (int j = 0; j < width; j++)
                *to++ = j >= columns ? 0
                        : depth == 1 ? merged_weight(p, w, k0 + j, c, t)
                                     : pair(merged_weight(p, w, k0 + j, c, t),
                                            merged_weight(p, w, k0 + j, c + 1, t));
}

// Packs unit i = (group, block of input channels).
static void backward_block(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvPacking *p = job->p;
    int g = (int)(i / job->per_group), c0 = (int)(i % job->per_group) * p->kernels->block;
    int columns = SR_MIN(p->C - c0, p->kernels->block), width = sr__conv_width(p->kernels, columns);
    const float *w = group_weights(job, g);
    int units = p->K / p->kernels->depth;
    SR_ASSERT(g < p->groups && columns > 0 && units * p->kernels->depth == p->K);
    float *to =
        job->packed + g * sr__conv_pack_floats(p, units, p->C) + (int64_t)c0 * p->taps * units;
    if (p->merged == 1) {
        SrConvWeights weights = {w, p->K, p->C, p->taps};
        p->kernels->pack_backward(&weights, c0, columns, to);
        return;
    }
    int depth = p->kernels->depth;
    for (int t = 0; t < p->taps && sr__conv_picks(p); t++)
        for (int k = 0; k < p->Kg; k++)
            for (int j = 0; j < width; j++)
                to[((int64_t)t * p->K + k) * width + j] =
                    j < columns ? merged_weight(p, w, j / p->Cg * p->Kg + k, j, t) : 0;
    if (sr__conv_picks(p))
        return;
    for (int t = 0; t < p->taps; t++)
        for (int k = 0; k < p->K; k += depth)
            for (int j = 0; j < width; j++)
                *to++ = j >= columns ? 0
                        : depth == 1 ? merged_weight(p, w, k, c0 + j, t)
                                     : pair(merged_weight(p, w, k, c0 + j, t),
                                            merged_weight(p, w, k + 1, c0 + j, t));
}

void sr__conv_pack_forward(const SrConvPacking *p, const float *w, float *packed) {
    Job job = {.p = p, .w = w, .packed = packed};
    job.per_group = (p->K + p->kernels->block - 1) / p->kernels->block;
    sr_parallel_for((int64_t)p->groups * job.per_group, forward_block, &job);
}

void sr__conv_pack_backward(const SrConvPacking *p, const float *w, float *packed) {
    Job job = {.p = p, .w = w, .packed = packed};
    job.per_group = (p->C + p->kernels->block - 1) / p->kernels->block;
    sr_parallel_for((int64_t)p->groups * job.per_group, backward_block, &job);
}

// Adds the diagonal of a merged group, all its rows.
static void unpack_merged(const Job *job, const float *part, int64_t part_stride, int width,
                          float *dw) {
    const SrConvPacking *p = job->p;
    for (int k = 0; k < p->K; k++)
        for (int c = 0; c < p->Cg; c++)
            for (int t = 0; t < p->taps; t++, dw++) {
                const float *from = part + ((int64_t)t * p->C + k / p->Kg * p->Cg + c) * width + k;
                float sum = from[0];
                for (int i = 1; i < job->parts; i++)
                    sum += from[i * part_stride];
                *dw += sum;
            }
}

// Adds unit i = (group, a vector of output channels): no two units write the same row of dw.
static void unpack_rows(void *arg, int64_t i, int thread) {
    (void)thread;
    const Job *job = arg;
    const SrConvPacking *p = job->p;
    int g = (int)(i / job->per_group), k0 = (int)(i % job->per_group) * p->kernels->lanes;
    int64_t group = sr__conv_pack_floats(p, p->C, p->K), part_stride = group * p->groups;
    SR_ASSERT(g < p->groups && k0 < p->K && job->parts > 0);
    int block = k0 / p->kernels->block * p->kernels->block; // where the block of k0 begins
    int width = sr__conv_width(p->kernels, SR_MIN(p->K - block, p->kernels->block));
    const float *part = job->part + g * group + (int64_t)block * p->taps * p->C;
    float *dw = job->dw + (int64_t)g * p->K * p->Cg * p->taps;
    if (p->merged > 1) {
        unpack_merged(job, part, part_stride, width, dw);
        return;
    }
    SrConvWeights shape = {NULL, p->K, p->C, p->taps};
    SrConvParts parts = {part, job->parts, width, part_stride};
    p->kernels->unpack(&shape, k0, &parts, dw, (int64_t)p->Cg * p->taps);
}

void sr__conv_unpack(const SrConvPacking *p, const float *part, int parts, float *dw) {
    Job job = {.p = p, .part = part, .parts = parts, .dw = dw};
    // A merged group is one vector wide, so it is a single unit.
    job.per_group = (p->K + p->kernels->lanes - 1) / p->kernels->lanes;
    sr_parallel_for((int64_t)p->groups * job.per_group, unpack_rows, &job);
}
