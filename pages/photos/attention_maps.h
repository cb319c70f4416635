// Pictures of the last attention of a vision transformer.  For some images they show the
// attention of the class token to each patch, per head and over all heads.  Without a class token
// they show the mean over all tokens.  Source: Caron et al., "Emerging Properties in
// Self-Supervised Vision Transformers", ICCV 2021, figure 1.
#ifndef SR_PAGES_PHOTOS_ATTENTION_MAPS_H
#define SR_PAGES_PHOTOS_ATTENTION_MAPS_H

#include "base/text/text.h"
#include "trainer/eval/baselines.h"

enum { SR_ATTENTION_SIDE = 96 }; // pixels of a picture

typedef struct {
    int n;          // number of images; 0: the trunk has no such attention
    int heads;      // number of heads, E
    int rows, cols; // grid of patches
    float *share;   // (n, E, rows, cols) share of attention; each map sums to 1
    uint8_t *rgb;   // (n, SIDE, SIDE, 3) images, SIDE = SR_ATTENTION_SIDE
} SrAttentionMaps;

// Computes maps of the first readable test images.
SrStatus sr_attention_maps_fill(SrModel *model, SrBaselines *sides, SrAttentionMaps *out);
void sr_attention_maps_deinit(SrAttentionMaps *maps); // legal for a zeroed struct

// Computes share (E, rows, cols) from the attention att (E, L, L) of one image.  The first
// L - rows * cols tokens are no patches.
void sr_attention_shares(const float *att, int E, int L, int rows, int cols, float *share);

// Appends the maps as HTML; nothing if there are none.
SrStatus sr_attention_maps_add(const SrAttentionMaps *maps, SrText *out);

#endif
