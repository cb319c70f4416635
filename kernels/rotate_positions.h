// Params of rotate_positions.
#ifndef SR_KERNELS_ROTATE_POSITIONS_H
#define SR_KERNELS_ROTATE_POSITIONS_H

typedef struct { // rotate_positions
    int num_heads;
    int prefix;  // number of first tokens that have no position: class token, registers
    int h, w;    // grid of the patches, which follow in row order
    double base; // ratio between the longest and the shortest period; 0: 100
} SrRotatePositionsParams;

#endif
