// sslrun tidy DIR: lists damaged files, copies, and pictures that are dark, blurry or odd.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/text/escape.h"
#include "base/text/json.h"
#include "cli/args/folder_args.h"
#include "cli/args/photo_page_args.h"
#include "cli/interrupt.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "data/image_pool.h"
#include "data/sandbox.h"
#include "folder/tidy.h"
#include "folder/tidy_lists.h"
#include "pages/photos/photo_page.h"

typedef struct {
    bool json, csv, check, sandbox;
    const char *keep, *script, *drop;
    SrPhotoFiles files;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, keep, "--keep", "FILE.txt",
                 "write the files that are worth keeping as a list for --data or DATA_PATHS"),
    SR_FLAG_TEXT(Options, script, "--script", "FILE.sh",
                 "write the other files as lines that move them aside"),
    SR_FLAG_TEXT(Options, drop, "--drop", "ISSUES",
                 "what --keep and --script leave out "
                 "(unreadable,same-file,same-pixels)"),
    SR_PHOTO_FLAGS(Options),
    SR_FLAG_ON(Options, json, "--json", "print one JSON line per finding"),
    SR_FLAG_ON(Options, csv, "--csv", "print one CSV line per finding"),
    SR_FLAG_ON(Options, check, "--check", "exit with 1 if something was found"),
    SR_SANDBOX_FLAG(Options, sandbox),
    {0}};

static SrStatus name_of(const SrImageSet *set, int64_t i, SrImagePool *pool, const char **out) {
    if (i < 0) {
        *out = "";
        return SR_OK;
    }
    return sr_image_set_name(set, i, pool, out);
}

// ---- findings -----------------------------------------------------------------------------------

typedef struct {
    const SrImageSet *set;
    const SrTidy *t;
    SrImagePool *pool;
} Findings;

static const char *reason_of(const SrTidy *t, int64_t i) {
    bool unreadable = t->finding[i].issue == SR_TIDY_UNREADABLE;
    return unreadable ? sr__string_list_get(&t->reasons, i) : "";
}

static void json_line(const SrTidy *t, int64_t i, const char *file, const char *other,
                      SrText *out) {
    const SrTidyFinding *f = &t->finding[i];
    sr_json_begin(out);
    sr_json_string(out, "issue", sr_tidy_name(f->issue));
    sr_json_string(out, "file", file);
    if (f->other >= 0)
        sr_json_string(out, "of", other);
    if (*sr_tidy_unit(f->issue))
        sr_json_float(out, "value", f->value);
    if (*reason_of(t, i))
        sr_json_string(out, "reason", reason_of(t, i));
    sr_json_end(out);
}

static void csv_line(const SrTidy *t, int64_t i, const char *file, const char *other, SrText *out) {
    const SrTidyFinding *f = &t->finding[i];
    sr_text_printf(out, "%s,", sr_tidy_name(f->issue));
    sr_escape_csv(file, out);
    if (*sr_tidy_unit(f->issue))
        sr_text_printf(out, ",%.6g,", f->value);
    else
        sr_text_add(out, ",,");
    sr_escape_csv(other, out);
    sr_text_add(out, ",");
    sr_escape_csv(reason_of(t, i), out);
    sr_text_add(out, "\n");
}

static SrStatus add_findings(const Findings *x, bool csv, SrText *out) {
    if (csv)
        sr_text_add(out, "issue,file,value,of,reason\n");
    for (int64_t i = 0; i < x->t->n_findings; i++) {
        const char *file, *other;
        sr_image_pool_reset(x->pool);
        SR_TRY(name_of(x->set, x->t->finding[i].file, x->pool, &file));
        SR_TRY(name_of(x->set, x->t->finding[i].other, x->pool, &other));
        if (csv)
            csv_line(x->t, i, file, other, out);
        else
            json_line(x->t, i, file, other, out);
    }
    return SR_OK;
}

// One line per issue with its worst file.
static SrStatus add_table(const Findings *x, SrText *out) {
    const SrTidy *t = x->t;
    int64_t first = 0;
    sr_text_printf(out, "%lld files, %lld findings, %.1f s\n", (long long)t->n,
                   (long long)t->n_findings, t->seconds);
    for (int issue = 0; issue < SR_TIDY_ISSUES; first += t->count[issue++]) {
        const char *file;
        if (t->count[issue] == 0)
            continue;
        sr_image_pool_reset(x->pool);
        SR_TRY(name_of(x->set, t->finding[first].file, x->pool, &file));
        sr_text_printf(out, "  %-16s %7lld  ", sr_tidy_name((SrTidyIssue)issue),
                       (long long)t->count[issue]);
        sr_escape_line(file, out);
        sr_text_add(out, "\n");
    }
    return SR_OK;
}

// ---- lists --------------------------------------------------------------------------------------

static SrStatus parse_drop(const char *text, bool issues[SR_TIDY_ISSUES]) {
    char name[64];
    memset(issues, 0, SR_TIDY_ISSUES * sizeof *issues);
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        SrTidyIssue issue;
        snprintf(name, sizeof name, "%.*s", (int)SR_MIN(n, sizeof name - 1), p);
        SR_TRY(sr_tidy_find_issue(name, &issue));
        issues[issue] = true;
        p += n + (p[n] == ',');
    }
    return SR_OK;
}

