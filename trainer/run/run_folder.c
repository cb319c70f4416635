// Names, lists, links and prunes the checkpoints of a run folder.  resume.c chooses the one to
// resume from.
#include "trainer/run/run_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "trainer/config/paths_check.h"
#include "trainer/run/run_folder_internal.h"

#define PATH_BYTES 4096

static const char *const stems[] = {
    [SR_CHECKPOINT_ITERATION] = "model_iteration",
    [SR_CHECKPOINT_PHASE] = "model_phase",
    [SR_CHECKPOINT_FINAL] = "model_final_checkpoint_phase",
    [SR_CHECKPOINT_BEST] = "model_best", // has no number, so that it is never listed
};

// ---- names --------------------------------------------------------------------------------------

// Writes a file's name.  VISSL counts phases from 0, and iterations by the updates done.
static void entry_name(SrCheckpointKind kind, int64_t number, char *out, size_t bytes) {
    if (kind == SR_CHECKPOINT_BEST)
        snprintf(out, bytes, "%s.safetensors", stems[kind]);
    else
        snprintf(out, bytes, "%s%lld.safetensors", stems[kind], (long long)number);
}

// Reads "model_phase12.safetensors" as PHASE, 12.  False for any other file: the link, files of
// others, and temporary files of a killed run.
static bool parse_name(const char *name, SrFolderEntry *out) {
    for (int k = 0; k < SR_COUNT(stems); k++) {
        size_t len = strlen(stems[k]);
        if (strncmp(name, stems[k], len) != 0 || name[len] < '0' || name[len] > '9')
            continue;
        char *end;
        long long number = strtoll(name + len, &end, 10);
        if (strcmp(end, ".safetensors") != 0 || strlen(name) >= sizeof out->name)
            return false;
        *out = (SrFolderEntry){.kind = (SrCheckpointKind)k, .number = number};
        snprintf(out->name, sizeof out->name, "%s", name);
        return true;
    }
    return false;
}

// ---- listing ------------------------------------------------------------------------------------

// Compares for sorting.  Negative: a comes first.
static int larger_first(int64_t a, int64_t b) { return (a < b) - (a > b); }

// Sorts the run that began last first, and within a run the furthest checkpoint: by epochs, then
// by images of the epoch, because updates of different batch sizes do not compare.  At the same
// position the order is final, phase, iteration.
static int newer_first(const void *a, const void *b) {
    const SrFolderEntry *x = a, *y = b;
    const SrPosition *p = &x->at, *q = &y->at;
    int by[] = {
        larger_first(x->readable, y->readable),
        larger_first(p->run.started, q->run.started),
        strcmp(q->run.id, p->run.id),
        larger_first(p->epoch, q->epoch),
        larger_first(p->batch * SR_MAX(p->batch_size, 1), q->batch * SR_MAX(q->batch_size, 1)),
        larger_first(p->iteration, q->iteration),
        larger_first(x->kind, y->kind),
        strcmp(x->name, y->name),
    };
    for (int i = 0; i < SR_COUNT(by); i++)
        if (by[i])
            return by[i];
    return 0;
}

// A file that the system cannot read at this moment (EIO, EMFILE, no memory) is not damaged: an
// older checkpoint must not silently take its place.  *gone: a run that trains has removed the file
// after the folder was listed.
static SrStatus read_entry(const char *dir, SrFolderEntry *entry, bool *gone) {
    char path[PATH_BYTES];
    SR_TRY(sr_file_join(path, sizeof path, dir, entry->name));
    errno = 0;
    SrStatus status = sr_checkpoint_position(path, &entry->at);
    bool refused = status == SR_ERR_IO && errno && !sr_file_is_own_fault(errno);
    entry->readable = status == SR_OK;
    *gone = status == SR_ERR_IO && errno == ENOENT && !sr_file_is_link(path);
    return refused || status == SR_ERR_MEMORY ? status : SR_OK;
}

// The order follows the metadata, not names: by name, phase 10 comes before phase 2, and
// iterations are not between phases.
SrStatus sr_folder_list(const char *dir, SrFolderEntry **out, int *n) {
    char **names = NULL;
    int n_names = 0;
    *out = NULL;
    *n = 0;
    if (!sr_file_is_dir(dir))
        return SR_OK;
    SR_TRY(sr_file_list(dir, &names, &n_names));
    SrStatus status = SR_OK;
    SrFolderEntry *entries = sr_calloc((size_t)n_names + 1, sizeof *entries);
    if (!entries) {
        status = sr_fail(SR_ERR_MEMORY, "%s: out of memory for the list of checkpoints", dir);
        goto done;
    }
    for (int i = 0; i < n_names; i++) {
        bool gone = false;
        if (!parse_name(names[i], &entries[*n]))
            continue;
        SR_TRY_GOTO(read_entry(dir, &entries[*n], &gone));
        *n += !gone;
    }
    qsort(entries, (size_t)*n, sizeof *entries, newer_first);
done:
    sr_file_list_free(names, n_names);
    if (status != SR_OK) {
        sr_free(entries);
        return status;
    }
    *out = entries;
    return SR_OK;
}

// The metadata is read once more, to get the reason.
void sr__folder_warn_unreadable(const char *dir, const SrFolderEntry *entries, int n) {
    for (int i = 0; i < n; i++) {
        char path[PATH_BYTES];
        SrPosition unused;
        if (!entries[i].readable &&
            (sr_file_join(path, sizeof path, dir, entries[i].name) != SR_OK ||
             sr_checkpoint_position(path, &unused) != SR_OK))
            sr_warn("%s; this checkpoint is skipped", sr_status_message());
    }
}

