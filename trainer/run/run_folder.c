// The run folder: names, link, keep-last, and the search for the checkpoint to go on from.
#include "trainer/run/run_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

#define LINK_NAME "checkpoint.safetensors"
#define PATH_BYTES 4096

static const char *const stems[] = {
    [SR_CHECKPOINT_ITERATION] = "model_iteration",
    [SR_CHECKPOINT_PHASE] = "model_phase",
    [SR_CHECKPOINT_FINAL] = "model_final_checkpoint_phase",
    [SR_CHECKPOINT_BEST] = "model_best", // without a number, so no entry of a listing
};

// ---- names --------------------------------------------------------------------------------------

// VISSL counts phases from 0, and iterations by the updates done.
static void entry_name(SrCheckpointKind kind, int64_t number, char *out, size_t bytes) {
    if (kind == SR_CHECKPOINT_BEST)
        snprintf(out, bytes, "%s.safetensors", stems[kind]);
    else
        snprintf(out, bytes, "%s%lld.safetensors", stems[kind], (long long)number);
}

// "model_phase12.safetensors" -> PHASE, 12.  False for any other file.  The link, other people's
// files and temporaries of a killed run fall through.
static bool parse_name(const char *name, SrFolderEntry *out) {
    for (int k = 0; k < SR_COUNT(stems); k++) {
        size_t len = strlen(stems[k]);
        if (strncmp(name, stems[k], len) != 0 || name[len] < '0' || name[len] > '9')
            continue;
        char *end;
        long long number = strtoll(name + len, &end, 10);
        if (strcmp(end, ".safetensors") != 0 || strlen(name) >= sizeof out->name)
            return false;
        *out = (SrFolderEntry){.kind = (SrCheckpointKind)k, .number = number, .iteration = -1};
        snprintf(out->name, sizeof out->name, "%s", name);
        return true;
    }
    return false;
}

// ---- listing ------------------------------------------------------------------------------------

// Most updates first; of two with the same number the one that says more (final, phase, iteration).
static int newer_first(const void *a, const void *b) {
    const SrFolderEntry *x = a, *y = b;
    if (x->iteration != y->iteration)
        return x->iteration < y->iteration ? 1 : -1;
    return (x->kind < y->kind) - (x->kind > y->kind);
}

// A file that cannot be read keeps iteration -1: it sorts last and is tried last.
static SrStatus read_entry(const char *dir, SrFolderEntry *entry) {
    char path[PATH_BYTES];
    SrPosition at;
    SR_TRY(sr_file_join(path, sizeof path, dir, entry->name));
    if (sr_checkpoint_position(path, &at) == SR_OK) {
        entry->iteration = at.iteration;
        entry->finished = at.finished;
    }
    return SR_OK;
}

// Order by the metadata, not by names: phase 10 sorts before phase 2 by name, and iteration files
// stand between phases.
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
    for (int i = 0; i < n_names; i++)
        if (parse_name(names[i], &entries[*n]))
            SR_TRY_GOTO(read_entry(dir, &entries[(*n)++]));
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

// For evaluation; the loader of weights verifies the file again before it uses a number of it.
SrStatus sr_folder_newest(const char *dir, char *path, size_t path_bytes) {
    SrFolderEntry *entries;
    int n;
    SR_TRY(sr_folder_list(dir, &entries, &n));
    SrStatus status;
    if (n > 0 && entries[0].iteration >= 0)
        status = sr_file_join(path, path_bytes, dir, entries[0].name);
    else
        status = sr_fail(SR_ERR_CONFIG,
                         "no checkpoint in CHECKPOINT.DIR '%s': train first, or name weights with "
                         "MODEL.WEIGHTS_INIT.PARAMS_FILE",
                         dir);
    sr_free(entries);
    return status;
}

// ---- saving -------------------------------------------------------------------------------------

