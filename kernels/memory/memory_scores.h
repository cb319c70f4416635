// Params of memory_scores and memory_move, and how both find a row of the memory.
#ifndef SR_KERNELS_MEMORY_MEMORY_SCORES_H
#define SR_KERNELS_MEMORY_MEMORY_SCORES_H

#include <stddef.h>

#include "kernels/core/op_util.h"

typedef struct { // memory_scores
    int size;    // rows N of the memory
} SrMemoryScoresParams;

typedef struct { // memory_move
    int size;
    double momentum;
} SrMemoryMoveParams;

// Returns row `index` of a memory (size, D) that is followed by the rows of further (n, D), or
// NULL.  Returns NULL for an index outside both.
static inline const float *sr__memory_row(const float *memory, int size, const SrTensor *further,
                                          int D, int64_t index) {
    if (index < 0)
        return NULL;
    if (index < size)
        return memory + index * D;
    if (!further || index >= size + (int64_t)further->shape.d[0])
        return NULL;
    return (const float *)further->data + (index - size) * D;
}

#endif
