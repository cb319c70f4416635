// VISSL's map MOBILE_NET, which mobilenetv3_tv and mobilenetv3_timm share.
#ifndef SR_TRUNKS_MOBILENET_OPTIONS_H
#define SR_TRUNKS_MOBILENET_OPTIONS_H

#include "trunks/trunk.h"

#define SR_MOBILE_NET "MODEL.TRUNK.MOBILE_NET"

typedef struct {
    int name; // 0: large, 1: small
    bool timm_bn, trunk_only;
    double width_multiplier;
} SrMobileNet;
// Two tables of one map: each trunk says what it does not read.
extern const SrOption sr_mobilenetv3_tv_options[], sr_mobilenetv3_timm_options[];

// The stages trunk, trunk_pool and trunk_pool_norm of a map; fills `map` and `pooled`.
void sr_mobile_net_outputs(SrBuilder *b, SrNodeId map, SrTrunkOutput *out);
// x over its length in each row, as the stage `name`.
void sr_mobile_net_normalized(SrBuilder *b, SrNodeId x, const char *name);

#endif
