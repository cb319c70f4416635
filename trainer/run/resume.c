// Begins a run: resumes from the folder's newest checkpoint, or draws a new run and moves old
// checkpoints aside.
#include "trainer/run/resume.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "trainer/run/run_folder_internal.h"

#define PATH_BYTES 4096
#define MOST_ASIDE 10000 // names tried

typedef struct {
    const SrResumeOptions *options;
    const char *dir;
    SrFolderEntry *entries;
    int n;
} Folder;

// ---- a new run ----------------------------------------------------------------------------------

// Draws the run's identity; no number of the run depends on it.  Even if the clock was set back,
// the new run is younger than all runs of the folder.
static void draw_identity(const Folder *f, SrRunIdentity *out) {
    struct timespec now;
    uint64_t drawn = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn)
        drawn = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid();
    snprintf(out->id, sizeof out->id, "%016llx", (unsigned long long)drawn);
    out->started = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    for (int i = 0; i < f->n; i++)
        if (f->entries[i].readable)
            out->started = SR_MAX(out->started, f->entries[i].at.run.started + 1);
}

// Makes the first earlier-<N> that does not exist.
static SrStatus make_aside(const char *dir, char out[PATH_BYTES]) {
    for (int i = 1; i <= MOST_ASIDE; i++) {
        char name[32];
        snprintf(name, sizeof name, "earlier-%d", i);
        SR_TRY(sr_file_join(out, PATH_BYTES, dir, name));
        if (!sr_file_exists(out) && !sr_file_is_link(out))
            return sr_file_mkdirs(out);
    }
    SR_FAIL(SR_ERR_IO,
            "%s: none of the names earlier-1 to earlier-%d is free for the earlier checkpoints; "
            "remove or rename one of these folders",
            dir, MOST_ASIDE);
}

static SrStatus move(const char *dir, const char *aside, const char *name) {
    char from[PATH_BYTES], to[PATH_BYTES];
    SR_TRY(sr_file_join(from, sizeof from, dir, name));
    SR_TRY(sr_file_join(to, sizeof to, aside, name));
    return sr_file_exists(from) || sr_file_is_link(from) ? sr_file_move(from, to) : SR_OK;
}

// Moves the newest checkpoint last: after a kill in between, the folder still resumes from it.
static SrStatus move_all(const char *dir, const SrFolderEntry *entries, int n) {
    static const char *const besides[] = {"model_best.safetensors", "metrics.json",   "stdout.json",
                                          "train_config.yaml",      "evaluated.json", "tb_logs"};
    char aside[PATH_BYTES], link[PATH_BYTES];
    SR_TRY(make_aside(dir, aside));
    SR_TRY(sr_file_join(link, sizeof link, dir, SR__LINK_NAME));
    if (sr_file_is_link(link))
        SR_TRY(sr_file_remove(link));
    for (int i = 0; i < SR_COUNT(besides); i++)
        SR_TRY(move(dir, aside, besides[i]));
    for (int i = n - 1; i >= 0; i--)
        SR_TRY(move(dir, aside, entries[i].name));
    sr_info("starting again: the %d earlier checkpoint%s %s now in %s", n, n == 1 ? "" : "s",
            n == 1 ? "is" : "are", aside);
    return SR_OK;
}

SrStatus sr_folder_move_aside(const char *dir) {
    SrFolderEntry *entries;
    int n;
    SR_TRY(sr_folder_list(dir, &entries, &n));
    SrStatus status = n > 0 ? move_all(dir, entries, n) : SR_OK;
    sr_free(entries);
    return status;
}

static SrStatus begin(const Folder *f, SrPosition *at) {
    *at = (SrPosition){0};
    draw_identity(f, &at->run);
    return SR_OK;
}

// ---- resuming -----------------------------------------------------------------------------------

// A file that cannot be opened may be the newest and whole: resuming from another one could
// overwrite it.
static SrStatus check_openable(const Folder *f) {
    int bad = 0;
    for (int i = 0; i < f->n; i++) {
        char path[PATH_BYTES];
        SR_TRY(sr_file_join(path, sizeof path, f->dir, f->entries[i].name));
        if (f->entries[i].readable || sr_file_check_readable(path) == SR_OK)
            continue;
        sr_warn("%s", sr_status_message());
        bad++;
    }
    if (bad == 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "CHECKPOINT.DIR '%s': %d checkpoint%s cannot be opened and may be the newest; make "
            "them readable, give another folder, or start again with --restart",
            f->dir, bad, bad == 1 ? "" : "s");
}

