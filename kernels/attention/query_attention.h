// Params of query_attention.
#ifndef SR_KERNELS_ATTENTION_QUERY_ATTENTION_H
#define SR_KERNELS_ATTENTION_QUERY_ATTENTION_H

typedef struct { // query_attention
    int num_heads;
} SrQueryAttentionParams;

#endif
