// Philox4x32-10 and the distributions drawn from it.
//
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3:
// ten rounds of two 32x32 -> 64 multiplications and a Weyl sequence on the key.
#include "base/rng.h"

#include <math.h>

enum { ROUNDS = 10 };
static const uint32_t mul0 = 0xD2511F53u, mul1 = 0xCD9E8D57u;   // the paper's multipliers
static const uint32_t weyl0 = 0x9E3779B9u, weyl1 = 0xBB67AE85u; // golden ratio, sqrt(3) - 1

void sr_rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
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

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection, so that two seeds
// never share a key under one purpose.
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

// What the number is for does not fit beside the seed in Philox's 192 bits of input, so purpose,
// view and stage are mixed into the key; sample and epoch are the counter as they stand.
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

double sr_rng_uniform(SrRng *rng) {
    uint64_t high = sr_rng_u32(rng) >> 5, low = sr_rng_u32(rng) >> 6; // 27 + 26 bits
    return (double)(high << 26 | low) * 0x1p-53;
}

// Rounding in low + (high - low) * u can land on `high`, which the range excludes.
double sr_rng_range(SrRng *rng, double low, double high) {
    double x = low + (high - low) * sr_rng_uniform(rng);
    return x < high || low == high ? x : nextafter(high, low);
}

// Lemire: "Fast random integer generation in an interval", TOMACS 2019: the high word of a product,
// redrawn in the few cases where the low word shows that a value would come up too often.
uint32_t sr_rng_below(SrRng *rng, uint32_t n) {
    uint64_t product = (uint64_t)sr_rng_u32(rng) * n;
    if ((uint32_t)product < n) {
        uint32_t surplus = (0u - n) % n;
        while ((uint32_t)product < surplus)
            product = (uint64_t)sr_rng_u32(rng) * n;
    }
    return (uint32_t)(product >> 32);
}

// Box-Muller's cosine branch only: the sine would be a draw to remember, and a stream has no memory
// beyond its counter.
double sr_rng_normal(SrRng *rng) {
    double radius = sqrt(-2.0 * log(1.0 - sr_rng_uniform(rng))); // 1 - [0, 1) is never 0
    return radius * cos(6.283185307179586476925 * sr_rng_uniform(rng));
}

void sr_rng_permutation(SrRng *rng, uint32_t *out, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = sr_rng_below(rng, i + 1); // the inside-out form fills and shuffles in one pass
        out[i] = out[j];
        out[j] = i;
    }
}

uint64_t sr_rng_hash(const char *name) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        hash = (hash ^ *p) * 0x100000001B3u;
    return hash;
}