static SrStatus write_lists(const Options *o, const Findings *x, SrText *next) {
    bool issues[SR_TIDY_ISSUES];
    SrTidyLists lists = {.keep = o->keep, .script = o->script};
    SR_TRY(parse_drop(o->drop, issues));
    SR_TRY(sr_tidy_write_lists(x->set, x->t, issues, &lists));
    if (lists.unnamed > 0)
        sr_warn("%lld names hold line breaks and are not in %s", (long long)lists.unnamed,
                o->keep ? o->keep : o->script);
    if (o->keep)
        sr_info("%s lists %lld files; %lld are left out", o->keep, (long long)lists.kept,
                (long long)lists.dropped);
    if (o->keep)
        SR_NEXT(next, "writes a configuration for the files of the list", "init", o->keep);
    return SR_OK;
}

// ---- the verb -----------------------------------------------------------------------------------

static SrStatus look(const SrImageSet *set, SrTidy *t) {
    sr_interrupt_listen("stopping after these images");
    sr_stop_set(sr_interrupt_asked, NULL);
    SrStatus status = sr_tidy(set, t);
    sr_stop_set(NULL, NULL);
    if (status == SR_ERR_INTERRUPT)
        return sr_fail(status, "stopped; nothing was written");
    sr_interrupt_uninstall();
    return status;
}

static SrStatus report(const Options *o, const Findings *x, SrText *out, SrText *next) {
    SrStatus status = o->json || o->csv || sr_photo_files_any(&o->files)
                          ? add_findings(x, o->csv, out)
                          : add_table(x, out);
    if (status == SR_OK && (o->keep || o->script))
        status = write_lists(o, x, next);
    return status;
}

// Suggests the page of what was found, and the list without what a training should not see.
static void add_next(const Options *o, const SrTidy *t, const char *data, SrText *next) {
    bool issues[SR_TIDY_ISSUES];
    int64_t dropped = 0;
    if (parse_drop(o->drop, issues) != SR_OK)
        return;
    for (int issue = 0; issue < SR_TIDY_ISSUES; issue++)
        dropped += issues[issue] ? t->count[issue] : 0;
    if (t->n_findings > 0 && !sr_photo_files_any(&o->files))
        SR_NEXT_AGAIN(next, "writes a page that shows them", "--page", "tidy.html");
    if (dropped > 0 && !o->keep)
        SR_NEXT(next, "lists the files that are worth keeping", "tidy", data, "--keep", "keep.txt");
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.drop = "unreadable,same-file,same-pixels"};
    SrArgs args;
    SrImageSet set = {.n = 0};
    SrTidy t = {.n = 0};
    SrText out = SR_TEXT_INIT, next = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_args_no_overrides(&args, "tidy"));
    if (args.n_names != 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun tidy needs a folder of images");
    if (o.csv && (o.json || sr_photo_files_any(&o.files)))
        SR_FAIL(SR_ERR_CONFIG, "--csv goes neither with --json nor with --page: give one of them");
    SR_TRY(sr_args_check_images("sslrun tidy", args.names[0]));
    if (o.sandbox)
        SR_TRY(sr_sandbox_use());
    Findings x = {&set, &t, NULL};
    SrStatus status = sr_image_pool_new(&x.pool);
    if (status == SR_OK)
        status = sr_image_set_open(args.names[0], &set);
    if (status == SR_OK)
        status = look(&set, &t);
    if (status == SR_OK)
        status = report(&o, &x, &out, &next);
    int64_t found = t.n_findings;
    if (status == SR_OK)
        add_next(&o, &t, args.names[0], &next);
    sr_tidy_deinit(&t);
    sr_image_set_close(&set);
    sr_image_pool_free(x.pool);
    if (status == SR_OK && sr_photo_files_any(&o.files))
        status = sr_photo_page_tidy(&o.files, &out);
    status = sr_photo_files_print(status, &o.files, o.json, &out);
    if (status == SR_OK && !o.json && !o.csv)
        sr_next_say(&next);
    sr_text_deinit(&next);
    if (status == SR_OK && o.check && found > 0)
        SR_FAIL(SR_ERR_RUN, "%lld findings, and --check was given", (long long)found);
    return status;
}

const SrVerb sr_verb_tidy = {
    .name = "tidy",
    .group = SR_VERB_FOLDER,
    .args = "DIR",
    .summary = "lists damaged files, copies and odd pictures",
    .help =
        "Every file is decoded once, without a model. The issues are: unreadable, wrong-extension, "
        "same-file, same-pixels, near-copy (a 64-bit hash of low frequencies), "
        "blurry, dark, bright, low-information, odd-size, odd-aspect, grey-as-colour and rotated "
        "(EXIF).\n\nThe table has a line per issue with its number and worst file; --json, --csv "
        "and --page list them. Nothing is deleted or moved: --keep writes a list of the good "
        "files, and --script lines that move the others, for you to read and run.",
    .examples = {{"sslrun tidy photos", "Counts what is wrong with the photos."},
                 {"sslrun tidy photos --keep keep.txt --script aside.sh",
                  "Writes a list of good files, and commands that move the others aside."},
                 {"sslrun tidy photos --page tidy.html", "Writes a page with the worst of each."}},
    .files =
        "FILE.txt of --keep is a list of paths for init, DATA_PATHS and every verb that takes a "
        "folder. FILE.sh of --script moves files into ISSUE folders below tidy-aside/.",
    .exit =
        "0: done. 1: the command failed, or --check was given and something was found. 2: usage "
        "or configuration. 128 + signal: stopped.",
    .flags = flags,
    .run = run_verb,
};
