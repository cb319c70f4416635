// Builds the SimCLR losses: embeddings get length 1, and nt_xent compares all views with each
// other.
#include "losses/shared/simclr_terms.h"

#include "kernels/norm/l2_normalize.h"

static SrStatus check(SrLossContext *ctx, const SrSimclrOptions *o, int num_crops, SrNodeId x) {
    SrShape s = sr_build_shape(ctx->builder, x);
    char text[SR_SHAPE_TEXT_BYTES];
    if (ctx->n_views != num_crops)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "%s needs %d views of an image, but DATA.TRAIN.TRANSFORMS make %d (num_times of "
            "ImgReplicatePil, total_num_crops of ImgPilToMultiCrop)",
            ctx->name, num_crops, ctx->n_views);
    if (s.rank != 2 || s.d[1] != o->embedding_dim)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s: embedding_dim is %d, but the head gives %s", ctx->name,
                               o->embedding_dim, sr_shape_text(s, text, sizeof text));
    return SR_OK;
}

SrStatus sr_simclr_terms_build(SrLossContext *ctx, const SrSimclrOptions *o, int num_crops,
                               bool decoupled, SrNodeId *loss) {
    SrBuilder *b = ctx->builder;
    SrNodeId x;
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    SR_TRY(check(ctx, o, num_crops, x));
    // A last batch of one image has no negatives and a loss of 0, which does no harm.
    if (decoupled || !ctx->rest)
        SR_TRY(sr_loss_many_images(ctx));
    x = sr_build(b, "l2_normalize", "normalize", &(SrL2NormalizeParams){0}, x);
    SrNtXentParams p = o->op;
    p.num_crops = num_crops;
    p.decoupled = decoupled;
    *loss = sr_build(b, "nt_xent", "nt_xent", &p, x);
    return sr_builder_status(b);
}
