// Chooses a configuration for a folder of photos: the largest trunk of a short ladder that trains
// in the given time.  Forecasts come from a plan of the configuration and from loading some of its
// images (trainer/bench/epoch_time.h), not from tables.
#include "pages/starter_config.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "trainer/bench/epoch_time.h"

static const SrStarterRung rungs[] = {
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

// Crops for a trunk with weights of others, as parts of the size that its publisher uses.
static const struct {
    int quarters;
    const char *why, *expect;
} start_crops[] = {
    {2, "sees crops of half the size that its weights saw, which is quick", "coarse details"},
    {3, "sees crops of three quarters of the size that its weights saw", "more details"},
    {4, "sees crops of the size that its weights saw", "the details that its weights know"},
};

// The rungs to try, from small to large.
typedef struct {
    const SrStarterRung *rung;
    int n;
    int least_epochs; // the smallest trunk trains at least so long
} Ladder;

enum { VIEWS_SEEN = 270000, MOST_EPOCHS = 400, ENOUGH_EPOCHS = 80, LEAST_EPOCHS = 10 };
// Weights that are already good need fewer epochs, and more would take them too far away.
enum { LEAST_CROP = 32, START_BATCH = 64, START_EPOCHS = 20, START_LEAST_EPOCHS = 2 };

static int power_of_two(int64_t at_most, int low, int high) {
    int n = low;
    while (2 * n <= high && 2 * n <= at_most)
        n *= 2;
    return n;
}

static int probes_every(const SrStarterRecipe *r) {
    return SR_MAX(r->epochs / (r->from ? 5 : 10), 1);
}

// Gives few photos more epochs, because a network needs a number of updates that hardly depends
// on the number of photos.
static void choose_length(SrStarterRecipe *r) {
    const SrPhotoSurvey *s = r->survey;
    int64_t n = s->images - s->images * s->unreadable / SR_MAX(s->opened, 1);
    int64_t wanted = VIEWS_SEEN / SR_MAX(n, 1);
    r->batch = power_of_two(n / 3, 4, r->from ? START_BATCH : 128);
    r->epochs = r->from ? START_EPOCHS : (int)SR_MIN(SR_MAX(wanted, ENOUGH_EPOCHS), MOST_EPOCHS);
    r->probe_every = s->classes > 1 ? probes_every(r) : 0;
}

// ---- forecasts ----------------------------------------------------------------------------------

static SrStatus forecast(const SrConfig *config, int64_t images, SrStarter *s) {
    SrEpochTime epoch;
    SR_TRY(sr_epoch_time(config, images, &epoch));
    s->memory_bytes = epoch.memory_bytes;
    s->seconds = epoch.seconds * config->optimizer.num_epochs;
    return SR_OK;
}

static SrStatus try_rung(const SrStarterRecipe *r, const SrStarterRung *rung, SrText *text,
                         SrStarter *s) {
    SrConfig *config;
    *s = (SrStarter){.method = "DCL",
                     .trunk = rung->name,
                     .crop = rung->crop,
                     .batch = r->batch,
                     .epochs = r->epochs,
                     .expect = rung->expect,
                     .why_not = ""};
    sr_starter_file(r, rung, text);
    if (text->failed)
        return sr_out_of_memory("%s", r->name);
    SR_TRY(sr_config_parse(text->s, r->name, NULL, 0, &config));
    SrStatus status = forecast(config, r->survey->images, s);
    sr_config_free(config);
    return status;
}

// Returns the reason why a rung does not fit this folder or machine; "": it fits.  Photos are
// hardly enlarged to fill a crop, and half of the free memory stays free.
static const char *misfit(const SrPhotoSurvey *s, const SrStarterRung *rung, const SrStarter *of) {
    double free_bytes = (double)sr_memory_available();
    if ((double)rung->crop > 1.15 * (double)s->side.middle)
        return "the images are too small for these crops";
    if (free_bytes > 0 && of->memory_bytes > free_bytes / 2)
        return "needs more than half of the free memory";
    return "";
}

// Reduces the epochs of the smallest trunk to those that fit the time, but not below the ladder's
// least, on a slow machine or for a large folder.
static SrStatus fewer_epochs(SrStarterRecipe *r, const Ladder *ladder, const SrStarterRung *rung,
                             int minutes, SrText *text, SrStarter *s) {
    double epoch_s = s->seconds / r->epochs;
    if (s->seconds <= 60.0 * minutes)
        return SR_OK;
    r->epochs = (int)SR_MAX(60.0 * minutes / epoch_s, ladder->least_epochs);
    r->probe_every = r->probe_every ? probes_every(r) : 0;
    text->len = 0;
    return try_rung(r, rung, text, s);
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
// goes on to the next larger ones until it is full.  A trunk of others may refuse a size of crops.
static SrStatus climb(SrStarterRecipe *r, const Ladder *ladder, int minutes, SrText *text,
                      SrStarters *all) {
    SrStatus refused = SR_OK;
    SrStarter size;
    bool taken = true;
    *all = (SrStarters){.n = 0};
    for (int i = 0; i < ladder->n && (taken || all->n < SR_STARTER_SIZES); i++) {
        const SrStarterRung *rung = &ladder->rung[i];
        SrText next = SR_TEXT_INIT;
        bool first = all->n == 0;
        SrStatus status = try_rung(r, rung, &next, &size);
        if (status == SR_OK && first)
            status = fewer_epochs(r, ladder, rung, minutes, &next, &size);
        else if (status == SR_OK)
            size.why_not = misfit(r->survey, rung, &size);
        bool fits = status == SR_OK && !*size.why_not && size.seconds <= 60.0 * minutes;
        if (status == SR_OK && (first || (taken && fits))) {
            SrText before = *text;
            *text = next;
            next = before;
        }
        sr_text_deinit(&next);
        if (status == SR_ERR_CONFIG && r->from) {
            refused = status;
            continue;
        }
        if (status == SR_ERR_MEMORY && !first) // the previous rung stays
            return SR_OK;
        SR_TRY(status);
        taken = taken && (first || fits);
        keep(all, &size, taken);
    }
    return all->n ? SR_OK : refused;
}

// Fills the rungs of a trunk that others trained.
static Ladder ladder_from(const SrStarterWeights *from, SrStarterRung rung[]) {
    int n = 0;
    for (int i = 0; i < SR_COUNT(start_crops); i++) {
        int crop = sr_preset_pixels(from->preset)->side * start_crops[i].quarters / 4;
        if (crop >= LEAST_CROP)
            rung[n++] = (SrStarterRung){.name = from->preset->name,
                                        .trunk = from->preset->name,
                                        .width = from->width,
                                        .crop = crop,
                                        .why = start_crops[i].why,
                                        .expect = start_crops[i].expect};
    }
    return (Ladder){.rung = rung, .n = n, .least_epochs = START_LEAST_EPOCHS};
}

SrStatus sr_starter_config(SrStarterRecipe *recipe, int minutes, SrText *text, SrStarters *out) {
    const SrPhotoSurvey *survey = recipe->survey;
    SrStarterRung own[SR_COUNT(start_crops)];
    if (survey->images - survey->unreadable < SR_STARTER_LEAST_IMAGES)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %lld readable images are too few to learn from; sslrun needs at least %d, and "
                "useful features need a few hundred%s%s",
                survey->root, (long long)(survey->images - survey->unreadable),
                SR_STARTER_LEAST_IMAGES,
                survey->n_reasons ? "; the first one that cannot be read: " : "",
                survey->n_reasons ? survey->reason[0] : "");
    Ladder ladder = recipe->from ? ladder_from(recipe->from, own)
                                 : (Ladder){rungs, SR_COUNT(rungs), .least_epochs = LEAST_EPOCHS};
    choose_length(recipe);
    SrLogLevel before = sr_log_set_level(SR_LOG_WARN); // training reports inferred values
    SrStatus status = climb(recipe, &ladder, minutes, text, out);
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
