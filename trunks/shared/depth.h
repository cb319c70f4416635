// Depth of a parameter in its trunk, from the names that families of trunks share (SrTrunk.depth).
#ifndef SR_TRUNKS_SHARED_DEPTH_H
#define SR_TRUNKS_SHARED_DEPTH_H

#include "base/plugin/option.h"

// Names "layer<k>." have depth k, the stem's conv1 and bn1 have depth 0, all others have stages + 1
// (VISSL's get_num_layer_for_resnet).
int sr_depth_of_stages(const char *name, int stages);
// Names "blocks.<i>." have depth i + 1; tokens, positions and patches have depth 0; the last norm
// has the last block's depth (Bao et al., "BEiT", arXiv:2106.08254; VISSL's
// get_num_layer_for_vit).
int sr_depth_of_blocks(const char *name, int blocks);

int sr_depth_total(SrInts depths); // number of blocks in all stages

#endif
