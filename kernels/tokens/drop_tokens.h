// Params of drop_tokens.
#ifndef SR_KERNELS_TOKENS_DROP_TOKENS_H
#define SR_KERNELS_TOKENS_DROP_TOKENS_H

#include <stdint.h>

typedef struct { // drop_tokens
    int prefix;  // tokens that always stay
    int kept;    // other tokens that stay
} SrDropTokensParams;

// Writes a permutation of 0 to tokens - 1, the same for all images; a call keeps its first
// elements.
void sr_drop_tokens_draw(uint32_t *order, int tokens, uint64_t seed, int64_t iteration,
                         uint64_t node_key);

#endif
