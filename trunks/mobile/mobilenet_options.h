// VISSL's options MOBILE_NET, which the trunks mobilenetv3_tv and mobilenetv3_timm share.
#ifndef SR_TRUNKS_MOBILE_MOBILENET_OPTIONS_H
#define SR_TRUNKS_MOBILE_MOBILENET_OPTIONS_H

#include "trunks/trunk.h"

#define SR_MOBILE_NET "MODEL.TRUNK.MOBILE_NET"

typedef struct {
    int name; // 0: large, 1: small
    bool timm_bn, trunk_only;
    double width_multiplier;
} SrMobileNet;
// One table of options per trunk, because each trunk marks the keys that it does not read.
extern const SrOption sr_mobilenetv3_tv_options[], sr_mobilenetv3_timm_options[];

// Announces the stages trunk, trunk_pool and trunk_pool_norm of a map; fills `map` and `pooled`.
void sr_mobile_net_outputs(SrBuilder *b, SrNodeId map, SrTrunkOutput *out);
// Adds x divided by its length, row by row, as the stage `name`.
void sr_mobile_net_normalized(SrBuilder *b, SrNodeId x, const char *name);

#endif
