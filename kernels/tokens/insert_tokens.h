// Params of insert_tokens.
#ifndef SR_KERNELS_TOKENS_INSERT_TOKENS_H
#define SR_KERNELS_TOKENS_INSERT_TOKENS_H

typedef struct { // insert_tokens: (N, L, D) -> (N, L + count, D)
    int at;      // tokens that stay before
    int count;
} SrInsertTokensParams;

#endif
