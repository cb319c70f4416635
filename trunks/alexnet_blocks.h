// What VISSL's five AlexNets share (vissl/models/trunks/alexnet_*.py): five convolutions, three max-pools, names by
// number.  They differ in padding, groups and in what normalises.
#ifndef SR_TRUNKS_ALEXNET_BLOCKS_H
#define SR_TRUNKS_ALEXNET_BLOCKS_H

#include "trunks/trunk.h"

#define SR_ALEXNETS "MODEL.TRUNK.ALEXNETS"

typedef struct {
    double width_multiplier;
} SrAlexnetParams;
extern const SrOption sr_alexnet_options[];

enum { SR_ALEXNET_CONVS = 5 };
typedef enum { SR_ALEXNET_PLAIN, SR_ALEXNET_NORM_POOL, SR_ALEXNET_POOL_NORM } SrAlexnetPool;
typedef struct {
    int channels[SR_ALEXNET_CONVS];
    int stride, padding;               // of conv1
    int groups;                        // of conv2, conv4 and conv5
    bool batch_norm[SR_ALEXNET_CONVS]; // between convolution and ReLU
    SrAlexnetPool pool; // whether pool1 and pool2 normalise responses, before or behind
} SrAlexnetLayout;

// Modules 0 .. 8 of the present scope; fills `map` (pool5) and `pooled`.
SrStatus sr_alexnet_build(SrBuilder *b, const SrAlexnetParams *p, const SrAlexnetLayout *layout,
                          SrNodeId x, SrTrunkOutput *out);

#endif
