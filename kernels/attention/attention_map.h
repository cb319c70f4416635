// Params of attention_map.
#ifndef SR_KERNELS_ATTENTION_ATTENTION_MAP_H
#define SR_KERNELS_ATTENTION_ATTENTION_MAP_H

typedef struct { // attention_map
    int num_heads;
    double scale; // 0: 1 / sqrt(numbers of a head)
} SrAttentionMapParams;

#endif
