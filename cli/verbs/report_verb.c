// sslrun report RUN [RUN ...]: writes a run's page once more, or one page that compares several
// runs.
#include <stdio.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "pages/photos/image_gallery.h"
#include "pages/runs/run_compare.h"
#include "pages/runs/run_csv.h"
#include "pages/runs/run_page.h"
#include "pages/runs/run_report.h"

// Writes a run's page once more; a run without photos or checkpoints still has curves.  A file that
// the system cannot read leaves the page as it was.
static SrStatus again(const char *run, bool quick) {
    SrGalleryReport images;
    SrText next = SR_TEXT_INIT;
    SrStatus status = quick ? SR_OK : sr_image_gallery_again(run, &SR_GALLERY_DEFAULT, &images);
    if (status == SR_ERR_IO)
        return status;
    if (status != SR_OK)
        sr_warn("the page keeps its earlier images, if it had any: %s", sr_status_message());
    SR_TRY(sr_run_report_write(run));
    printf("%s/" SR_REPORT_FILE "\n", run);
    sr_next_add_web(&next, run);
    sr_next_say(&next);
    return SR_OK;
}

static SrStatus compare(const SrArgs *args, const char *file) {
    SrText page = SR_TEXT_INIT;
    SrStatus status = sr_run_compare(args->names, args->n_names, &page);
    if (status == SR_OK)
        status = sr_file_write_text(file, &page);
    sr_text_deinit(&page);
    SR_TRY(status);
    printf("%s\n", file);
    return SR_OK;
}

// Prints all figures of the runs, or writes them to a file.
static SrStatus write_csv(const SrArgs *args, const char *file) {
    SrText text = SR_TEXT_INIT;
    SrStatus status = sr_run_csv(args->names, args->n_names, &text);
    if (status == SR_OK && !file)
        return sr_args_print(&text);
    if (status == SR_OK)
        status = sr_file_write_text(file, &text);
    sr_text_deinit(&text);
    SR_TRY(status);
    printf("%s\n", file);
    return SR_OK;
}

static SrStatus add_run(const char *run, SrArgs *out) {
    if (out->n_names == SR_ARGS_MAX)
        SR_FAIL(SR_ERR_CONFIG, "sslrun report: more than %d runs", SR_ARGS_MAX);
    out->names[out->n_names++] = run;
    return SR_OK;
}

// Adds the runs of the seeds in a folder, whose names are in the arena.
static SrStatus add_sweep(const char *folder, char *const *inside, int n, SrArgs *out,
                          SrArena *arena) {
    for (int i = 0; i < n; i++) {
        const char *path = sr_arena_printf(arena, "%s/%s", folder, inside[i]);
        SR_TRY_MEMORY(path, "%s", folder);
        if (sr_run_sweep_length(path) >= 0 && sr_run_is_folder(path))
            SR_TRY(add_run(path, out));
    }
    return SR_OK;
}

// Adds a run; a folder of a sweep stands for the runs of its seeds.
static SrStatus add_runs(const char *folder, SrArgs *out, SrArena *arena) {
    char **inside;
    int n, before = out->n_names;
    if (sr_run_is_folder(folder))
        return add_run(folder, out);
    if (sr_file_list(folder, &inside, &n) == SR_OK) {
        SrStatus status = add_sweep(folder, inside, n, out, arena);
        sr_file_list_free(inside, n);
        SR_TRY(status);
    }
    if (out->n_names == before)
        SR_FAIL(SR_ERR_CONFIG,
                "%s is not the folder of a run: it holds none of stdout.json, metrics.json and "
                "train_config.yaml",
                folder);
    return SR_OK;
}

typedef struct {
    bool quick, csv;
    const char *out;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_ON(Options, quick, "--quick", "write the curves again and keep the images"),
    SR_FLAG_ON(Options, csv, "--csv",
               "print every number of metrics.json as run,seed,epoch,key,value"),
    SR_FLAG_TEXT(Options, out, "--out", "FILE",
                 "page of several runs (compared.html), or file of --csv"),
    {0}};

static SrStatus report(const SrArgs *args, const Options *o) {
    if (o->csv)
        return write_csv(args, o->out);
    if (args->n_names > 1 && o->quick)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun report: --quick works with one run only; a comparison has no images");
    if (args->n_names == 1 && o->out)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun report: --out works with several runs only; the page of one run is "
                "%s/" SR_REPORT_FILE,
                args->names[0]);
    return args->n_names == 1 ? again(args->names[0], o->quick)
                              : compare(args, o->out ? o->out : "compared.html");
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.quick = false};
    SrArgs args, runs = {.n_names = 0};
    SrArena arena = SR_ARENA_INIT;
    SrStatus status = SR_OK;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (args.n_names < 1 || args.n_overrides)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun report: no run is named; give the folder of one run or of several");
    for (int i = 0; i < args.n_names && status == SR_OK; i++)
        status = add_runs(args.names[i], &runs, &arena);
    if (status == SR_OK)
        status = report(&runs, &o);
    sr_arena_deinit(&arena);
    return status;
}

const SrVerb sr_verb_report = {
    .name = "report",
    .group = SR_VERB_LOOK,
    .common = 3,
    .args = "RUN\nRUN RUN ... [--out FILE.html]\nRUN ... --csv",
    .summary = "writes the page of a run, or one page that compares runs",
    .help = "The page is a single HTML file without scripts from elsewhere: curves, figures of the "
            "evaluation, neighbours, a map of the images and findings. Training writes it too; "
            "this verb writes it again. The folder of a run with several seeds stands for all of "
            "them.",
    .examples = {{"sslrun report runs/photos", "Writes runs/photos/report.html."},
                 {"sslrun report runs/photos runs/photos-1 --out seeds.html", "Compares two runs."},
                 {"sslrun report runs/photos --csv", "Prints all figures, one per line."}},
    .files = "RUN/report.html, or FILE.html, is replaced.",
    .flags = flags,
    .run = run_verb,
};
