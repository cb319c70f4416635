// Times the loader alone.  The time is processor time of the one thread that works, so that other
// programs on the machine do not change the figure.
#include "trainer/bench/bench_data.h"

#include <time.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "data/decode.h"
#include "data/load/loader.h"
#include "trainer/config/derived_config.h"

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Loads a batch, of the next epoch if this one has ended.  Draws, and so the work, differ from
// epoch to epoch as in training.
static SrStatus next_batch(SrLoader *loader, int64_t *epoch) {
    const SrBatch *batch;
    SR_TRY(sr_loader_next(loader, &batch, NULL));
    if (batch)
        return SR_OK;
    SR_TRY(sr_loader_start(loader, ++*epoch, 0));
    return sr_loader_next(loader, &batch, NULL);
}

static SrStatus time_batches(SrLoader *loader, const SrBenchOptions *o, double *seconds) {
    int64_t epoch = 0;
    SR_TRY(sr_loader_start(loader, 0, 0));
    for (int i = 0; i < o->warmup + o->steps; i++) {
        double began = cpu_s();
        SR_TRY(next_batch(loader, &epoch));
        if (i >= o->warmup)
            seconds[i - o->warmup] = cpu_s() - began;
    }
    return SR_OK;
}

SrStatus sr_bench_data(const SrConfig *config, const SrBenchOptions *options, SrBenchResult *out) {
    SrConfig *single = NULL;
    SrSplit split = {.note = ""};
    SrStatus status;
    double *seconds = sr_calloc((size_t)options->steps + 1, sizeof *seconds);
    SR_TRY_MEMORY(seconds, "%d timings", options->steps);
    SR_TRY_GOTO(sr_config_copy(config, &single));
    single->num_dataloader_workers = 0; // the calling thread does all of the work
    SR_TRY_GOTO(sr_split_open_train(single, &split));
    SR_TRY_GOTO(time_batches(split.loader, options, seconds));
    double median = sr_bench_median(seconds, options->steps);
    *out = (SrBenchResult){
        .median_ms = 1e3 * median,
        .min_ms = 1e3 * seconds[0],
        .images_per_s = config->batch / median,
        .steps = options->steps,
        .threads = 1,
        .batch = config->batch,
        .cpu = "",
        .dtype = "f32",
    };
    sr_bench_crops(&split, out->crops, sizeof out->crops);
done:
    sr_split_close(&split);
    sr_config_free(single);
    sr_free(seconds);
    return status;
}

static const char *mode_name(const SrConfig *config) {
    return config->train.pixels == SR_PIXELS_FAST ? "fast" : "exact";
}

void sr_bench_data_text(const SrBenchResult *r, const SrConfig *config, SrText *out) {
    sr_text_printf(out,
                   "data alone, %d images, crops %s, %s pixels, JPEG by %s: median %.2f ms, "
                   "fastest %.2f ms of %d; %.1f images/s per core\n",
                   r->batch, r->crops, mode_name(config), sr_image_decoder_name(), r->median_ms,
                   r->min_ms, r->steps, r->images_per_s);
}

// bench/transforms.py reads the line.
void sr_bench_data_json(const SrBenchResult *r, const SrConfig *config, SrText *out) {
    sr_json_begin(out);
    sr_json_string(out, "crops", r->crops);
    sr_json_int(out, "batch", r->batch);
    sr_json_string(out, "pixels", mode_name(config));
    sr_json_string(out, "jpeg", sr_image_decoder_name());
    sr_json_int(out, "threads", 1);
    sr_json_float(out, "median_ms", r->median_ms);
    sr_json_float(out, "min_ms", r->min_ms);
    sr_json_float(out, "images_per_s", r->images_per_s);
    sr_json_end(out);
}
