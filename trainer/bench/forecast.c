// Forecast of a step's time on many machines: computation, exchange and the line that reports them.
#include "trainer/bench/forecast.h"

#include <math.h>

#include "base/compiler.h"

// A second forward takes as long as the first.
double sr_forecast_passes(int replicas, bool twice, double backward_share) {
    return replicas + (twice ? (replicas - 1) * (1 - backward_share) : 0);
}

static double exchange_seconds(const SrForecastInput *in, double bytes) {
    double share = (double)(in->ranks - 1) / in->ranks;
    return 2 * share * bytes * 8 / (in->gbit * 1e9) +
           2 * ceil(log2(in->ranks)) * SR_FORECAST_MESSAGE_S;
}

SrForecast sr_forecast(const SrForecastInput *in) {
    int mine = in->replicas / in->ranks;
    SrForecast f = {.compute_s =
                        in->replica_s * sr_forecast_passes(mine, in->twice, in->backward_share)};
    if (in->ranks > 1) {
        double last = SR_MIN(in->gradient_bytes, SR_FORECAST_BUCKET_BYTES);
        f.exchange_s = exchange_seconds(in, in->gradient_bytes);
        f.exposed_s =
            fmax(f.exchange_s - in->backward_share * in->replica_s, exchange_seconds(in, last));
    }
    f.step_s = f.compute_s + f.exposed_s;
    f.efficiency = f.compute_s / f.step_s;
    return f;
}

void sr_forecast_text(const SrForecastInput *in, const SrForecast *f, int images, SrText *out) {
    sr_text_printf(out,
                   "  forecast for %d ranks of %d replica%s each, %g Gbit/s: %.3g s a step (%.3g s "
                   "computed, %.3g s of gradients exchanged, of which %.3g s are not hidden), %.4g "
                   "images/s, %.1f %% of %d times one rank\n",
                   in->ranks, in->replicas / in->ranks, in->replicas > in->ranks ? "s" : "",
                   in->gbit, f->step_s, f->compute_s, f->exchange_s, f->exposed_s,
                   (double)images * in->replicas / f->step_s, 100 * f->efficiency, in->ranks);
}
