// Params of group_norm.
#ifndef SR_KERNELS_NORM_GROUP_NORM_H
#define SR_KERNELS_NORM_GROUP_NORM_H

typedef struct { // group_norm; one group is VISSL's LayerNorm of a ResNet
    int num_groups;
    double eps; // PyTorch: 1e-5
} SrGroupNormParams;

#endif
