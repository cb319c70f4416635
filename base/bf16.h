// bfloat16: the upper half of a float.  Range of a float, 8 bits of precision: what activations and their gradients
// are stored in under MODEL.AMP_PARAMS.  Arithmetic is done in float, and in pairs by vdpbf16ps
// (kernels/conv/conv_tile_simd.c); no number is ever added up in this type.
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

// To the nearest, ties to even.  A NaN stays one: rounding its bits could carry it over into an infinity or a zero.
static inline SrBf16 sr_bf16_round(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    return (SrBf16)(f != f ? bits >> 16 | 0x40u : rounded);
}

#endif