// Finished checkpoints always stay; of the others the newest `keep`.
static SrStatus prune(const char *dir, int keep) {
    if (keep <= 0)
        return SR_OK;
    SrFolderEntry *entries;
    int n, kept = 0;
    SR_TRY(sr_folder_list(dir, &entries, &n));
    SrStatus status = SR_OK;
    for (int i = 0; i < n && status == SR_OK; i++) {
        char path[PATH_BYTES];
        // Unreadable files are somebody's evidence and not ours to delete.
        if (entries[i].kind == SR_CHECKPOINT_FINAL || entries[i].iteration < 0 || kept++ < keep)
            continue;
        status = sr_file_join(path, sizeof path, dir, entries[i].name);
        if (status == SR_OK)
            status = sr_file_remove(path);
    }
    sr_free(entries);
    return status;
}

// The link moves after the file is safely there, and pruning comes last: killed anywhere between,
// the folder holds at least one whole checkpoint and the link points to a whole file.
SrStatus sr_folder_save(const SrCheckpointConfig *config, SrCheckpointKind kind,
                        const SrCheckpointParts *parts, const SrPosition *at, char *name,
                        size_t name_bytes) {
    char path[PATH_BYTES], link[PATH_BYTES], file[96];
    entry_name(kind, kind == SR_CHECKPOINT_ITERATION ? at->iteration : at->epoch - 1, file,
               sizeof file);
    SR_TRY(sr_file_join(path, sizeof path, config->dir, file));
    SR_TRY(sr_file_join(link, sizeof link, config->dir, LINK_NAME));
    SR_TRY(sr_checkpoint_save(path, parts, at));
    if (name)
        snprintf(name, name_bytes, "%s", file);
    if (kind == SR_CHECKPOINT_BEST)
        return SR_OK;
    SR_TRY(sr_file_symlink(file, link));
    return prune(config->dir, config->keep_last);
}

// ---- resuming -----------------------------------------------------------------------------------

// One line, not an error: raising num_epochs or the learning rate of a resumed run is legitimate.
static SrStatus say_changes(const char *path, const SrCheckpointParts *parts) {
    SrText changes = SR_TEXT_INIT;
    SrStatus status = sr_checkpoint_changes(path, parts->config, &changes);
    if (status == SR_OK && changes.len > 0)
        sr_warn("the configuration is not the one this run began with: %s", changes.s);
    sr_text_deinit(&changes);
    return status;
}

// Tries entries in order.  OVERWRITE_EXISTING means "go on as if the finished checkpoint were not
// there".
static SrStatus try_entries(const SrCheckpointConfig *config, const SrFolderEntry *entries, int n,
                            const SrCheckpointParts *parts, SrPosition *at, SrResume *out,
                            char *path, size_t path_bytes) {
    for (int i = 0; i < n; i++) {
        // VISSL's meaning of the key.
        if (config->overwrite_existing && entries[i].kind == SR_CHECKPOINT_FINAL)
            continue;
        SR_TRY(sr_file_join(path, path_bytes, config->dir, entries[i].name));
        SrStatus status = sr_checkpoint_load(path, parts, at);
        if (status == SR_OK) {
            *out = SR_RESUME_CONTINUE;
            return say_changes(path, parts);
        }
        if (status != SR_ERR_IO)
            return status;
        sr_warn("%s; trying the checkpoint before it", sr_status_message());
    }
    return SR_OK;
}

// Whether a run has finished is judged by the updates it has seen and not by the name of its file,
// so raising num_epochs continues a finished run.
SrStatus sr_folder_resume(const SrCheckpointConfig *config, const SrCheckpointParts *parts,
                          int64_t max_iterations, SrPosition *at, SrResume *out, char *path,
                          size_t path_bytes) {
    *out = SR_RESUME_FRESH;
    *at = (SrPosition){0};
    if (!config->auto_resume)
        return SR_OK;
    SrFolderEntry *entries;
    int n;
    SR_TRY(sr_folder_list(config->dir, &entries, &n));
    SrStatus status = try_entries(config, entries, n, parts, at, out, path, path_bytes);
    if (status == SR_OK && *out == SR_RESUME_CONTINUE && at->iteration >= max_iterations)
        *out = SR_RESUME_FINISHED;
    if (status == SR_OK && *out == SR_RESUME_FRESH && n > 0 && !config->overwrite_existing)
        sr_warn("no checkpoint in '%s' can be read: starting from the beginning", config->dir);
    sr_free(entries);
    return status;
}
