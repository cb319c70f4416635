// Params of the poolings over a map, with windows or adaptive.
#ifndef SR_KERNELS_POOL_POOL2D_H
#define SR_KERNELS_POOL_POOL2D_H

#include <stdbool.h>

typedef struct {              // max_pool2d, avg_pool2d
    int kernel_h, kernel_w;   // kernel_w 0: as kernel_h
    int stride_h, stride_w;   // 0: as the kernel (PyTorch's default)
    int padding_h, padding_w; // padding_w -1: as padding_h
    bool ceil_mode;           // max_pool2d only
    bool exclude_pad; // avg_pool2d only: divides by the pixels inside (count_include_pad=False)
} SrPool2dParams;

typedef struct {      // adaptive_avg_pool2d, adaptive_max_pool2d
    int out_h, out_w; // 0: 1 (global)
} SrAdaptivePool2dParams;

#endif
