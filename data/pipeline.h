// Functions of the pipeline for the transforms themselves, above all for those that hold others.
#ifndef SR_DATA_PIPELINE_H
#define SR_DATA_PIPELINE_H

#include "data/data.h"

// Makes a pipeline inside the transform at `stage`; its memory is the outer pipeline's arena.
SrStatus sr__pipeline_nested(const SrYaml *list, const char *where, uint32_t stage, SrArena *arena,
                             SrPipeline **out);
// Turns number and sizes of given views into those after the pipeline.  Unlike sr_pipeline_shape it
// accepts open sizes (0 x 0) and pipelines without ToTensor.
SrStatus sr__pipeline_walk_shape(const SrPipeline *pipeline, int *n, int h[SR_MAX_VIEWS],
                                 int w[SR_MAX_VIEWS]);

// SR_ERR_CONFIG: the size of view v differs from that of its place, out[v].
SrStatus sr__view_fits(const SrViews *views, int v);

// Random stream of view v at the given stage.
static inline SrRng sr__stage_rng(const SrTransformContext *ctx, int v, uint32_t stage) {
    return sr_rng(ctx->seed, SR_RNG_TRANSFORM, (uint64_t)ctx->epoch, (uint64_t)ctx->sample,
                  (uint32_t)v, stage);
}
// Adds words to the report of view v's draws, such as "hue +0.05".  Does nothing if ctx->told is
// NULL; draws must not depend on that.
void sr__tell(const SrTransformContext *ctx, int v, const char *fmt, ...) SR_PRINTF(3, 4);

// Random stream of view v at the transform's own stage.
static inline SrRng sr__transform_rng(const SrTransformContext *ctx, int v) {
    return sr__stage_rng(ctx, v, ctx->stage);
}

#endif
