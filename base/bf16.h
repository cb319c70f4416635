// bfloat16, the upper half of a float: its range with 8 bits of precision.  Activations and their
// gradients are stored in it under MODEL.AMP_PARAMS.  Arithmetic uses float, or vdpbf16ps on pairs
// (kernels/conv/conv_tile_simd.c).  No sum is kept in bfloat16.
#ifndef SR_BASE_BF16_H
#define SR_BASE_BF16_H

#include <stdint.h>
#include <string.h>

typedef uint16_t SrBf16;

static inline float sr_bf16_float(SrBf16 h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

// Rounds to the nearest, ties to even.  A NaN is handled apart, because rounding its bits could
// carry into an infinity or a zero.
static inline SrBf16 sr_bf16_round(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    return (SrBf16)(f != f ? bits >> 16 | 0x40u : rounded);
}

#endif
