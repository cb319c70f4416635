// Params of koleo.
#ifndef SR_KERNELS_LOSSES_KOLEO_H
#define SR_KERNELS_LOSSES_KOLEO_H

typedef struct { // koleo
    // number of batches that follow each other in the rows; neighbours are of the same batch
    int groups;
} SrKoleoParams;

#endif
