// Params of gather_tokens and scatter_tokens.
#ifndef SR_KERNELS_TOKENS_GATHER_TOKENS_H
#define SR_KERNELS_TOKENS_GATHER_TOKENS_H

typedef struct { // gather_tokens
    int prefix;  // first tokens, which always stay
} SrGatherTokensParams;

typedef struct { // scatter_tokens
    int prefix;  // first tokens, which keep their place
    int length;  // tokens of the sequence after them
} SrScatterTokensParams;

#endif
