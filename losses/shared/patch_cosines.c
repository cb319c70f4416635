// Builds the nodes of patch_cosines.h.
#include "losses/shared/patch_cosines.h"

#include "kernels/basic/reshape.h"
#include "kernels/norm/l2_normalize.h"

SrNodeId sr_patch_cosines(SrBuilder *b, SrNodeId patches) {
    return sr_build(b, "gram", "cosines", NULL, patches);
}

SrNodeId sr_unit_patches(SrBuilder *b, SrNodeId map) {
    SrShape m = sr_build_shape(b, map);
    SrReshapeParams rows = {.d1 = m.d[1] * m.d[2], .d2 = m.d[3]};
    return sr_build(b, "l2_normalize", "patch_units", &(SrL2NormalizeParams){0},
                    sr_build(b, "reshape", "patches", &rows, map));
}
