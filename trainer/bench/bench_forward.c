// Times forwards of a frozen trunk; bench.c times training steps.
#include "trainer/bench/bench_forward.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "graph/plan/plan_run.h"
#include "kernels/conv/conv_peak.h"
#include "kernels/machine.h"

static void fill_input(const SrFeatureSource *e) {
    SrTensor x = sr_feature_source_input(e); // (N, H, W, C)
    SrRng rng = sr_rng(0, SR_RNG_SYNTHETIC, 0, 0, 0, 0);
    for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
        ((float *)x.data)[i] = (float)sr_rng_normal(&rng);
}

static void time_forwards(SrFeatureSource *e, const SrBenchOptions *o, double *seconds) {
    fill_input(e);
    for (int i = 0; i < o->warmup + o->steps; i++) {
        if (i == o->warmup)
            sr_plan_profile(e->plan, o->profile || o->ops);
        double began = sr_clock();
        sr_feature_source_forward(e);
        if (i >= o->warmup)
            seconds[i - o->warmup] = sr_clock() - began;
    }
}

static void fill_result(const SrFeatureSource *e, const SrFeatureOptions *x, double *seconds,
                        int steps, SrBenchResult *r) {
    struct rusage usage;
    double median = sr_bench_median(seconds, steps);
    *r = (SrBenchResult){
        .median_ms = 1e3 * median,
        .min_ms = 1e3 * seconds[0],
        .images_per_s = x->batch / median,
        .gflops = (double)e->extraction.after.flops / median / 1e9,
        .steps = steps,
        .threads = sr_parallel_threads(),
        .batch = x->batch,
        .cpu = sr_machine_name(sr_plan_machine(e->plan)),
        .dtype = e->bf16 ? "bf16" : "f32",
        .peak_gflops = sr_conv_peak_gflops(sr_plan_machine(e->plan), e->bf16 ? SR_BF16 : SR_F32),
        .plan_bytes = sr_plan_cost(e->plan).activation_bytes,
    };
    snprintf(r->crops, sizeof r->crops, "1x%d", x->height);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        r->peak_bytes = (size_t)usage.ru_maxrss * 1024;
}

SrStatus sr_bench_forward(const SrFeatureOptions *extractor, const SrBenchOptions *options,
                          SrBenchResult *out, SrText *profile) {
    SrFeatureSource e;
    double *seconds = sr_calloc((size_t)options->steps + 1, sizeof *seconds);
    SR_TRY_MEMORY(seconds, "%d timings", options->steps);
    SrStatus status = sr_feature_source_open(extractor, &e);
    if (status == SR_OK) {
        time_forwards(&e, options, seconds);
        fill_result(&e, extractor, seconds, options->steps, out);
        if (options->profile || options->ops)
            status = sr_bench_profile(e.plan, options->steps, options->ops, profile);
        sr_feature_source_close(&e);
    }
    sr_free(seconds);
    return status;
}
