// Params of fourier_positions.
#ifndef SR_KERNELS_FOURIER_POSITIONS_H
#define SR_KERNELS_FOURIER_POSITIONS_H

typedef struct {       // fourier_positions: (images, height, width, 2 features)
    int images;        // the same for each
    int height, width; // of the map
    int features;      // of a row's place, and as many of a column's; even
} SrFourierPositionsParams;

#endif
