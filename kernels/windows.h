// Params of windows.
#ifndef SR_KERNELS_WINDOWS_H
#define SR_KERNELS_WINDOWS_H

#include <stdbool.h>

typedef struct { // windows: (N, H, W, C) <-> (N, windows, window_h window_w, C)
    int window_h, window_w;
    int shift_h, shift_w; // the map is rolled up and left by this before it is cut
    bool merge;           // the way back, to a map of
    int height, width;
} SrWindowsParams;

#endif
