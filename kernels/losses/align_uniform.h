// Params of align_uniform.
#ifndef SR_KERNELS_LOSSES_ALIGN_UNIFORM_H
#define SR_KERNELS_LOSSES_ALIGN_UNIFORM_H

typedef struct {
    double alpha;  // power of the distance between the two views of an image
    double t;      // factor t of exp(-t |x_i - x_j|^2)
    double lambda; // weight of uniformity
} SrAlignUniformParams;

#endif
