// Linear probe of dense features: a batch norm and a 1 x 1 layer on frozen maps, whose scores are
// resized to the pixels by bilinear interpolation (the linear head of Oquab et al., "DINOv2", TMLR
// 2024, section 7.4).
//
// A map is frozen, so the batch norm is the standardisation of each channel by mean and deviation
// over all training maps; its affine part is one with the layer.  The layer is affine, so the
// scores of a pixel are those of its interpolated features.  Each step of AdamW draws pixels of the
// training images: an unbiased gradient of the mean cross entropy of an image's pixels.
//
// The bits do not depend on the number of threads.
#ifndef SR_MEASURE_PROBES_PIXEL_PROBE_H
#define SR_MEASURE_PROBES_PIXEL_PROBE_H

#include "measure/confusion.h"

typedef struct {
    const float *map;     // (h, w, d)
    const uint8_t *label; // (H, W) classes, or SR_CONFUSION_IGNORED
    int H, W;
} SrProbeImage;

typedef struct {
    int h, w, d;   // of all maps
    int classes;   // at most SR_CONFUSION_CLASSES
    int steps;     // updates
    int pixels;    // drawn per step
    double rate;   // at the start; it falls to 0 along a cosine
    double decay;  // weight decay, times the rate
    uint64_t seed; // of the draws
} SrPixelProbeOptions;
#define SR_PIXEL_PROBE_DEFAULT \
    ((SrPixelProbeOptions){.steps = 1000, .pixels = 2048, .rate = 2e-3, .decay = 1e-2})

typedef struct {
    int classes, d;
    float *w;    // (classes, d + 1) of maps as they are; the bias last
    double loss; // mean cross entropy of the last tenth of the steps
} SrPixelProbe;

// Fits the probe to n images.  SR_ERR_CONFIG: no pixel of an image has a class.
SrStatus sr_pixel_probe_fit(const SrPixelProbeOptions *options, const SrProbeImage *images,
                            int64_t n, SrPixelProbe *out);
void sr_pixel_probe_deinit(SrPixelProbe *probe); // legal for a zeroed struct
// Computes scores (positions, classes) of a map (positions, d).
void sr_pixel_probe_scores(const SrPixelProbe *probe, const float *map, int positions,
                           float *scores);

// Computes the mean cross entropy of rows x (n, width), whose last number is 1, and its gradient.
//   w      (classes, width)
//   label  (n) classes; SR_CONFUSION_IGNORED leaves a row out
//   score  (n, classes) work space
//   dw     (classes, width)
double sr__pixel_probe_gradient(const float *x, const uint8_t *label, int n, int width, int classes,
                                const float *w, float *score, float *dw);

#endif
