// Patches of an image from the middle layers of a trunk, and heat maps from scores of patches
// (Roth et al., "Towards Total Recall in Industrial Anomaly Detection", CVPR 2022, section 3.1;
// Defard et al., "PaDiM", ICPR 2020).
#ifndef SR_MEASURE_PATCHES_PATCH_MAPS_H
#define SR_MEASURE_PATCHES_PATCH_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// Value of one layer for one image.
typedef struct {
    const float *x; // (h, w, c)
    int h, w, c;
} SrPatchLayer;

// Writes one row per position of the first layer: the channels of all layers next to each other.
// Each layer is averaged over 3 x 3 positions, zeros outside counting (torch's AvgPool2d(3, 1, 1)).
// Later layers are resized to the first by bilinear interpolation (torch's interpolate,
// align_corners = False).  pool false: no average, as in PaDiM.  out: (h * w of the first layer,
// sum of c).  SR_ERR_MEMORY: out of memory.
SrStatus sr_patch_embed(const SrPatchLayer *layer, int n_layers, bool pool, float *out);

// Where position `at` of `to` positions lies among `from` positions, by bilinear interpolation.
typedef struct {
    int low, high; // the two neighbours
    float part;    // weight of `high`, 0 to 1
} SrPatchPlace;
SrPatchPlace sr_patch_place(int at, int from, int to);

// Resizes a map (h, w, c) to (height, width, c) by bilinear interpolation, as torch's interpolate
// with align_corners = False does.
void sr_patch_resize(const float *map, int h, int w, int c, int height, int width, float *out);
// Resizes scores (h, w, c) in the same way and finds the channel with the largest one for each
// pixel; ties go to the smaller channel.  c: 1 to 256.  label: (height, width).
void sr_patch_argmax(const float *score, int h, int w, int c, int height, int width,
                     uint8_t *label);

// Resizes scores of patches to an image by bilinear interpolation and smooths them by a Gaussian of
// `sigma` pixels (4 in the papers), cut off at 4 sigma and mirrored at the borders.  score: (h, w).
// heat: (height, width).  SR_ERR_MEMORY: out of memory.
SrStatus sr_patch_heat(const float *score, int h, int w, int height, int width, double sigma,
                       float *heat);

#endif
