// Params of select_tokens.
#ifndef SR_KERNELS_TOKENS_SELECT_TOKENS_H
#define SR_KERNELS_TOKENS_SELECT_TOKENS_H

#include <stdbool.h>

typedef struct { // select_tokens: x[:, begin : begin + count]
    int begin, count;
    bool squeeze; // a single token comes out as (N, D); false: (N, 1, D)
} SrSelectTokensParams;

#endif
