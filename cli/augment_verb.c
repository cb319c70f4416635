// sslrun augment CONFIG --out sheet.png: training images next to their views, as the network sees
// them.
#include "base/file.h"
#include "cli/args.h"
#include "cli/verb.h"
#include "pages/contact_sheet.h"

static SrStatus augment(const SrConfig *config, const SrSheetOptions *o, const char *file,
                        SrText *out) {
    SrText png = SR_TEXT_INIT, name = SR_TEXT_INIT;
    SrSheetReport report;
    SrStatus status = sr_contact_sheet(config, o, &png, &report);
    if (status == SR_OK)
        status = sr_file_write(file, png.s, png.len);
    sr_text_deinit(&png);
    SR_TRY(status);
    sr_text_printf(out, "%s: %d images of epoch %lld and %d views of each, %d x %d pixels\n", file,
                   report.images, (long long)o->epoch, report.views, report.w, report.h);
    if (report.unreadable)
        sr_text_printf(out, "%d of them cannot be read\n", report.unreadable);
    sr_text_add_word(&name, config->path);
    sr_text_printf(out,
                   "next:\n  %s %s\n      trains, and writes report.html in %s while it does\n",
                   sr_args_program(), name.s ? name.s : "", config->checkpoint.dir);
    sr_text_deinit(&name);
    return SR_OK;
}

static SrStatus run_verb(int argc, char **argv) {
    int images = 8, epoch = 0;
    bool force = false;
    const char *file = NULL;
    const SrFlag flags[] = {
        {.name = "--out", .text = &file, .help = "the picture, a PNG"},
        {.name = "--images", .number = &images, .help = "rows (8, at most 64)"},
        {.name = "--epoch", .number = &epoch, .help = "whose order and draws are shown (0)"},
        {.name = "--force", .on = &force, .help = "replaces a file that exists"},
        {0}};
    SrArgs args;
    SrConfig *config;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (!file || images < 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun augment needs --out FILE.png and at least one image");
    if (images > SR_SHEET_MAX_IMAGES)
        SR_FAIL(SR_ERR_CONFIG, "--images %d: at most %d fit a sheet", images, SR_SHEET_MAX_IMAGES);
    if (!sr_text_ends(file, ".png"))
        SR_FAIL(SR_ERR_CONFIG, "--out %s: the name should end in .png", file);
    SR_TRY(sr_file_check_new(file, force));
    SR_TRY(sr_args_load_config(&args, "augment", &config));
    SrSheetOptions options = {.images = images, .epoch = epoch};
    SrStatus status = augment(config, &options, file, &out);
    sr_config_free(config);
    if (status == SR_OK)
        return sr_args_print(&out);
    sr_text_deinit(&out);
    return status;
}

const SrVerb sr_verb_augment = {
    .name = "augment",
    .usage = "sslrun augment CONFIG [KEY=VALUE ...] --out FILE.png [--images N] [--epoch N] "
             "[--force]",
    .help = "Draws training images beside their views, as the network sees them, with what was "
            "drawn.",
    .run = run_verb,
};
