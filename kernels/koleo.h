// Params of koleo.
#ifndef SR_KERNELS_KOLEO_H
#define SR_KERNELS_KOLEO_H

typedef struct { // koleo
    int groups; // rows are so many batches, one behind the other; neighbours are sought inside each
} SrKoleoParams;

#endif
