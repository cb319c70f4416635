// Writes the lines about the images of a run, and gathers the unreadable ones of all ranks.
#include "trainer/data/data_summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "data/image_pool.h"
#include "data/image_probe.h"
#include "data/load/loader.h"
// Describes the images that `limit` chooses.  -1: all.
static void describe(const SrSplit *split, int64_t limit, SrText *out) {
    const SrDataset *source = split->source;
    int64_t all = source->length(split->set);
    int classes = source->classes ? source->classes(split->set) : 0;
    const char *skipped = source->skipped ? source->skipped(split->set) : "";
    sr_text_printf(out, "%lld", (long long)(limit > 0 ? SR_MIN(limit, all) : all));
    if (limit > 0 && limit < all)
        sr_text_printf(out, " of %lld", (long long)all);
    sr_text_add(out, " images");
    if (classes > 0)
        sr_text_printf(out, " in %d class%s", classes, classes == 1 ? "" : "es");
    if (*split->path)
        sr_text_printf(out, " from %s", split->path);
    if (*skipped)
        sr_text_printf(out, " (skipped: %s)", skipped);
}

static bool same_file(const char *a, const char *b) {
    char *x = realpath(a, NULL), *y = realpath(b, NULL);
    bool same = x && y && strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}

// True if both splits have the same images.  A source with its own test images gives others for
// the same path, and limits may choose others.
static bool same_images(const SrConfig *config, const SrSplit *train, const SrSplit *test) {
    const SrSplitConfig *a = &config->train, *b = &config->test;
    bool limited =
        a->data_limit > 0 && b->data_limit > 0 &&
        (a->data_limit_skip != b->data_limit_skip || a->data_limit_seed != b->data_limit_seed);
    return test->origin == SR_TEST_CONFIGURED && !limited && train->source == test->source &&
           !(test->source->accepts && test->source->accepts(test->path, "TEST")) &&
           same_file(train->path, test->path);
}

static void say_side(const char *what, const SrSplit *split, int64_t limit, const char *found) {
    SrText text = SR_TEXT_INIT;
    describe(split, limit, &text);
    sr_info("%s: %s%s", what, text.s ? text.s : "", found);
    sr_text_deinit(&text);
}

void sr_data_summary_say_set(const SrSplit *split, const char *what) {
    say_side(what, split, -1, "");
}

void sr_data_summary_say(const SrConfig *config, const SrSplit *train, const SrSplit *test) {
    if (train && train->source)
        say_side("training images", train, config->train.data_limit, "");
    if (!test)
        return;
    if (test->origin == SR_TEST_HELD_OUT) {
        sr_info("test images: none were found, so a tenth of the training images is held out");
        return;
    }
    say_side("test images", test, config->test.data_limit,
             test->origin == SR_TEST_OF_SOURCE ? ", found by DATA.TRAIN.DATA_PATHS" : "");
    if (train && train->source && same_images(config, train, test))
        sr_warn("DATA.TEST has the same images as DATA.TRAIN (%s), so its figures show how well "
                "the model remembers them and not how well it does on new images; name other "
                "images, or leave out DATA.TEST.DATA_PATHS",
                test->path);
}

// ---- channels and bits

// Finds the samples of the first image.  False: its format does not tell.
static bool first_samples(const SrSplit *split, int *channels, int *bits) {
    SrImagePool *pool;
    SrSample sample = {.path = ""};
    SrImageHeader header = {.samples = 0};
    if (split->source->samples)
        return split->source->samples(split->path, channels, bits) == SR_OK;
    if (split->source->length(split->set) < 1 || sr_image_pool_new(&pool) != SR_OK)
        return false;
    if (split->source->read(split->set, 0, pool, &sample) != SR_OK || !sample.encoded ||
        sr__image_header_read(sample.encoded, sample.encoded_bytes, &header) != SR_OK)
        header.samples = 0;
    sr_image_pool_free(pool);
    *channels = header.samples;
    *bits = header.bits;
    return header.samples > 0;
}

void sr_data_summary_say_samples(const SrConfig *config, const SrSplit *split) {
    int read = sr_split_form(config).channels, channels = 0, bits = 0;
    char kind[64] = "", hint[96] = "";
    bool known = first_samples(split, &channels, &bits);
    bool photo = !known || ((channels == 1 || channels == 3) && bits <= 8);
    sr_status_clear();
    if (read == 0 && photo)
        return;
    if (known)
        snprintf(kind, sizeof kind, "%d channel%s of %d bits, ", channels, channels == 1 ? "" : "s",
                 bits);
    if (read == 0 && channels != 3)
        snprintf(hint, sizeof hint, "; DATA.CHANNELS=%d reads all of it", channels);
    else if (read == 0)
        snprintf(hint, sizeof hint, "; DATA.KEEP_BITS=True keeps all bits");
    if (read == 0)
        sr_info("images: %sread as RGB of 8 bits%s", kind, hint);
    else
        sr_info("images: %sread as floats of %d channel%s", kind, read, read == 1 ? "" : "s");
}

// ---- images that could not be read

enum { LISTED = 20, LINE_BYTES = 512 };

typedef struct {
    int64_t seen, bad;
    int n;
    char line[LISTED][LINE_BYTES];
} OfRank;

static void look_at(const SrBadImages *images, OfRank *out) {
    SrBadReport bad = {.bad = 0};
    *out = (OfRank){.n = 0};
    if (images->loader)
        sr_loader_bad(images->loader, &bad);
    out->seen = images->last_pass ? bad.epoch_seen : bad.seen;
    out->bad = images->last_pass ? bad.epoch_bad : bad.bad;
    out->n = SR_MIN(bad.n_listed, LISTED);
    for (int i = 0; i < out->n; i++)
        snprintf(out->line[i], LINE_BYTES, "%s", bad.listed[i]);
}

void sr_data_summary_say_bad(const SrBadImages *images, SrStatus status) {
    OfRank mine, theirs;
    double total[2];
    if (status != SR_OK && status != SR_ERR_INTERRUPT && sr_comm_size() > 1)
        return;
    look_at(images, &mine);
    total[0] = (double)mine.seen;
    total[1] = (double)mine.bad;
    sr_comm_all_reduce_f64(total, 2, SR_COMM_SUM);
    if (total[1] == 0)
        return;
    sr_warn("%.0f of %.0f %s could not be read and %s:", total[1], total[0], images->what,
            images->outcome);
    for (int r = 0; r < sr_comm_size(); r++) {
        theirs = mine;
        sr_comm_broadcast(&theirs, sizeof theirs, r);
        for (int i = 0; i < theirs.n; i++)
            sr_warn("  %s", theirs.line[i]);
    }
}

SrStatus sr_data_summary_check(const SrConfig *config, const SrSplit *train) {
    SrSplit test = {.note = ""};
    const int64_t *map;
    if (!config->test_model || !sr_split_has_test(config) || train->classes < 1) {
        sr_data_summary_say(config, train, NULL);
        return SR_OK;
    }
    SrStatus status = sr_split_open_test_set(config, &test);
    if (status == SR_OK) {
        sr_data_summary_say(config, train, &test);
        status = sr_split_match_classes(train, &test, &map);
    }
    sr_split_close(&test);
    return status;
}
