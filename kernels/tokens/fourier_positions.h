// Params of fourier_positions.
#ifndef SR_KERNELS_TOKENS_FOURIER_POSITIONS_H
#define SR_KERNELS_TOKENS_FOURIER_POSITIONS_H

typedef struct {       // fourier_positions: (images, height, width, 2 features)
    int images;        // number of equal copies
    int height, width; // size of the map
    int features;      // numbers for a row's place, and as many for a column's; even
} SrFourierPositionsParams;

#endif
