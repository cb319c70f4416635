// Params of windows.
#ifndef SR_KERNELS_TOKENS_WINDOWS_H
#define SR_KERNELS_TOKENS_WINDOWS_H

#include <stdbool.h>

typedef struct { // windows: (N, H, W, C) <-> (N, windows, window_h window_w, C)
    int window_h, window_w;
    int shift_h, shift_w; // the map is rolled up and left by this before the cut
    bool merge;           // the inverse, to a map of height x width
    int height, width;
} SrWindowsParams;

#endif
