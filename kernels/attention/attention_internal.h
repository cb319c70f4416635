// Declarations shared by attention.c (the op and its reference) and its forward and backward
// (attention_tiles.c, attention_whole.c).
#ifndef SR_KERNELS_ATTENTION_ATTENTION_INTERNAL_H
#define SR_KERNELS_ATTENTION_ATTENTION_INTERNAL_H

#include "kernels/attention/attention.h"
#include "kernels/core/op_util.h"

enum {
    SR_ATTENTION_QUERIES = 80, // queries of a tile at most
    // Keys of a tile: scores and their gradient, 2 * 90 KB, stay in the second-level cache.  The
    // 257 tokens of 16 x 16 patches and a class token make one tile.
    SR_ATTENTION_KEYS = 272,
    // Shares of the images, each with its own sum of the bias' gradient.
    SR_ATTENTION_SHARES = 4,
};

// x as (images or windows, L, 3 D); the first Q tokens have queries.
typedef struct {
    int64_t images;
    int L, D, E, d, Q;
} SrAttentionSizes;

SrAttentionSizes sr__attention_sizes(const SrAttentionParams *p, SrShape x);

static inline bool sr__attention_is_masked(const SrAttentionParams *p) { return p->windows_h > 0; }

// floats of scratch of a thread
size_t sr__attention_thread_floats(const SrAttentionSizes *s, SrDtype type);
// Returns the factor on the scores of heads of d channels.
double sr__attention_scale(const SrAttentionParams *p, int d);
SrStatus sr__attention_onnx(SrOnnxCall *call);
// Writes side (L) of window `i` of its image: tokens with different numbers do not see each other.
void sr__attention_sides(const SrAttentionParams *p, int i, float *side);
// Draws keep (n): which of the n probabilities of a tile stay, for one query.  Each query and tile
// has its own random stream.
void sr__attention_draw(uint8_t *keep, int n, double p, uint64_t seed, int64_t iteration,
                        uint64_t key, int64_t query, int tile);

void sr__attention_forward(const SrOpCall *call);
void sr__attention_backward(const SrOpCall *call);

// attention_whole.c: heads whose scores are made at once.  sr__attention_is_whole says whether
// calls of these sizes are computed there on the machine; the next function returns the floats of a
// thread's scratch.
bool sr__attention_is_whole(const SrMachine *machine, const SrAttentionParams *p,
                            const SrAttentionSizes *s, SrDtype type, bool bias);
size_t sr__attention_whole_floats(const SrMachine *machine, const SrAttentionSizes *s,
                                  SrDtype type);
void sr__attention_whole_forward(const SrOpCall *call);
void sr__attention_whole_backward(const SrOpCall *call);

#endif
