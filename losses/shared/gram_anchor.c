// Builds the anchor's forward and the term, and copies the teacher to the anchor.
#include "losses/shared/gram_anchor.h"

#include "kernels/basic/interpolate.h"
#include "kernels/losses/regression_loss.h"
#include "losses/shared/crop_terms.h"
#include "losses/shared/patch_cosines.h"

#define PREFIX "loss.gram_anchor."

// Finds the map of the first crops, which go through the trunk together.
static SrStatus student_map(SrLossContext *ctx, int n_views, SrNodeId *map) {
    const SrOutput *found = sr_outputs_find(&ctx->outputs, "map", 0);
    if (!found || found->n_views != n_views)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "%s: Gram anchoring needs a trunk that gives a map of patches, and "
                               "the %d large crops must have one size",
                               ctx->name, n_views);
    *map = found->node;
    return SR_OK;
}

// Replaces the student's entries of the pairs by the teacher's twins of them.
static void follow(const SrMomentumEncoder *teacher, SrMomentumEncoder *pairs) {
    for (int i = 0; i < pairs->n; i++)
        for (int k = 0; k < teacher->n; k++)
            if (teacher->student[k] == pairs->student[i]) {
                pairs->student[i] = teacher->teacher[k];
                break;
            }
}

SrStatus sr_gram_anchor_build(SrLossContext *ctx, const SrGramAnchorParams *p,
                              const SrMomentumEncoder *teacher, SrGramAnchor *out, SrNodeId *term) {
    SrBuilder *b = ctx->builder;
    SrModelRun run = {.prefix = PREFIX,
                      .views = sr_first_views(p->n_views),
                      .n_views = p->n_views,
                      .no_heads = true,
                      .trunk_outputs = true,
                      .use_running = true,
                      .enlarge = p->enlarge};
    SrOutputs outputs;
    SrNodeId map = SR_NO_NODE, anchor;
    SR_TRY(student_map(ctx, p->n_views, &map));
    SR_TRY(sr_momentum_encoder_build(ctx, &run, &out->pairs, &outputs));
    follow(teacher, &out->pairs);
    out->update = p->update;
    SR_TRY(sr_outputs_get(b, &outputs, ctx->name, "map", &anchor));
    SrShape grid = sr_build_shape(b, map);
    anchor = sr_build(b, "interpolate", "anchor_map",
                      &(SrInterpolateParams){.h = grid.d[1], .w = grid.d[2]}, anchor);
    SrNodeId cosines[] = {sr_patch_cosines(b, sr_unit_patches(b, map)),
                          sr_patch_cosines(b, sr_unit_patches(b, anchor))};
    *term = sr_build_n(b, "regression_loss", "gram", &(SrRegressionLossParams){0}, cosines, 2);
    return sr_builder_status(b);
}

void sr_gram_anchor_start(SrGramAnchor *anchor, const SrLossStep *step, bool resumed) {
    sr_momentum_encoder_start(&anchor->pairs, step, resumed);
}

void sr_gram_anchor_update(SrGramAnchor *anchor, const SrLossStep *step) {
    if (anchor->update > 0 && (step->iteration + 1) % anchor->update == 0)
        sr_momentum_encoder_start(&anchor->pairs, step, false);
}
