// Where the last attention of a vision transformer looks: for some images what the class token (without one, the mean of
// all tokens) takes of each patch, by head and over all heads, as in Caron et al., "Emerging Properties in
// Self-Supervised Vision Transformers", figure 1.
#ifndef SR_PAGES_ATTENTION_MAPS_H
#define SR_PAGES_ATTENTION_MAPS_H

#include "base/text.h"
#include "trainer/eval/baselines.h"

enum { SR_ATTENTION_SIDE = 96 }; // pixels of a picture

typedef struct {
    int n;          // images; 0: the trunk has no such attention
    int heads;      // E
    int rows, cols; // of patches
    float *share;   // (n, E, rows, cols): of what goes to patches, sums to 1 over each map
    uint8_t *rgb;   // (n, SIDE, SIDE, 3)
} SrAttentionMaps;

// Of the first test images that can be read.
SrStatus sr_attention_maps_fill(SrModel *model, SrBaselines *sides, SrAttentionMaps *out);
void sr_attention_maps_deinit(SrAttentionMaps *maps); // a zeroed one is fine

// att: (E, L, L), one image.  share: (E, rows, cols).  The first L - rows * cols tokens are no patches.
void sr_attention_shares(const float *att, int E, int L, int rows, int cols, float *share);

// A part of a page; nothing where there are no maps.
SrStatus sr_attention_maps_add(const SrAttentionMaps *maps, SrText *out);

#endif
