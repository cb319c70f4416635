// Chooses a configuration for a folder of photos: the largest trunk of a short ladder that trains
// in the given time.  Forecasts come from a plan of the configuration (trainer/bench/estimate.h)
// and from loading some of its images (trainer/bench/bench_data.h), not from tables.
#include "pages/starter_config.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "base/text/escape.h"
#include "base/text/json.h"
#include "trainer/bench/bench_data.h"
#include "trainer/bench/estimate.h"

// A rung of the ladder: a trunk with a size of crops that suits it.
typedef struct {
    const char *name, *trunk, *map,
        *options;       // name in texts, MODEL.TRUNK.NAME, the trunk's map, its contents
    int width, crop;    // width: number of features
    const char *why;    // what a comment of the file says about it
    const char *expect; // what the table says about it
} Rung;

static const Rung rungs[] = {
    {"CIFAR's ResNet-8", "resnet_cifar", "RESNET_CIFAR", "{DEPTH: 8}", 64, 32,
     "sees small crops and each photo many times, and trains in minutes",
     "a first look at colours and coarse shapes"},
    {"a ResNet-18 of a quarter of the width", "resnet", "RESNETS",
     "{DEPTH: 18, WIDTH_MULTIPLIER: 0.25, SMALL_IMAGE_STEM: True}", 128, 32,
     "trains in minutes on a few thousand photos", "colours, textures, coarse shapes"},
    {"a ResNet-18 of a quarter of the width at 48 pixels", "resnet", "RESNETS",
     "{DEPTH: 18, WIDTH_MULTIPLIER: 0.25, SMALL_IMAGE_STEM: True}", 128, 48,
     "sees more detail and takes twice the time; configs/photos.yaml uses it too",
     "more of the shapes"},
    {"ResNet-18 at 96 pixels", "resnet", "RESNETS", "{DEPTH: 18}", 512, 96,
     "gives 512 features, from crops in which details are visible",
     "parts of objects, 512 features"},
    {"ResNet-18 at 160 pixels", "resnet", "RESNETS", "{DEPTH: 18}", 512, 160,
     "gives 512 features, from crops that are large enough for most photos",
     "details, 512 features"},
    {"ResNet-50 at 224 pixels", "resnet", "RESNETS", "{DEPTH: 50}", 2048, 224,
     "is the trunk and crop size that most papers report",
     "the size of most papers, 2048 features"},
};

// The part of the configuration that depends on the folder alone.
typedef struct {
    const SrPhotoSurvey *survey;
    const char *data, *run, *name;
    int batch, epochs, probe_every;
} Recipe;

enum { VIEWS_SEEN = 270000, MOST_EPOCHS = 400, ENOUGH_EPOCHS = 80 };

static int power_of_two(int64_t at_most, int low, int high) {
    int n = low;
    while (2 * n <= high && 2 * n <= at_most)
        n *= 2;
    return n;
}

// Gives few photos more epochs, because a network needs a number of updates that hardly depends
// on the number of photos.
static Recipe recipe_for(const SrPhotoSurvey *s, const char *data, const char *run,
                         const char *name) {
    int64_t n = s->images - s->images * s->unreadable / SR_MAX(s->opened, 1);
    Recipe r = {.survey = s, .data = data, .run = run, .name = name};
    r.batch = power_of_two(n / 3, 4, 128);
    int64_t wanted = VIEWS_SEEN / SR_MAX(n, 1);
    r.epochs = (int)SR_MIN(SR_MAX(wanted, ENOUGH_EPOCHS), MOST_EPOCHS);
    r.probe_every = s->classes > 1 ? SR_MAX(r.epochs / 10, 1) : 0;
    return r;
}

// ---- the file -----------------------------------------------------------------------------------

static void add_head(const Recipe *r, const Rung *rung, SrText *out) {
    char size[32];
    const SrPhotoSurvey *s = r->survey;
    sr_text_printf(out, "# DCL on the %lld %s of ", (long long)s->images, s->noun);
    sr_escape_line(s->root, out);
    sr_text_add(out, ", made by `sslrun init`.\n#\n#   sslrun ");
    SrText name = SR_TEXT_INIT;
    sr_text_add_word(&name, r->name);
    sr_escape_line(name.s ? name.s : "", out);
    sr_text_deinit(&name);
    sr_text_printf(out,
                   "             trains; the same command resumes after an interruption\n#   "
                   "sslrun describe KEY   explains a key; KEY=VALUE after the command changes "
                   "it\n#\n# The folder: %s, shorter sides of %lld",
                   sr_bytes_text(s->bytes, size, sizeof size), (long long)s->side.low);
    if (s->side.high > s->side.low)
        sr_text_printf(out, " to %lld", (long long)s->side.high);
    sr_text_add(out, " pixels");
    if (s->classes > 1)
        sr_text_printf(
            out,
            ", %d class folders, which serve to\n# evaluate the features and not to train them",
            s->classes);
    sr_text_printf(out, ".\n# The trunk: %s; it %s.\n", rung->name, rung->why);
    sr_text_add(out, "# The method: DCL (Yeh et al., 2022): each view of an image learns to find "
                     "the other one in the batch,\n# as in SimCLR; small batches are enough.\n");
}

