// sslrun augment CONFIG --out sheet.png: draws training images next to their views, as the network
// sees them.
#include "base/file.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "pages/photos/contact_sheet.h"

static SrStatus augment(const SrConfig *config, const SrArgs *args, const SrSheetOptions *o,
                        const char *file, SrText *out) {
    SrText png = SR_TEXT_INIT, next = SR_TEXT_INIT, trains = SR_TEXT_INIT;
    SrSheetReport report;
    SrStatus status = sr_contact_sheet(config, o, &png, &report);
    if (status == SR_OK)
        status = sr_file_write_text(file, &png);
    sr_text_deinit(&png);
    SR_TRY(status);
    sr_text_printf(out, "%s: %d images of epoch %lld with %d views each, %d x %d pixels\n", file,
                   report.images, (long long)o->epoch, report.views, report.w, report.h);
    if (report.unreadable)
        sr_text_printf(out, "%d of them cannot be read\n", report.unreadable);
    sr_text_printf(&trains, "trains, and writes report.html in %s while it does",
                   config->checkpoint.dir);
    sr_next_add_config(&next, trains.s ? trains.s : "", NULL, config, args);
    sr_text_add(out, next.s ? next.s : "");
    sr_text_deinit(&next);
    sr_text_deinit(&trains);
    return SR_OK;
}

typedef struct {
    int images, epoch;
    bool force;
    const char *file;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, file, "--out", "FILE.png", "the picture to write"),
    SR_FLAG_NUMBER(Options, images, "--images", "number of rows (8, at most 64)"),
    SR_FLAG_NUMBER(Options, epoch, "--epoch", "epoch whose order and random draws are shown (0)"),
    SR_FLAG_ON(Options, force, "--force", "replace a file that exists"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.images = 8};
    SrArgs args;
    SrConfig *config;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (!o.file || o.images < 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun augment needs --out FILE.png and at least one image");
    if (o.images > SR_SHEET_MAX_IMAGES)
        SR_FAIL(SR_ERR_CONFIG, "--images %d: expected at most %d, which fit one picture", o.images,
                SR_SHEET_MAX_IMAGES);
    if (!sr_text_ends(o.file, ".png"))
        SR_FAIL(SR_ERR_CONFIG, "--out %s: the name should end in .png", o.file);
    SR_TRY(sr_file_check_new(o.file, o.force));
    SR_TRY(sr_args_load_config(&args, "augment", &config));
    SrSheetOptions options = {.images = o.images, .epoch = o.epoch};
    SrStatus status = augment(config, &args, &options, o.file, &out);
    sr_config_free(config);
    if (status == SR_OK)
        return sr_args_print_done(&out, o.file);
    sr_text_deinit(&out);
    return status;
}

const SrVerb sr_verb_augment = {
    .name = "augment",
    .group = SR_VERB_TRAIN,
    .args = "CONFIG [KEY=VALUE ...] --out FILE.png",
    .summary = "draws training images next to their augmented views",
    .help = "Each row of the picture holds one training image and its augmented views, with the "
            "values that were drawn for each view. Look at it before a long run: crops that show "
            "nothing of the object, wrong colours and upside-down photos are visible here.",
    .examples = {{"sslrun augment photos.yaml --out views.png",
                  "Draws eight photos with their views."},
                 {"sslrun augment photos.yaml --out later.png --images 4 --epoch 5",
                  "Draws four photos as the sixth epoch sees them."}},
    .files = "FILE.png is not replaced without --force.",
    .flags = flags,
    .run = run_verb,
};
