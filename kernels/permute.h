// Params of permute.
#ifndef SR_KERNELS_PERMUTE_H
#define SR_KERNELS_PERMUTE_H

// Where torch has the channels of the result, which are last in memory in any case (SrNode.channels_last).
typedef enum { SR_CHANNELS_SAME, SR_CHANNELS_FIRST, SR_CHANNELS_LAST } SrChannels;

typedef struct { // permute: dimensions a and b of memory exchanged; equal: memory does not move
    int a, b;
    int channels; // SrChannels
} SrPermuteParams;

#endif
