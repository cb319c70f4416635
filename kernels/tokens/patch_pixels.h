// Params of patch_pixels.
#ifndef SR_KERNELS_TOKENS_PATCH_PIXELS_H
#define SR_KERNELS_TOKENS_PATCH_PIXELS_H

typedef struct { // patch_pixels
    int patch;   // side in pixels
} SrPatchPixelsParams;

#endif
