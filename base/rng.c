// Philox4x32-10 and the distributions drawn from it.
//
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3:
// ten rounds of two 32x32 -> 64 multiplications and a Weyl sequence on the key.
#include "base/rng.h"

#include <math.h>

#include "base/compiler.h"

enum {
    ROUNDS = 10,
    BLOCKS = 64, // blocks per turn of sr_rng_fill_range, two numbers each
};
static const uint32_t mul0 = 0xD2511F53u, mul1 = 0xCD9E8D57u;   // the paper's multipliers
static const uint32_t weyl0 = 0x9E3779B9u, weyl1 = 0xBB67AE85u; // golden ratio, sqrt(3) - 1

SR_INLINE void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)mul0 * c0, p1 = (uint64_t)mul1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += weyl0;
        k1 += weyl1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void sr_rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    philox(counter, key, out);
}

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection, so that two seeds
// never share a key under one purpose.
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

// Mixes purpose, view and stage into the key, because they do not fit Philox's 192 bits of input
// next to the seed.  Sample and epoch become the counter unchanged.
SrRng sr_rng(uint64_t seed, SrRngPurpose purpose, uint64_t epoch, uint64_t sample, uint32_t view,
             uint32_t stage) {
    uint64_t use = (uint64_t)purpose << 32 | (uint64_t)(view & 0xFFFF) << 16 | (stage & 0xFFFF);
    uint64_t key = mix(seed ^ mix(use + 0x9E3779B97F4A7C15u));
    return (SrRng){
        .key = {(uint32_t)key, (uint32_t)(key >> 32)},
        .counter = {0, (uint32_t)epoch, (uint32_t)sample, (uint32_t)(sample >> 32)},
        .used = 4,
    };
}

uint32_t sr_rng_u32(SrRng *rng) {
    if (rng->used == 4) {
        sr_rng_philox(rng->counter, rng->key, rng->block);
        rng->counter[0]++;
        rng->used = 0;
    }
    return rng->block[rng->used++];
}

// Makes a number in [0, 1) of 27 + 26 bits from two draws.
SR_INLINE double uniform(uint32_t first, uint32_t second) {
    return (double)(int64_t)((uint64_t)(first >> 5) << 26 | second >> 6) * 0x1p-53;
}

double sr_rng_uniform(SrRng *rng) {
    uint32_t first = sr_rng_u32(rng), second = sr_rng_u32(rng);
    return uniform(first, second);
}

// Maps u to [low, high).  Rounding can give `high`, which becomes `below`.
SR_INLINE double in_range(double u, double low, double high, double below) {
    double x = low + (high - low) * u;
    return x < high || low == high ? x : below;
}

double sr_rng_range(SrRng *rng, double low, double high) {
    return in_range(sr_rng_uniform(rng), low, high, nextafter(high, low));
}

// Computes BLOCKS blocks from `counter` on, two numbers each.
SR_VECTOR_CLONES
static void fill_blocks(const SrRng *rng, double low, double high, double below,
                        float out[2 * BLOCKS]) {
    uint32_t draw[4][BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t c[4] = {rng->counter[0] + i, rng->counter[1], rng->counter[2], rng->counter[3]},
                 block[4];
        philox(c, rng->key, block);
        for (int j = 0; j < 4; j++)
            draw[j][i] = block[j];
    }
    for (int i = 0; i < BLOCKS; i++) {
        out[2 * i] = (float)in_range(uniform(draw[0][i], draw[1][i]), low, high, below);
        out[2 * i + 1] = (float)in_range(uniform(draw[2][i], draw[3][i]), low, high, below);
    }
}

void sr_rng_fill_range(SrRng *rng, double low, double high, float *out, int64_t n) {
    double below = nextafter(high, low);
    for (; n >= 2 * BLOCKS; n -= 2 * BLOCKS, out += 2 * BLOCKS, rng->counter[0] += BLOCKS)
        fill_blocks(rng, low, high, below, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)in_range(sr_rng_uniform(rng), low, high, below);
}

// Takes the high word of a product, and draws again in the few cases whose low word would favour a
// value.  Lemire: "Fast random integer generation in an interval", TOMACS 2019.
uint32_t sr_rng_below(SrRng *rng, uint32_t n) {
    uint64_t product = (uint64_t)sr_rng_u32(rng) * n;
    if ((uint32_t)product < n) {
        uint32_t surplus = (0u - n) % n;
        while ((uint32_t)product < surplus)
            product = (uint64_t)sr_rng_u32(rng) * n;
    }
    return (uint32_t)(product >> 32);
}

// Uses Box-Muller's cosine only: a stream cannot store the second number, the sine, for the next
// call.
double sr_rng_normal(SrRng *rng) {
    double radius = sqrt(-2.0 * log(1.0 - sr_rng_uniform(rng))); // 1 - [0, 1) is never 0
    return radius * cos(6.283185307179586476925 * sr_rng_uniform(rng));
}

// Returns the logarithm of a draw from Gamma(a, 1).  For a < 1 the draw is one from Gamma(a + 1,
// 1) times u^(1/a).  That factor can underflow for a small a, hence the logarithm.
static double log_gamma_draw(SrRng *rng, double a) {
    double below = a < 1 ? log(1.0 - sr_rng_uniform(rng)) / a : 0;
    double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = sr_rng_normal(rng), v = 1 + c * x;
        double u = 1.0 - sr_rng_uniform(rng);
        v = v * v * v;
        if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v))
            return log(d * v) + below;
    }
}

double sr_rng_beta(SrRng *rng, double a, double b) {
    double x = log_gamma_draw(rng, a), y = log_gamma_draw(rng, b);
    return 1 / (1 + exp(y - x));
}

void sr_rng_permutation(SrRng *rng, uint32_t *out, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = sr_rng_below(rng, i + 1); // the inside-out form fills and shuffles in one pass
        out[i] = out[j];
        out[j] = i;
    }
}
