// Params of l2_normalize: torch.nn.functional.normalize of rows.
#ifndef SR_KERNELS_NORM_L2_NORMALIZE_H
#define SR_KERNELS_NORM_L2_NORMALIZE_H

typedef struct { // l2_normalize
    double eps;  // 0: 1e-12
} SrL2NormalizeParams;

#endif
