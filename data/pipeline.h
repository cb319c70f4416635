// What transforms that hold other transforms need of the pipeline; everybody else uses data.h.
#ifndef SR_DATA_PIPELINE_H
#define SR_DATA_PIPELINE_H

#include "data/data.h"

// A pipeline inside the transform at `stage`, living in the outer pipeline's arena.
SrStatus sr__pipeline_nested(const SrYaml *list, const char *where, uint32_t stage, SrArena *arena,
                             SrPipeline **out);
// Like sr_pipeline_shape, from any views, without its demands on the result.
SrStatus sr__pipeline_walk_shape(const SrPipeline *pipeline, int *n, int h[SR_MAX_VIEWS],
                                 int w[SR_MAX_VIEWS]);

// SR_ERR_CONFIG unless view v has just the size of its place, out[v].
SrStatus sr__view_fits(const SrViews *views, int v);

// The stream of draws of view v at a stage, or at this one.
static inline SrRng sr__stage_rng(const SrTransformContext *ctx, int v, uint32_t stage) {
    return sr_rng(ctx->seed, SR_RNG_TRANSFORM, (uint64_t)ctx->epoch, (uint64_t)ctx->sample,
                  (uint32_t)v, stage);
}
// Adds to what view v is told to have drawn, as in "hue +0.05".  The draws themselves must not depend on being asked.
void sr__tell(const SrTransformContext *ctx, int v, const char *fmt, ...) SR_PRINTF(3, 4);

static inline SrRng sr__transform_rng(const SrTransformContext *ctx, int v) {
    return sr__stage_rng(ctx, v, ctx->stage);
}

#endif