static void add_quoted(const char *s, SrText *out) {
    const SrYaml node = {.type = SR_YAML_STRING, .text = s};
    sr_json_print(&node, out);
}

// A list of photos has its classes in another list.
static void add_labels(const SrPhotoSurvey *s, SrText *out) {
    if (!*s->labels)
        return;
    sr_text_add(out, "]\n      LABEL_SOURCES: [disk_filelist]\n      LABEL_PATHS: [");
    add_quoted(s->labels, out);
}

static void add_numbers(const char *name, const double *v, int n, SrText *out) {
    sr_text_printf(out, "%s: [", name);
    for (int i = 0; i < n; i++)
        sr_text_printf(out, "%s%.6g", i ? ", " : "", v[i]);
    sr_text_add(out, "]");
}

// Photos are normalised by ImageNet's figures, other images by their own.
static void add_floats(const SrPhotoSurvey *s, SrText *out) {
    static const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
    bool own = s->form.channels > 0;
    int n = sr_channels(s->form.channels);
    sr_text_add(out, "        - {name: ToTensor}\n        - {name: Normalize, ");
    add_numbers("mean", own ? s->mean : mean, n, out);
    add_numbers(", std", own ? s->std : std, n, out);
    sr_text_add(out, "}\n");
}

// Names what the files hold where that is no RGB of 8 bits.
static void add_form(const SrPhotoSurvey *s, SrText *out) {
    if (s->form.channels == 3)
        sr_text_printf(out, "    KEEP_BITS: True # the images have %d bits per sample\n", s->bits);
    else if (s->form.channels > 0)
        sr_text_printf(out, "    CHANNELS: %d # of %d bits, which are all kept\n", s->form.channels,
                       s->bits);
}

static void add_data(const Recipe *r, const Rung *rung, SrText *out) {
    sr_text_printf(out,
                   "config:\n  SEED_VALUE: 0 # the same seed gives the same bits, whatever the "
                   "number of threads\n  LOG_FREQUENCY: 50 # updates between two progress lines\n  "
                   "DATA:\n    NUM_DATALOADER_WORKERS: %d # threads that read and augment images\n",
                   sr_parallel_threads());
    add_form(r->survey, out);
    sr_text_add(out, "    TRAIN:\n      DATA_PATHS: [");
    add_quoted(r->data, out);
    add_labels(r->survey, out);
    sr_text_printf(
        out,
        "]\n      BATCHSIZE_PER_REPLICA: %d # images per update\n      DEFAULT_GRAY_IMG_SIZE: %d\n "
        "     DROP_LAST: True\n      COLLATE_FUNCTION: simclr_collator\n      TRANSFORMS: # "
        "`sslrun augment` shows the views of an image\n",
        r->batch, rung->crop);
    sr_text_printf(
        out,
        "        - {name: ImgReplicatePil, num_times: 2}\n        - {name: RandomResizedCrop, "
        "size: %d, scale: [0.2, 1]} # pixels per side; share of the area\n",
        rung->crop);
    sr_text_add(out, "        - {name: RandomHorizontalFlip, p: 0.5} # remove this if left and "
                     "right differ in meaning\n");
    if (r->survey->form.channels == 0)
        sr_text_add(out, "        - {name: ImgPilColorDistortion, strength: 0.5} # lower this if "
                         "colours have a meaning\n");
    add_floats(r->survey, out);
    sr_text_printf(
        out,
        "    TEST: # images of test/ or val/ next to train/, or a tenth of the images\n      "
        "DEFAULT_GRAY_IMG_SIZE: %d\n      TRANSFORMS:\n        - {name: Resize, size: %d}\n        "
        "- {name: CenterCrop, size: %d}\n",
        rung->crop, rung->crop, rung->crop);
    add_floats(r->survey, out);
}

