// Params of channel_shuffle.
#ifndef SR_KERNELS_BASIC_CHANNEL_SHUFFLE_H
#define SR_KERNELS_BASIC_CHANNEL_SHUFFLE_H

typedef struct { // channel_shuffle
    int groups;  // divides the channels
} SrChannelShuffleParams;

#endif
