// Copies a source's values out in the layouts that users want: torch's (maps NCHW) or the one in
// memory (NHWC), tokens as a sequence or as a map of their patches.
#ifndef SR_TRAINER_FEATURES_FEATURE_VALUES_H
#define SR_TRAINER_FEATURES_FEATURE_VALUES_H

#include "trainer/features/feature_source.h"

// Returns the shape of a layer as torch has it, or with nhwc as it lies in memory.
SrShape sr_feature_shape(const SrFeatureSource *source, int layer, bool nhwc);
// Copies the first `rows` images of a layer in that layout.  A layer whose dimension 0 is not the
// batch is copied whole.
void sr_feature_copy(const SrFeatureSource *source, int layer, int rows, bool nhwc, float *to);

// Convert between (N, C, H, W) and (N, H, W, C); `shape` is the NHWC one.  Tokens (N, L, D) are
// transposed likewise; other shapes are copied.
void sr_layout_to_nhwc(const float *nchw, SrShape shape, float *nhwc);
void sr_layout_to_nchw(const float *nhwc, SrShape shape, float *nchw);

#endif
