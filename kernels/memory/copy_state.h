// Params of copy_state.
#ifndef SR_KERNELS_MEMORY_COPY_STATE_H
#define SR_KERNELS_MEMORY_COPY_STATE_H

typedef struct { // copy_state
    int count;   // numbers in the two state entries
} SrCopyStateParams;

#endif
