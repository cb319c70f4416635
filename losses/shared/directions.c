// Draws directions with a key of their own per step and column.
#include "losses/shared/directions.h"

#include <math.h>

#include "base/rng.h"

void sr_directions_build(SrLossContext *ctx, SrNodeId x, int slices, SrDirections *out) {
    SrBuilder *b = ctx->builder;
    int D = sr_shape_last(sr_build_shape(b, x));
    *out = (SrDirections){.D = D, .slices = slices, .seed = ctx->seed};
    out->input = sr_build_input(b, "directions", SR_SHAPE(D, slices), SR_F32);
}

void sr_directions_draw(void *directions, const SrLossStep *step) {
    const SrDirections *s = directions;
    float *a = sr_loss_input(step, s->input).data; // (D, slices)
    for (int k = 0; k < s->slices; k++) {
        SrRng rng =
            sr_rng(s->seed, SR_RNG_DIRECTIONS, (uint64_t)step->iteration, (uint64_t)k, 0, 0);
        double square = 0;
        for (int d = 0; d < s->D; d++) {
            double x = sr_rng_normal(&rng);
            a[(int64_t)d * s->slices + k] = (float)x;
            square += x * x;
        }
        for (int d = 0; d < s->D; d++)
            a[(int64_t)d * s->slices + k] *= (float)(1 / fmax(sqrt(square), 1e-12));
    }
}
