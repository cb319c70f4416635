// sslrun duplicates DIR --model CHECKPOINT: lists groups of images that look alike.
#include <stdlib.h>

#include "base/number.h"
#include "cli/args.h"
#include "cli/best_layer.h"
#include "cli/photo_page_args.h"
#include "cli/verb.h"
#include "pages/photo_page.h"
#include "trainer/eval/image_neighbours.h"

static SrStatus parse_threshold(const char *text, double *out) {
    char *end;
    *out = sr_number_parse(text, &end);
    if (end == text || *end || !(*out > 0 && *out <= 1))
        SR_FAIL(SR_ERR_CONFIG, "--threshold %s: expected a cosine above 0, at most 1", text);
    return SR_OK;
}

typedef struct {
    bool json, null;
    const char *model, *layer, *threshold, *page;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, model, "--model", "RUN", "a run folder, or a checkpoint"),
    SR_FLAG_TEXT(Options, layer, "--layer", "NAME",
                 "feature to compare, such as res4 (the run's best)"),
    SR_FLAG_TEXT(Options, threshold, "--threshold", "COSINE",
                 "cosine from which images count as alike (0.98)"),
    SR_FLAG_TEXT(Options, page, "--page", "FILE.html", "write a page with thumbnails"),
    SR_FLAG_ON(Options, json, "--json", "print one JSON line per group"),
    SR_FLAG_ON(Options, null, "--null", "print names alone, each with a NUL after it; also -0"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.threshold = "0.98"};
    double threshold;
    SrArgs args;
    SrCheckpointModel m;
    SrBestLayer best;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (o.null && (o.json || o.page))
        SR_FAIL(SR_ERR_CONFIG, "--null goes neither with --json nor with --page: give one of them");
    SrFilesForm form = o.json || o.page ? SR_FILES_JSON : o.null ? SR_FILES_NULL : SR_FILES_TEXT;
    if (args.n_names != 1 || args.n_overrides || !o.model)
        SR_FAIL(SR_ERR_CONFIG, "sslrun duplicates needs a folder of images and --model CHECKPOINT");
    SR_TRY(parse_threshold(o.threshold, &threshold));
    SR_TRY(sr_args_check_images("sslrun duplicates", args.names[0]));
    SR_TRY(sr_checkpoint_model_open(o.model, &m));
    SrStatus status = sr_best_layer(&m, &o.layer, &best);
    if (status == SR_OK)
        status = sr_duplicates(&m, args.names[0], o.layer, threshold, form, &out);
    sr_checkpoint_model_close(&m);
    if (status == SR_OK && o.page)
        status = sr_photo_page_duplicates(o.page, out.s);
    return sr_photo_page_print(status, o.page, o.json, &out);
}

const SrVerb sr_verb_duplicates = {
    .name = "duplicates",
    .group = SR_VERB_FOLDER,
    .args = "DIR --model RUN",
    .summary = "groups the images of a folder that look alike",
    .help = "Images whose features have a cosine of at least COSINE form a group. Copies that were "
            "scaled, compressed again or cropped slightly are found too. Nothing is deleted.",
    .examples = {{"sslrun duplicates photos --model runs/photos", "Lists groups of alike photos."},
                 {"sslrun duplicates photos --model runs/photos --threshold 0.999 --json",
                  "Lists near copies alone, as JSON."}},
    .flags = flags,
    .run = run_verb,
};
