// Contract of a design: one SrConvDesign for each way to compute a convolution.  Only the files of
// kernels/conv/ include this file.
//
// Invariants
//  * A design never allocates; `scratch` is SR_ALIGN-aligned and holds scratch_bytes(s, pass).
//  * conv.c computes the gradient of the bias, except for designs that have backward_weight_bias.
//  * `w` of forward and backward_data is what prepare made, or the layer's own where `prepared`
//    asks for 0 bytes.
//  * backward_data overwrites dx or adds to it; backward_weight adds to dw (kernels/conv/conv.h).
#ifndef SR_KERNELS_CONV_CONV_DESIGN_H
#define SR_KERNELS_CONV_CONV_DESIGN_H

#include <stdint.h>

#include "base/compiler.h"
#include "kernels/conv/conv_shape.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

// x, w, y, dx, dw and dy have the shapes of kernels/conv/conv.h.  `prepare` fills the buffer
// `prepared`, whose size the function `prepared` returns; the passes then get it as w.
struct SrConvDesign {
    const char *name;
    unsigned bit; // of SrMachine.conv_designs; 0: always allowed
    // Estimated time of the pass in units of one multiply-add at full speed.  < 0: the design
    // cannot compute it.
    double (*cost)(const SrConvShape *s, SrConvPass pass);
    size_t (*scratch_bytes)(const SrConvShape *s, SrConvPass pass);
    // Size and key of the prepared weights (kernels/conv/conv.h).  Never called for the weight
    // gradient.
    SrConvPrepared (*prepared)(const SrConvShape *s, SrConvPass pass);
    void (*prepare)(const SrConvShape *s, SrConvPass pass, const float *w, float *prepared);
    // Number of row blocks of the sums.  NULL: forward takes no sums.
    int64_t (*sum_units)(const SrConvShape *s);
    void (*forward)(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                    void *y, void *scratch); // end NULL: nothing follows
    bool ends_with_relu_only;                // conv.c applies end->activate after the forward
    void (*backward_data)(const SrConvShape *s, const void *dy, const float *w, void *dx, bool add,
                          void *scratch);
    void (*backward_weight)(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            void *scratch);
    // backward_weight and backward_data in one walk over dy, with the bits of both; used where the
    // design computes both.  NULL: the design has no such walk.
    void (*backward_both)(const SrConvShape *s, const void *x, const void *dy, const float *w,
                          void *dx, bool add, float *dw, void *scratch);
    // backward_weight that also adds the row sums of dy to dbias (K) while dy is in the cache, for
    // shapes for which `sums_bias` is true.  NULL: the design has none.
    bool (*sums_bias)(const SrConvShape *s);
    void (*backward_weight_bias)(const SrConvShape *s, const void *x, const void *dy, float *dw,
                                 float *dbias, void *scratch);
};

extern const SrConvDesign sr__conv_plain, sr__conv_direct, sr__conv_winograd2, sr__conv_winograd3,
    sr__conv_grouped, sr__conv_winograd4, sr__conv_padded, sr__conv_tiles, sr__conv_tile_stem;

// Computes y and applies `end`, which is not NULL, whatever part of it the design takes.
void sr__conv_design_forward(const SrConvDesign *design, const SrConvShape *s, const void *x,
                             const float *w, const SrConvEnd *end, void *y, void *scratch);

static inline SrConvPrepared sr__conv_prepared(unsigned bit, const SrConvShape *s, SrConvPass pass,
                                               int64_t floats) {
    uint64_t key = 64 * (uint64_t)bit + 4 * (uint64_t)s->type + (uint64_t)pass;
    return (SrConvPrepared){sizeof(float) * (size_t)floats, key};
}

// Hands out scratch in order; each piece starts at a cache line.  With base NULL the calls only
// count bytes, so that a design states its layout once.
typedef struct {
    char *base;
    size_t used;
} SrConvScratch;
static inline void *sr__conv_take(SrConvScratch *s, size_t bytes) {
    char *piece = s->base ? s->base + s->used : NULL;
    s->used += (bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
    return piece;
}

// Returns whether an output of that many units, floats or pairs of bfloat16, bypasses the caches:
// no cache holds it until it is read, and pixels of C units are whole cache lines.
static inline bool sr__conv_streams(const float *out, int64_t units, int C) {
    enum { STREAMED = 3 << 20, LINE = SR_ALIGN / (int)sizeof(float) };
    return units >= STREAMED && C % LINE == 0 && (uintptr_t)out % SR_ALIGN == 0;
}

// Applies `end` to n outputs y of one pixel, channels k to k + n - 1, inside the whole output base
// (N, P, Q, K).
static inline void sr__conv_finish(const SrMachine *machine, const SrConvEnd *end, SrDtype type,
                                   const void *base, void *y, int k, int n) {
    const char *residual = end->residual; // laid out as y is
    if (end->bias || residual || end->relu)
        sr__rows(machine)->finish(
            type, y, end->bias ? end->bias + k : NULL,
            residual ? residual + ((const char *)y - (const char *)base) : NULL, end->relu, n);
    if (end->activate)
        end->activate(type, y, y, n);
}

static inline int sr__conv_ceil_div(int a, int b) { return (a + b - 1) / b; }

#endif
