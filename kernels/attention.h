// Params of attention.
#ifndef SR_KERNELS_ATTENTION_H
#define SR_KERNELS_ATTENTION_H

typedef struct { // attention
    int num_heads;
    double scale; // 0: 1 / sqrt(numbers of a head)
} SrAttentionParams;

#endif
