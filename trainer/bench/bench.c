// Times whole training steps, and reports the time of the kernel calls in them.
#include "trainer/bench/bench.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/text/json.h"
#include "graph/plan/plan_run.h"
#include "kernels/conv/conv_peak.h"
#include "kernels/machine.h"
#include "trainer/bench/memory_rate.h"

#define BENCH_LR 0.001 // small, so that values stay in a usual range during the run

// Fills inputs with normal numbers, as normalised images have.  Zeros would give ReLUs another
// sparsity and other denormals than training.
static void fill_inputs(SrRun *run) {
    for (int v = 0; v < run->graph.n_views; v++) {
        SrTensor x = sr_plan_input(run->plan, run->graph.views[v]); // (N, H, W, C)
        SrRng rng = sr_rng(run->config->seed, SR_RNG_SYNTHETIC, 0, (uint64_t)v, 0, 0);
        float *values = x.data;
        for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
            values[i] = (float)sr_rng_normal(&rng);
    }
    for (int r = 0; run->replicas && r < sr_replicas_mine(run->replicas); r++)
        sr_replicas_take(run->replicas, r, NULL);
}

void sr_bench_crops(const SrSplit *train, char *out, size_t bytes) {
    size_t len = 0;
    out[0] = '\0';
    for (int v = 0, last; v < train->n_views && len < bytes; v = last) {
        for (last = v + 1; last < train->n_views && train->h[last] == train->h[v];)
            last++;
        len += (size_t)snprintf(out + len, bytes - len, "%s%dx%d", v ? "," : "", last - v,
                                train->h[v]);
    }
}

