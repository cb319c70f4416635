// Blocks that VISSL's five AlexNets share (vissl/models/trunks/alexnet_*.py): five convolutions,
// three max-pools, names by number.  The nets differ in padding, groups and normalisation.
#ifndef SR_TRUNKS_CLASSIC_ALEXNET_BLOCKS_H
#define SR_TRUNKS_CLASSIC_ALEXNET_BLOCKS_H

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
    int stride, padding;               // conv1
    int groups;                        // conv2, conv4 and conv5
    bool batch_norm[SR_ALEXNET_CONVS]; // true: batch norm between convolution and ReLU
    SrAlexnetPool pool;                // response normalisation at pool1 and pool2
} SrAlexnetLayout;

// Adds modules 0 to 8 under the builder's scope and fills `map` (pool5) and `pooled`.
SrStatus sr_alexnet_build(SrBuilder *b, const SrAlexnetParams *p, const SrAlexnetLayout *layout,
                          SrNodeId x, SrTrunkOutput *out);

#endif
