// What methods over a transformer's patches share: the size of a patch, and the grid of them.
#ifndef SR_LOSSES_TOKEN_GRID_H
#define SR_LOSSES_TOKEN_GRID_H

#include "losses/loss.h"

// LOSS.<name>.patch_size from the trunk's own map, where it has one.
SrStatus sr_infer_patch_size(SrInfer *in);

// DATA.TRAIN.TRANSFORMS: MaskedImageModeling.patch_size from the trunk's: masks are drawn over its grid.
SrStatus sr_infer_mask_patches(SrInfer *in);

typedef struct {
    int patch; // pixels
    int side;  // patches a side of the square grid
    int n;     // side * side
} SrTokenGrid;

// SR_ERR_CONFIG unless there is one view of an image.
SrStatus sr_token_grid_one_view(SrLossContext *ctx);
// Of the first view; anything but a square of whole patches: SR_ERR_CONFIG.
SrStatus sr_token_grid(SrLossContext *ctx, int patch_size, SrTokenGrid *out);
// The tokens of a run with .trunk_outputs, (batch, prefix + K, D).  A trunk without tokens, or with another grid:
// SR_ERR_CONFIG.
SrStatus sr_token_grid_tokens(SrLossContext *ctx, const SrOutputs *outputs, const SrTokenGrid *grid,
                              SrNodeId *tokens);

#endif
