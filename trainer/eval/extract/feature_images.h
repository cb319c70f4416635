// Single images as an evaluation takes them: decoded, and through the transforms of evaluation.
// Not batches of a data set (trainer/data/data_split.h), which come out of the same transforms.
#ifndef SR_TRAINER_EVAL_EXTRACT_FEATURE_IMAGES_H
#define SR_TRAINER_EVAL_EXTRACT_FEATURE_IMAGES_H

#include "data/transform.h"
#include "trainer/config/config.h"
#include "trunks/presets.h"

typedef struct {
    SrArena arena;
    SrPipeline *pipeline;
    int h, w;  // of what comes out
    bool fast; // DATA.TEST.FAST_PIXELS
} SrFeatureImages;

// config: its transforms of evaluation; NULL: those of the preset's publisher, or torchvision's if
// that is NULL too.  h x w is what must come out, 0 x 0: whatever the configuration says, the
// training's first view where it says nothing, the preset's size without one.
SrStatus sr_feature_images_open(const SrConfig *config, const SrPreset *preset, int h, int w,
                                SrFeatureImages *out);
// Does so without cutting anything off: the whole image is resized to h x w, whatever its shape,
// and those transforms of the evaluation follow that change no size.  config NULL: preset's
// statistics of pixels, or ImageNet's if that is NULL too.
SrStatus sr_feature_images_open_whole(const SrConfig *config, const SrPreset *preset, int h, int w,
                                      SrFeatureImages *out);
void sr_feature_images_close(SrFeatureImages *images); // legal for a zeroed struct

// SR_ERR_CONFIG: the images are not RGB of 8 bits, which is all that `what` can read.
SrStatus sr_feature_images_need_rgb(const SrFeatureImages *images, const char *what);
// bytes: an image file; x: (C, h, w), C is DATA.CHANNELS.  Thread-safe.  SR_ERR_IO: no image.
SrStatus sr_feature_images_read(const SrFeatureImages *images, const void *bytes, size_t n,
                                float *x);

#endif
