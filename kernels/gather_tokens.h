// Params of gather_tokens and scatter_tokens.
#ifndef SR_KERNELS_GATHER_TOKENS_H
#define SR_KERNELS_GATHER_TOKENS_H

typedef struct { // gather_tokens
    int prefix;  // tokens that always stay, in front
} SrGatherTokensParams;

typedef struct { // scatter_tokens
    int prefix;  // tokens that keep their place, in front
    int length;  // of the sequence behind them
} SrScatterTokensParams;

#endif