// Logs one line and no error: a resumed run may have more epochs or another learning rate.  The
// line is no warning where the run has finished, which the changes cannot reach.
static SrStatus say_changes(const char *path, const SrCheckpointParts *parts, bool finished) {
    SrText changes = SR_TEXT_INIT;
    SrStatus status = sr_checkpoint_changes(path, parts->config, &changes);
    if (status == SR_OK && changes.len > 0 && finished)
        sr_info("these changes have no effect on a run that has finished: %s", changes.s);
    else if (status == SR_OK && changes.len > 0)
        sr_warn("the configuration differs from the one that this run started with: %s", changes.s);
    sr_text_deinit(&changes);
    return status;
}

// True if OVERWRITE_EXISTING replaces this run: it has finished, or has another configuration.
static bool in_the_way(const Folder *f, const SrFolderEntry *entry, const char *path,
                       const SrCheckpointParts *parts) {
    const SrResumeOptions *o = f->options;
    if (!o->checkpoint->overwrite_existing || o->look_only)
        return false;
    SrText changes = SR_TEXT_INIT;
    bool other = entry->at.epoch >= o->num_epochs ||
                 sr_checkpoint_changes(path, parts->config, &changes) != SR_OK || changes.len > 0;
    sr_text_deinit(&changes);
    return other;
}

// Loads the newest whole checkpoint.  *found stays false if there is none, or if the run is to be
// replaced.
static SrStatus try_entries(const Folder *f, const SrCheckpointParts *parts, SrPosition *at,
                            bool *found, char *path, size_t path_bytes) {
    bool overwrite = f->options->checkpoint->overwrite_existing && !f->options->look_only;
    for (int i = 0; i < f->n && f->entries[i].readable; i++) {
        SR_TRY(sr_file_join(path, path_bytes, f->dir, f->entries[i].name));
        if (in_the_way(f, &f->entries[i], path, parts))
            return SR_OK;
        SrStatus status = sr_checkpoint_load(path, parts, at);
        *found = status == SR_OK;
        if (*found)
            return say_changes(path, parts, at->epoch >= f->options->num_epochs);
        if (status == SR_ERR_CONFIG && overwrite) // it belongs to another model
            return SR_OK;
        if (status != SR_ERR_IO)
            return status;
        sr_warn("%s; trying the checkpoint before it", sr_status_message());
    }
    if (overwrite)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "CHECKPOINT.DIR '%s': all of its %d checkpoints are damaged; nothing was changed. Give "
            "another folder, or start again with --restart",
            f->dir, f->n);
}

// Warns about checkpoints of other runs, which somebody has put into the folder: a run keeps to its
// own, and --restart moves earlier ones aside.
static void warn_other_runs(const Folder *f, const SrPosition *at) {
    const char *first = NULL;
    int n = 0;
    for (int i = 0; i < f->n; i++) {
        const SrFolderEntry *e = &f->entries[i];
        if (!e->readable || strcmp(e->at.run.id, at->run.id) == 0)
            continue;
        first = first ? first : e->name;
        n++;
    }
    if (n > 0)
        sr_warn("CHECKPOINT.DIR '%s' also holds %d checkpoint%s of other runs, such as %s; the run "
                "that began last goes on, and the others stay as they are",
                f->dir, n, n == 1 ? "" : "s", first);
}

// Resumes a run.  It has finished if it has seen num_epochs epochs, so a larger num_epochs
// continues it. Updates do not count: another batch size makes another number of them.
static SrStatus go_on(const Folder *f, const SrCheckpointParts *parts, SrPosition *at,
                      SrResume *out, char *path, size_t path_bytes) {
    bool found = false;
    SR_TRY(check_openable(f));
    sr__folder_warn_unreadable(f->dir, f->entries, f->n);
    SR_TRY(try_entries(f, parts, at, &found, path, path_bytes));
    if (!found)
        return begin(f, at);
    warn_other_runs(f, at);
    if (!*at->run.id)
        draw_identity(f, &at->run);
    *out = at->epoch >= f->options->num_epochs ? SR_RESUME_FINISHED : SR_RESUME_CONTINUE;
    return SR_OK;
}

SrStatus sr_folder_resume(const SrResumeOptions *options, const SrCheckpointParts *parts,
                          SrPosition *at, SrResume *out, char *path, size_t path_bytes) {
    Folder f = {.options = options, .dir = options->checkpoint->dir};
    *out = SR_RESUME_FRESH;
    SR_TRY(sr_folder_list(f.dir, &f.entries, &f.n));
    bool anew = options->restart || !options->checkpoint->auto_resume || f.n == 0;
    SrStatus status = anew ? begin(&f, at) : go_on(&f, parts, at, out, path, path_bytes);
    sr_free(f.entries);
    return status;
}
