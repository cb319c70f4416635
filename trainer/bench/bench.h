// Times training steps on this machine, with random images instead of data.  The figures are
// compared with those of other programs (bench/peer.sh), and a profile shows which kernels take
// the time.
#ifndef SR_TRAINER_BENCH_BENCH_H
#define SR_TRAINER_BENCH_BENCH_H

#include "trainer/run/run.h"

typedef struct {
    int steps, warmup; // timed steps; steps before them
    bool profile;      // time every kernel call, which slows the steps a little
    bool ops;          // profile with one line for every kernel call
} SrBenchOptions;

typedef struct {
    double median_ms, min_ms;
    double images_per_s;       // from the median
    double gflops;             // nominal GFLOP per second, see print_lines in bench.c
    int steps, threads, batch; // batch: images of a step over all replicas
    double peak_gflops;        // GFLOP/s of products in dtype on these threads, measured after
    double start_s;            // seconds from the start of building to the first step
    size_t plan_bytes;         // activations
    size_t peak_bytes;         // largest resident size of the process; 0: unknown
    const char *cpu, *dtype;   // dtype: "f32" or "bf16"
    char crops[128];           // views of an image: "2x224,6x96"
} SrBenchResult;

// Sorts seconds (n) and returns their median.
double sr_bench_median(double *seconds, int n);
// Writes the views of a split as number x size: "2x224,6x96".
void sr_bench_crops(const SrSplit *train, char *out, size_t bytes);
// Times the steps of a configuration.  profile: gets the profile if options ask for one.
SrStatus sr_bench(const SrConfig *config, const SrBenchOptions *options, SrBenchResult *out,
                  SrText *profile);
// Reports the times that the plan has profiled over `steps` steps: sums by op, then single
// calls.  all: every call in order; false: the slowest calls.
SrStatus sr_bench_profile(SrPlan *plan, int steps, bool all, SrText *out);
// Writes a sentence for people.
void sr_bench_text(const SrBenchResult *result, SrText *out);
// Writes one line of JSON.  The keys arch, crops, batch, dtype, threads, median_ms, min_ms and
// max_rss_mb are those of the scripts that time other programs.
void sr_bench_json(const char *arch, const SrBenchResult *result, SrText *out);

#endif
