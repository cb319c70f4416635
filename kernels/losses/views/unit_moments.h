// Params of unit_moments.
#ifndef SR_KERNELS_LOSSES_VIEWS_UNIT_MOMENTS_H
#define SR_KERNELS_LOSSES_VIEWS_UNIT_MOMENTS_H

typedef struct {
    int num_views; // views per image
    double scale_weight, center_weight;
} SrUnitMomentsParams;

#endif
