// Params of select_tokens.
#ifndef SR_KERNELS_SELECT_TOKENS_H
#define SR_KERNELS_SELECT_TOKENS_H

#include <stdbool.h>

typedef struct { // select_tokens: x[:, begin : begin + count]
    int begin, count;
    bool squeeze; // one token: (N, D)
} SrSelectTokensParams;

#endif
