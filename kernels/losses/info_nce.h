// Params of info_nce and nearest_key.
#ifndef SR_KERNELS_LOSSES_INFO_NCE_H
#define SR_KERNELS_LOSSES_INFO_NCE_H

typedef struct { // info_nce
    double temperature;
} SrInfoNceParams;

typedef struct { // nearest_key
    int queue_size;
} SrNearestKeyParams;

#endif
