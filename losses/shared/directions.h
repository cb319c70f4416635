// Random directions onto which a loss projects its embeddings: LeJEPA and VISReg.  Each step draws
// new ones, the same on every rank.
#ifndef SR_LOSSES_SHARED_DIRECTIONS_H
#define SR_LOSSES_SHARED_DIRECTIONS_H

#include <stdint.h>

#include "losses/loss.h"

typedef struct {
    int D, slices;
    uint64_t seed;
    SrNodeId input; // (D, slices), columns of length 1
} SrDirections;

// Adds the input "directions" for the embeddings x (rows, D).
void sr_directions_build(SrLossContext *ctx, SrNodeId x, int slices, SrDirections *out);
// The hook before_step of a loss whose state is SrDirections: fills each column with normal numbers
// and scales it to length 1, which makes all directions equally likely.
void sr_directions_draw(void *directions, const SrLossStep *step);

#endif
