// How deep a parameter lies, by the names that families of trunks share (SrTrunk.depth).
#ifndef SR_TRUNKS_DEPTH_H
#define SR_TRUNKS_DEPTH_H

// Names "layer<k>." or none: stage k at k, the stem conv1 and bn1 at 0, everything else at stages + 1 (VISSL's
// get_num_layer_for_resnet).
int sr_depth_of_stages(const char *name, int stages);
// Names "blocks.<i>.": tokens, positions and patches at 0, block i at i + 1, the last norm beside the last
// block (Bao et al., "BEiT", 2021; VISSL's get_num_layer_for_vit).
int sr_depth_of_blocks(const char *name, int blocks);

#endif
