// Params of cosine_qk.
#ifndef SR_KERNELS_ATTENTION_COSINE_QK_H
#define SR_KERNELS_ATTENTION_COSINE_QK_H

typedef struct { // cosine_qk
    int num_heads;
} SrCosineQkParams;

#endif