// Finds the newest checkpoint for evaluation; loading weights verifies the file again.  path is
// "" without any checkpoint.  Fails if all are damaged.
static SrStatus find_newest(const char *dir, char *path, size_t path_bytes) {
    SrFolderEntry *entries;
    int n;
    SrStatus status = SR_OK;
    path[0] = '\0';
    SR_TRY(sr_folder_list(dir, &entries, &n));
    sr__folder_warn_unreadable(dir, entries, n);
    if (n > 0 && entries[0].readable)
        status = sr_file_join(path, path_bytes, dir, entries[0].name);
    else if (n > 0)
        status = sr_fail(SR_ERR_CONFIG, "%s: none of its checkpoints (%d) can be read", dir, n);
    sr_free(entries);
    return status;
}

SrStatus sr_folder_newest(const char *dir, char *path, size_t path_bytes) {
    SR_TRY(find_newest(dir, path, path_bytes));
    if (!*path)
        SR_FAIL(SR_ERR_CONFIG,
                "CHECKPOINT.DIR '%s' holds no checkpoint; train first, or name weights with "
                "MODEL.WEIGHTS_INIT.PARAMS_FILE",
                dir);
    return SR_OK;
}

SrStatus sr_folder_weights(const char *given, char *path, size_t path_bytes) {
    if (sr_file_is_dir(given)) {
        SR_TRY(find_newest(given, path, path_bytes));
        if (!*path)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s holds no checkpoint; expected the folder of a run (its CHECKPOINT.DIR) or "
                    "a file of weights",
                    given);
    } else if (sr_weights_are_placeholder(given)) {
        SR_FAIL(SR_ERR_CONFIG,
                "MODEL.WEIGHTS_INIT.PARAMS_FILE is a placeholder ('%s'); name a file of weights or "
                "the folder of a run",
                given);
    } else if (snprintf(path, path_bytes, "%s", given) >= (int)path_bytes) {
        SR_FAIL(SR_ERR_CONFIG, "%.80s...: the path is too long", given);
    }
    return SR_OK;
}

// ---- saving -------------------------------------------------------------------------------------

// Removes old checkpoints of the run of `just`, which is safely written: those for a stop, and
// those beyond the newest `keep` (0: none).  The newest final checkpoint never counts.  Files of
// other runs, and unreadable files, stay: the user may need them.
static SrStatus prune(const char *dir, int keep, const SrFolderEntry *just) {
    SrFolderEntry *entries;
    int n, kept = just->kind != SR_CHECKPOINT_FINAL;
    bool final_seen = just->kind == SR_CHECKPOINT_FINAL;
    SR_TRY(sr_folder_list(dir, &entries, &n));
    SrStatus status = SR_OK;
    for (int i = 0; i < n && status == SR_OK; i++) {
        const SrFolderEntry *e = &entries[i];
        char path[PATH_BYTES];
        if (!e->readable || strcmp(e->name, just->name) == 0 ||
            strcmp(e->at.run.id, just->at.run.id) != 0)
            continue;
        bool newest_final = e->kind == SR_CHECKPOINT_FINAL && !final_seen;
        final_seen |= newest_final;
        if (newest_final || (!e->at.stopped && (keep <= 0 || kept++ < keep)))
            continue;
        status = sr_file_join(path, sizeof path, dir, e->name);
        if (status == SR_OK)
            status = sr_file_remove(path);
    }
    sr_free(entries);
    return status;
}

// Warns that there is no link, once: a run saves often, and does not need the link.
static void no_link(const char *link, const char *why) {
    static bool said;
    if (!said)
        sr_warn("%s: %s; the checkpoints are undamaged, but there is no link to the newest", link,
                why);
    said = true;
}

// Moves the link.  If that fails the link is removed: pruning may remove the file that it points
// to.
static void move_link(const char *link, const char *file) {
    if (sr_file_exists(link) && !sr_file_is_link(link)) {
        no_link(link, "a file has the name of the link");
        return;
    }
    if (sr_file_symlink(file, link) == SR_OK)
        return;
    no_link(link, sr_status_message());
    if (sr_file_is_link(link) && sr_file_remove(link) != SR_OK)
        sr_warn("%s", sr_status_message());
}

void sr_folder_mend_link(const char *dir, const char *path) {
    char link[PATH_BYTES], target[PATH_BYTES];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (sr_file_join(link, sizeof link, dir, SR__LINK_NAME) != SR_OK)
        return;
    ssize_t n = readlink(link, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    if (strcmp(target, name) != 0)
        move_link(link, name);
}

// The link moves after the file is safely there, and pruning comes last: killed anywhere between,
// the folder holds at least one whole checkpoint and the link points to a whole file.
SrStatus sr_folder_save(const SrCheckpointConfig *config, SrCheckpointKind kind,
                        const SrCheckpointParts *parts, const SrPosition *at, char *name,
                        size_t name_bytes) {
    char path[PATH_BYTES], link[PATH_BYTES];
    SrFolderEntry just = {.kind = kind, .readable = true, .at = *at};
    entry_name(kind, kind == SR_CHECKPOINT_ITERATION ? at->iteration : at->epoch - 1, just.name,
               sizeof just.name);
    SR_TRY(sr_file_join(path, sizeof path, config->dir, just.name));
    SR_TRY(sr_file_join(link, sizeof link, config->dir, SR__LINK_NAME));
    SR_TRY(sr_checkpoint_save(path, parts, at));
    if (name)
        snprintf(name, name_bytes, "%s", just.name);
    if (kind == SR_CHECKPOINT_BEST)
        return SR_OK;
    move_link(link, just.name);
    return prune(config->dir, config->keep_last, &just);
}
