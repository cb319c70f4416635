// Grid of patches of a transformer trunk, for the losses that hide or predict patches.
#ifndef SR_LOSSES_SHARED_TOKEN_GRID_H
#define SR_LOSSES_SHARED_TOKEN_GRID_H

#include "losses/loss.h"

// Sets LOSS.<name>.patch_size to the trunk's PATCH_SIZE.  Does nothing if the trunk has no such
// key.
SrStatus sr_infer_patch_size(SrInfer *in);

// Sets patch_size of the training transforms that draw masks (MaskedImageModeling) to the trunk's
// PATCH_SIZE, because masks are drawn over the trunk's grid.
SrStatus sr_infer_mask_patches(SrInfer *in);

typedef struct {
    int patch; // side of a patch in pixels
    int side;  // patches along a side of the square grid
    int n;     // patches: side * side
} SrTokenGrid;

// SR_ERR_CONFIG unless an image has exactly one view.
SrStatus sr_token_grid_one_view(SrLossContext *ctx);
// Computes the grid of the first view.  SR_ERR_CONFIG: the view is no square of whole patches.
SrStatus sr_token_grid(SrLossContext *ctx, int patch_size, SrTokenGrid *out);
// Finds the output "tokens" of a forward with trunk_outputs: (batch, prefix + K, D), K patches
// after the trunk's prefix tokens.  SR_ERR_CONFIG: the trunk has no tokens, or another grid.
SrStatus sr_token_grid_tokens(SrLossContext *ctx, const SrOutputs *outputs, const SrTokenGrid *grid,
                              SrNodeId *tokens);

#endif