static void add_model(const Rung *rung, SrText *out) {
    int hidden = SR_MAX(rung->width, 512);
    sr_text_printf(out,
                   "  MODEL:\n"
                   "    TRUNK:\n"
                   "      NAME: %s\n"
                   "      %s: %s\n"
                   "    HEAD:\n"
                   "      PARAMS:\n"
                   "        - [mlp, {dims: [%d, %d, %d, 128], use_bn: True, use_relu: True}]\n"
                   "  LOSS:\n"
                   "    name: dcl_loss\n"
                   "    dcl_loss: {temperature: 0.1, embedding_dim: 128}\n",
                   rung->trunk, rung->map, rung->options, rung->width, hidden, hidden);
}

static void add_optimizer(const Recipe *r, SrText *out) {
    char rate[SR_TEXT_NUMBER_BYTES], low[SR_TEXT_NUMBER_BYTES];
    double peak = round(1e4 * 0.1 * r->batch / 128) / 1e4; // proportional to the batch
    sr_text_number(peak, rate);
    sr_text_number(peak / 100, low);
    sr_text_printf(
        out,
        "  OPTIMIZER:\n    name: sgd\n    momentum: 0.9\n    weight_decay: 5.0e-4\n    num_epochs: "
        "%d\n    regularize_bn: True\n    regularize_bias: True\n    param_schedulers:\n      lr: "
        "# rises for 8 %% of the updates, then falls to zero\n        name: composite\n        "
        "schedulers:\n          - {name: linear, start_value: %s, end_value: %s}\n          - "
        "{name: cosine, start_value: %s, end_value: 0.0}\n        update_interval: step\n        "
        "interval_scaling: [rescaled, rescaled]\n        lengths: [0.08, 0.92]\n",
        r->epochs, low, rate, rate);
}

static void add_rest(const Recipe *r, SrText *out) {
    if (r->probe_every)
        sr_text_printf(out,
                       "  HOOKS:\n    PROBE: {EVERY_NUM_EPOCHS: %d, LIMIT: 2000} # measures the "
                       "features during training\n",
                       r->probe_every);
    sr_text_add(out, "  CHECKPOINT:\n    DIR: ");
    add_quoted(r->run, out);
    sr_text_printf(out,
                   " # report.html is written there too\n    CHECKPOINT_FREQUENCY: %d # epochs\n   "
                   " KEEP_LAST: 2\n  NEAREST_NEIGHBOR: {TOPK: [%d], SIGMA: 0.07}\n",
                   SR_MAX(r->epochs / 20, 1), (int)SR_MIN(SR_MAX(r->survey->images / 10, 1), 20));
}

static void write_file(const Recipe *r, const Rung *rung, SrText *out) {
    add_head(r, rung, out);
    add_data(r, rung, out);
    add_model(rung, out);
    add_optimizer(r, out);
    add_rest(r, out);
}

// ---- forecasts ----------------------------------------------------------------------------------

// Measures the seconds that the loader needs per photo on one core.
static SrStatus image_seconds(const SrConfig *config, double *out) {
    SrBenchOptions options = {.steps = SR_MAX(256 / config->train.batchsize_per_replica, 1)};
    SrBenchResult result;
    SR_TRY(sr_bench_data(config, &options, &result));
    *out = 1 / result.images_per_s;
    return SR_OK;
}

// Forecasts the training time; the loader's threads and the step share the cores.
static SrStatus forecast(const SrConfig *config, int64_t images, SrStarter *s) {
    SrRun *run;
    double step_s, image_s;
    SR_TRY(sr_run_open(config, SR_RUN_CHECK, &run));
    SrStatus status = sr_estimate_step(run, &step_s);
    s->memory_bytes = (double)sr_run_bytes(&run->cost);
    sr_run_close(run);
    SR_TRY(status);
    SR_TRY(image_seconds(config, &image_s));
    int64_t steps = images / config->train.batchsize_per_replica;
    double epoch_s = (double)steps * step_s + (double)images * image_s / sr_parallel_threads();
    s->seconds = epoch_s * config->optimizer.num_epochs;
    return SR_OK;
}

static SrStatus try_rung(const Recipe *r, const Rung *rung, SrText *text, SrStarter *s) {
    SrConfig *config;
    *s = (SrStarter){.method = "DCL",
                     .trunk = rung->name,
                     .crop = rung->crop,
                     .batch = r->batch,
                     .epochs = r->epochs,
                     .expect = rung->expect,
                     .why_not = ""};
    write_file(r, rung, text);
    if (text->failed)
        return sr_out_of_memory("%s", r->name);
    SR_TRY(sr_config_parse(text->s, r->name, NULL, 0, &config));
    SrStatus status = forecast(config, r->survey->images, s);
    sr_config_free(config);
    return status;
}

