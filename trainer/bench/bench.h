// How long a training step takes on this machine, with random images instead of data: the figure
// that stands beside peer measurements, and where the time goes.
#ifndef SR_TRAINER_BENCH_BENCH_H
#define SR_TRAINER_BENCH_BENCH_H

#include "trainer/run/run.h"

typedef struct {
    int steps, warmup;
    bool profile; // times every kernel call: costs a little, so not for figures
    bool ops;     // the profile, with every kernel call in a line of its own
} SrBenchOptions;

typedef struct {
    double median_ms, min_ms;
    double images_per_s; // from the median
    double gflops;       // nominal, per second
    int steps, threads, batch;
    double peak_gflops;      // float32, of the present threads, measured after the steps
    double start_s;          // from the start of building to the first step's beginning
    size_t plan_bytes;       // activations
    size_t peak_bytes;       // largest resident size of the process
    const char *cpu, *dtype; // "f32", "bf16"
    char crops[128];         // "2x224,6x96"
} SrBenchResult;

// Sorts seconds (n) and returns their median.
double sr_bench_median(double *seconds, int n);
// "2x224,6x96" of the views of a split.
void sr_bench_crops(const SrSplit *train, char *out, size_t bytes);
SrStatus sr_bench(const SrConfig *config, const SrBenchOptions *options, SrBenchResult *out,
                  SrText *profile);
// Where the time went since the plan's profile was switched on: by op, then the slowest calls or all of them.
SrStatus sr_bench_profile(SrPlan *plan, int steps, bool all, SrText *out);
void sr_bench_text(const SrBenchResult *result, SrText *out);
// One line with the keys of the peer scripts: arch, crops, batch, dtype, threads, median_ms,
// min_ms, max_rss_mb.
void sr_bench_json(const char *arch, const SrBenchResult *result, SrText *out);

#endif