static int ascending(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// The median of an even count is the mean of the middle two, as in Python's statistics module.
double sr_bench_median(double *seconds, int n) {
    qsort(seconds, (size_t)n, sizeof *seconds, ascending);
    return n % 2 ? seconds[n / 2] : 0.5 * (seconds[n / 2 - 1] + seconds[n / 2]);
}

// Times whole steps as in training, with optimiser and hooks, without data loading.  The warm-up
// touches every page and lets the processor's clock settle.
static SrStatus time_steps(SrRun *run, const SrBenchOptions *o, double *seconds) {
    for (int i = 0; i < o->warmup + o->steps; i++) {
        SrStepArgs args = {.lr = BENCH_LR, .lr_head = BENCH_LR, .iteration = i};
        double began = sr_clock(), loss;
        if (i == o->warmup)
            sr_plan_profile(run->plan, o->profile || o->ops);
        SR_TRY(sr_step_run(&run->step, &args, &loss));
        if (i >= o->warmup)
            seconds[i - o->warmup] = sr_clock() - began;
    }
    return SR_OK;
}

// ---- where the time goes ------------------------------------------------------------------------

// Orders by falling time.
static int slowest_first(const void *a, const void *b) {
    const SrPlanTiming *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

// Adds x to the line of its op, pass and type.  The search is linear, because a plan has only
// tens of kinds of calls.
static void add_line(SrPlanTiming *lines, int *n, const SrPlanTiming *x) {
    for (int i = 0; i < *n; i++) {
        if (strcmp(lines[i].op, x->op) != 0 || strcmp(lines[i].pass, x->pass) != 0 ||
            lines[i].dtype != x->dtype)
            continue;
        lines[i].seconds += x->seconds;
        lines[i].calls += x->calls;
        lines[i].flops += x->flops;
        lines[i].bytes += x->bytes;
        return;
    }
    lines[(*n)++] = *x;
}

// Measured limits of this machine.
typedef struct {
    double f32, bf16; // GFLOP/s of products; without bfloat16 instructions both are float32's
    double bytes;     // GB/s of memory; 0: unknown
} Peaks;

static double peak_of(const Peaks *p, SrDtype dtype) { return dtype == SR_BF16 ? p->bf16 : p->f32; }

// Returns the time that the call needs at least, as a share of the time that it took.  It needs
// the larger of the times for its arithmetic and its memory traffic at the peak rates.  The share
// is above 1 if Winograd saves products or a cache holds the tensors.
static double share_of_limit(const SrPlanTiming *l, const Peaks *peaks, bool *by_memory) {
    double arithmetic = (double)l->flops / peak_of(peaks, l->dtype) / 1e9;
    double memory = peaks->bytes > 0 ? (double)l->bytes / peaks->bytes / 1e9 : 0;
    *by_memory = memory > arithmetic;
    return SR_MAX(arithmetic, memory) / (l->seconds > 0 ? l->seconds : INFINITY);
}

// GFLOP/s is nominal: products with padding count, and a Winograd kernel may exceed the processor's
// peak.
static void print_lines(const SrPlanTiming *lines, int n, int steps, double total,
                        const Peaks *peaks, SrText *out) {
    for (int i = 0; i < n; i++) {
        const SrPlanTiming *l = &lines[i];
        double s = l->seconds > 0 ? l->seconds : INFINITY, gflops = (double)l->flops / s / 1e9;
        bool by_memory;
        double share = share_of_limit(l, peaks, &by_memory);
        sr_text_printf(
            out,
            "  %-34s %-10s %8.2f ms %5.1f %% %8.1f GFLOP/s %6.1f GB/s %8.1f MB %4.0f %% of "
            "the limit (%s)\n",
            l->name, l->pass, 1e3 * l->seconds / steps, 100 * l->seconds / total, gflops,
            (double)l->bytes / s / 1e9, (double)l->bytes / steps / 1e6, 100 * share,
            by_memory ? "memory" : "arithmetic");
    }
}

static int load_timings(const SrPlan *plan, SrPlanTiming *lines) {
    SrPlanTiming x;
    int n = 0;
    for (; sr_plan_profile_at(plan, n, &x); n++)
        if (lines) {
            x.flops *= x.calls; // from here on the sum over all steps
            x.bytes *= x.calls;
            lines[n] = x;
        }
    return n;
}

// Prints two tables.  Sums by op, pass and type show which op to improve; single calls show the
// shapes at which it is slow.
SrStatus sr_bench_profile(SrPlan *plan, int steps, bool all, SrText *out) {
    int n = load_timings(plan, NULL), n_sums = 0;
    double total = 0;
    bool mixed = false; // some calls are in bfloat16
    Peaks peaks = {sr_conv_peak_gflops(sr_plan_machine(plan), SR_F32),
                   sr_conv_peak_gflops(sr_plan_machine(plan), SR_BF16),
                   1e-9 * sr_bench_memory_rate()};
    SrPlanTiming *calls = sr_calloc((size_t)n + 1, sizeof *calls),
                 *sums = sr_calloc((size_t)n + 1, sizeof *sums);
    if (!calls || !sums) {
        sr_free(calls);
        sr_free(sums);
        return sr_out_of_memory("the profile");
    }
    load_timings(plan, calls);
    for (int i = 0; i < n; i++) {
        SrPlanTiming x = calls[i];
        total += x.seconds;
        mixed |= x.dtype == SR_BF16;
        x.name = x.op;
        add_line(sums, &n_sums, &x);
    }
    qsort(sums, (size_t)n_sums, sizeof *sums, slowest_first);
    if (!all)
        qsort(calls, (size_t)n, sizeof *calls, slowest_first);
    sr_text_printf(out, "by op, %.1f ms in kernels per step; measured peak %.0f GFLOP/s",
                   1e3 * total / steps, peaks.f32);
    if (mixed)
        sr_text_printf(out, ", of bfloat16 %.0f", peaks.bf16);
    sr_text_printf(out, ", of memory %.1f GB/s:\n", peaks.bytes);
    print_lines(sums, n_sums, steps, total, &peaks, out);
    sr_text_add(out, all ? "all calls in order:\n" : "slowest calls:\n");
    print_lines(calls, all ? n : SR_MIN(n, 25), steps, total, &peaks, out);
    sr_free(calls);
    sr_free(sums);
    return SR_OK;
}

// ---- putting it together ------------------------------------------------------------------------

static void fill_result(const SrRun *run, double *seconds, int steps, SrBenchResult *r) {
    struct rusage usage;
    double median = sr_bench_median(seconds, steps);
    *r = (SrBenchResult){
        .median_ms = 1e3 * median,
        .min_ms = 1e3 * seconds[0],
        .images_per_s = run->step_images / median,
        .gflops = (double)(run->cost.plan.forward_flops + run->cost.plan.backward_flops) *
                  run->config->replicas / median / 1e9,
        .steps = steps,
        .threads = sr_parallel_threads(),
        .batch = run->step_images,
        .cpu = sr_machine_name(sr_plan_machine(run->plan)),
        .peak_gflops = sr_conv_peak_gflops(sr_plan_machine(run->plan),
                                           run->config->model.use_amp ? SR_BF16 : SR_F32),
        .plan_bytes = run->cost.plan.activation_bytes,
        .dtype = run->config->model.use_amp ? "bf16" : "f32",
    };
    sr_bench_crops(&run->train, r->crops, sizeof r->crops);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        r->peak_bytes = (size_t)usage.ru_maxrss * 1024;
}

// Opens a run as training does, except for the data.
SrStatus sr_bench(const SrConfig *config, const SrBenchOptions *options, SrBenchResult *out,
                  SrText *profile) {
    SrRun *run = NULL;
    SrStatus status;
    double *seconds = sr_calloc((size_t)options->steps + 1, sizeof *seconds);
    SR_TRY_MEMORY(seconds, "%d timings", options->steps);
    double began = sr_clock();
    SR_TRY_GOTO(sr_run_open(config, SR_RUN_BENCH, &run));
    double start_s = sr_clock() - began;
    fill_inputs(run);
    SR_TRY_GOTO(time_steps(run, options, seconds));
    fill_result(run, seconds, options->steps, out);
    out->start_s = start_s;
    if (options->profile || options->ops)
        status = sr_bench_profile(run->plan, options->steps, options->ops, profile);
done:
    sr_run_close(run);
    sr_free(seconds);
    return status;
}

void sr_bench_text(const SrBenchResult *r, SrText *out) {
    char peak[32];
    sr_text_printf(
        out,
        "step of %d images, crops %s: median %.1f ms, fastest %.1f ms of %d; %.1f images/s, "
        "%.1f GFLOP/s; %d threads (%s, %s), peak memory %s\n",
        r->batch, r->crops, r->median_ms, r->min_ms, r->steps, r->images_per_s, r->gflops,
        r->threads, r->cpu, r->dtype, sr_bytes_text((double)r->peak_bytes, peak, sizeof peak));
}

// bench/peer.sh compares the line with PyTorch's.
void sr_bench_json(const char *arch, const SrBenchResult *r, SrText *out) {
    sr_json_begin(out);
    sr_json_string(out, "arch", arch);
    sr_json_string(out, "crops", r->crops);
    sr_json_int(out, "batch", r->batch);
    sr_json_string(out, "dtype", r->dtype);
    sr_json_int(out, "threads", r->threads);
    sr_json_float(out, "median_ms", r->median_ms);
    sr_json_float(out, "min_ms", r->min_ms);
    sr_json_float(out, "images_per_s", r->images_per_s);
    sr_json_float(out, "gflops", r->gflops);
    sr_json_int(out, "steps", r->steps);
    sr_json_string(out, "cpu", r->cpu);
    sr_json_float(out, "peak_gflops", r->peak_gflops);
    sr_json_float(out, "start_s", r->start_s);
    sr_json_int(out, "plan_mb", (int64_t)(r->plan_bytes >> 20));
    sr_json_int(out, "max_rss_mb", (int64_t)(r->peak_bytes >> 20));
    sr_json_end(out);
}
