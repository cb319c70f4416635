// Params of permute.
#ifndef SR_KERNELS_BASIC_PERMUTE_H
#define SR_KERNELS_BASIC_PERMUTE_H

// Where torch has the channels of the result; in memory they are always last
// (SrNode.channels_last).
typedef enum { SR_CHANNELS_SAME, SR_CHANNELS_FIRST, SR_CHANNELS_LAST } SrChannels;

typedef struct { // dimensions a and b of memory are exchanged; a == b: memory does not move
    int a, b;
    int channels; // SrChannels
} SrPermuteParams;

#endif
