// Params of gated_attention.
#ifndef SR_KERNELS_ATTENTION_GATED_ATTENTION_H
#define SR_KERNELS_ATTENTION_GATED_ATTENTION_H

typedef struct { // gated_attention
    int num_heads;
    double scale;      // 0: 1 / sqrt(numbers of a head)
    int locality_dim;  // columns of the positions' weights for each of dx, dy and dx^2 + dy^2
    int height, width; // size of the map whose pixels are the tokens
} SrGatedAttentionParams;

#endif
