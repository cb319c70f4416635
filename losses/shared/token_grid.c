// Grid of a transformer's patches: inference of their size, checks and tokens.
#include "losses/shared/token_grid.h"

// Returns the trunk's patch size; NULL: the trunk has no patches.
static const SrYaml *trunk_patch(const SrInfer *in) {
    return sr_yaml_find(in->trunk, "PATCH_SIZE");
}

SrStatus sr_infer_patch_size(SrInfer *in) {
    const SrYaml *patch = trunk_patch(in);
    return patch ? sr_infer_set(in, "patch_size", patch) : SR_OK;
}

SrStatus sr_infer_mask_patches(SrInfer *in) {
    const SrYaml *patch = trunk_patch(in);
    for (int i = 0; patch && i < in->n_masks; i++)
        SR_TRY(sr_infer_put(in, in->mask[i], "patch_size", patch,
                            "DATA.TRAIN.TRANSFORMS: patch_size of the masks"));
    return SR_OK;
}

SrStatus sr_token_grid_one_view(SrLossContext *ctx) {
    if (ctx->n_views == 1)
        return sr_builder_status(ctx->builder);
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "%s needs one view of an image, but DATA.TRAIN.TRANSFORMS make %d",
                           ctx->name, ctx->n_views);
}

SrStatus sr_token_grid(SrLossContext *ctx, int patch_size, SrTokenGrid *out) {
    int h = ctx->views[0].h, w = ctx->views[0].w;
    if (h != w || h % patch_size)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "%s needs square images that patches fill exactly, but these have "
                               "%d x %d pixels and LOSS.%s.patch_size is %d",
                               ctx->name, w, h, ctx->name, patch_size);
    *out = (SrTokenGrid){patch_size, h / patch_size, h / patch_size * (w / patch_size)};
    return sr_builder_status(ctx->builder);
}

SrStatus sr_token_grid_tokens(SrLossContext *ctx, const SrOutputs *outputs, const SrTokenGrid *grid,
                              SrNodeId *tokens) {
    const SrOutput *found = sr_outputs_find(outputs, "tokens", 0);
    if (!found)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "%s needs the tokens of a transformer, but the trunk has none; use "
                               "MODEL.TRUNK.NAME=vision_transformer or dinov2",
                               ctx->name);
    if (found->grid_h != grid->side || found->grid_w != grid->side)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "LOSS.%s.patch_size is %d, which gives %d x %d patches, but the trunk makes %d x %d",
            ctx->name, grid->patch, grid->side, grid->side, found->grid_w, found->grid_h);
    *tokens = found->node;
    return sr_builder_status(ctx->builder);
}