// Returns the reason why a rung does not fit this folder or machine; "": it fits.  Photos are
// hardly enlarged to fill a crop, and half of the free memory stays free.
static const char *misfit(const SrPhotoSurvey *s, const Rung *rung, const SrStarter *of) {
    double free_bytes = (double)sr_memory_available();
    if ((double)rung->crop > 1.15 * (double)s->side.middle)
        return "the images are too small for these crops";
    if (free_bytes > 0 && of->memory_bytes > free_bytes / 2)
        return "needs more than half of the free memory";
    return "";
}

// Reduces the epochs of the smallest trunk to those that fit the time, but not below ten, on a slow
// machine or for a large folder.
static SrStatus fewer_epochs(Recipe *r, int minutes, SrText *text, SrStarter *s) {
    double epoch_s = s->seconds / r->epochs;
    if (s->seconds <= 60.0 * minutes)
        return SR_OK;
    r->epochs = (int)SR_MAX(60.0 * minutes / epoch_s, 10);
    r->probe_every = r->probe_every ? SR_MAX(r->epochs / 10, 1) : 0;
    text->len = 0;
    return try_rung(r, &rungs[0], text, s);
}

// Keeps the last SR_STARTER_SIZES sizes; the chosen one moves with them.
static void keep(SrStarters *all, const SrStarter *size, bool chosen) {
    if (all->n == SR_STARTER_SIZES) {
        for (int i = 1; i < SR_STARTER_SIZES; i++)
            all->size[i - 1] = all->size[i];
        all->n--;
        all->chosen--;
    }
    all->chosen = chosen ? all->n : all->chosen;
    all->size[all->n++] = *size;
}

// Tries rungs from small to large: the largest that fits and ends in time is chosen, and the table
// goes on to the next larger ones until it is full.
static SrStatus climb(Recipe *r, int minutes, SrText *text, SrStarters *all) {
    SrStarter size;
    *all = (SrStarters){.n = 0};
    SR_TRY(try_rung(r, &rungs[0], text, &size));
    SR_TRY(fewer_epochs(r, minutes, text, &size));
    keep(all, &size, true);
    bool taken = true;
    for (int i = 1; i < SR_COUNT(rungs) && (taken || all->n < SR_STARTER_SIZES); i++) {
        SrText next = SR_TEXT_INIT;
        SrStatus status = try_rung(r, &rungs[i], &next, &size);
        if (status == SR_OK)
            size.why_not = misfit(r->survey, &rungs[i], &size);
        taken = taken && status == SR_OK && !*size.why_not && size.seconds <= 60.0 * minutes;
        if (taken) {
            text->len = 0;
            sr_text_add(text, next.s);
        }
        sr_text_deinit(&next);
        if (status != SR_OK) // out of memory: the previous rung
            return status == SR_ERR_MEMORY ? SR_OK : status;
        keep(all, &size, taken);
    }
    return SR_OK;
}

SrStatus sr_starter_config(const SrPhotoSurvey *survey, const char *data, const char *run,
                           const char *name, int minutes, SrText *text, SrStarters *out) {
    if (survey->images - survey->unreadable < SR_STARTER_LEAST_IMAGES)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %lld readable images are too few to learn from; sslrun needs at least %d, and "
                "useful features need a few hundred%s%s",
                survey->root, (long long)(survey->images - survey->unreadable),
                SR_STARTER_LEAST_IMAGES,
                survey->n_reasons ? "; the first one that cannot be read: " : "",
                survey->n_reasons ? survey->reason[0] : "");
    Recipe recipe = recipe_for(survey, data, run, name);
    SrLogLevel before = sr_log_set_level(SR_LOG_WARN); // training reports inferred values
    SrStatus status = climb(&recipe, minutes, text, out);
    sr_log_set_level(before);
    return status;
}

static void add_size(const SrStarter *s, bool chosen, SrText *out) {
    char time[48], memory[32];
    sr_text_printf(out, "  %s %8s  %4d  %8s  %s: %s\n", chosen ? "*" : " ",
                   sr_duration_text(s->seconds, time, sizeof time), s->crop,
                   sr_bytes_text(s->memory_bytes, memory, sizeof memory), s->trunk,
                   *s->why_not ? s->why_not : s->expect);
}

void sr_starters_text(const SrStarters *all, SrText *out) {
    const SrStarter *s = &all->size[all->chosen];
    sr_text_printf(
        out,
        "%s, %s, crops of %d pixels, batches of %d, %d epochs\n"
        "forecast for this machine (%d threads); * is written, --minutes N --force takes "
        "another:\n"
        "        time  crop    memory  network, and what its features see\n",
        s->method, s->trunk, s->crop, s->batch, s->epochs, sr_parallel_threads());
    for (int i = 0; i < all->n; i++)
        add_size(&all->size[i], i == all->chosen, out);
}
