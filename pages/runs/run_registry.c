// Finds the runs below a folder, stops them, and continues them.
#include "pages/runs/run_registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "pages/photos/image_gallery.h"
#include "pages/runs/run_page.h"
#include "pages/runs/run_record.h"
#include "pages/runs/run_report.h"

enum { PATH_BYTES = 4096 };

// ---- looking ------------------------------------------------------------------------------------

// True: the run's files are regular files; pages never read links.
static bool is_plain(const char *run) {
    static const char *const files[] = {"stdout.json",   "metrics.json", "train_config.yaml",
                                        "log.txt",       SR_RUN_RECORD,  SR_REPORT_FILE,
                                        SR_GALLERY_FILE, ".lock"};
    for (int i = 0; i < SR_COUNT(files); i++) {
        char path[PATH_BYTES];
        struct stat st;
        if (sr_file_join(path, sizeof path, run, files[i]) != SR_OK)
            return false;
        if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
            return false;
    }
    return true;
}

// A page without a run must not mean that the disk failed at this moment.
static SrStatus failed(const char *path) {
    SR_FAIL(SR_ERR_IO, "cannot look at %s: %s", path, strerror(errno));
}

static SrStatus look(SrRegistry *r, const char *relative, int depth);

static SrStatus look_at(SrRegistry *r, const char *relative, const char *name, int depth) {
    char below[PATH_BYTES], path[PATH_BYTES];
    struct stat st;
    if (name[0] == '.' || r->names.n == SR_REGISTRY_MOST)
        return SR_OK;
    if (*relative)
        SR_TRY(sr_file_join(below, sizeof below, relative, name));
    else
        snprintf(below, sizeof below, "%s", name);
    SR_TRY(sr_file_join(path, sizeof path, r->root, below));
    if (lstat(path, &st) != 0)
        return sr_file_is_own_fault(errno) ? SR_OK : failed(path);
    if (!S_ISDIR(st.st_mode))
        return SR_OK;
    if (sr_run_is_folder(path))
        return is_plain(path) ? sr__string_list_add(&r->names, below, strlen(below)) : SR_OK;
    return depth < SR_REGISTRY_DEPTH ? look(r, below, depth + 1) : SR_OK;
}

static SrStatus look(SrRegistry *r, const char *relative, int depth) {
    char path[PATH_BYTES], **names;
    int n;
    SR_TRY(sr_file_join(path, sizeof path, r->root, relative));
    SrStatus status = sr_file_list(*relative ? path : r->root, &names, &n);
    if (status == SR_ERR_IO && sr_file_is_own_fault(errno))
        return SR_OK; // a folder that we may not read, or that has gone
    SR_TRY(status);
    for (int i = 0; i < n && status == SR_OK; i++)
        status = look_at(r, relative, names[i], depth);
    sr_file_list_free(names, n);
    return status;
}

SrStatus sr_registry_scan(const char *dir, SrRegistry *out) {
    *out = (SrRegistry){.root = ""};
    if (!realpath(dir, out->root))
        return sr_file_is_own_fault(errno) ? sr_fail(SR_ERR_CONFIG, "%s: no such folder", dir)
                                           : failed(dir);
    if (!sr_file_is_dir(out->root))
        SR_FAIL(SR_ERR_CONFIG, "%s: no such folder", dir);
    SrStatus status = look(out, "", 1);
    if (status != SR_OK)
        sr_registry_deinit(out);
    return status;
}

void sr_registry_deinit(SrRegistry *r) { sr__string_list_deinit(&r->names); }

SrStatus sr_registry_find(const SrRegistry *r, const char *name, char *out) {
    for (int64_t i = 0; i < r->names.n; i++)
        if (strcmp(sr__string_list_get(&r->names, i), name) == 0)
            return sr_file_join(out, PATH_BYTES, r->root, name);
    SR_FAIL(SR_ERR_CONFIG, "there is no run of this name");
}

// ---- stopping and starting ----------------------------------------------------------------------

// True: the process has the lock file open.  Everybody who can write to the folder can write any
// process number there, so that no other process may be signalled.
static bool holds(pid_t pid, const char *lock) {
    char fds[64], link[PATH_BYTES], path[PATH_BYTES];
    snprintf(fds, sizeof fds, "/proc/%ld/fd", (long)pid);
    DIR *d = opendir(fds);
    bool found = false;
    for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d)) {
        if (sr_file_join(link, sizeof link, fds, e->d_name) != SR_OK)
            continue;
        ssize_t n = readlink(link, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        found = n > 0 && strcmp(path, lock) == 0;
    }
    if (d)
        closedir(d);
    return found;
}

SrStatus sr_run_ask_stop(const char *run) {
    char lock[PATH_BYTES], *text;
    size_t n;
    SR_TRY(sr_file_join(lock, sizeof lock, run, ".lock"));
    if (!sr_run_is_live(run))
        SR_FAIL(SR_ERR_CONFIG, "no process trains this run now");
    SR_TRY(sr_file_read(lock, 4096, &text, &n));
    long pid = strtol(text, NULL, 10);
    sr_free(text);
    if (pid <= 1 || !holds((pid_t)pid, lock))
        SR_FAIL(SR_ERR_CONFIG,
                "the process that trains this run belongs to another machine or user");
    if (kill((pid_t)pid, SIGTERM) != 0)
        SR_FAIL(SR_ERR_IO, "the process cannot be signalled: %s", strerror(errno));
    return SR_OK;
}

// Writes the override that names the run's folder, as YAML in double quotes.  Characters that
// could end the quotes are written as numbers.  `out` has room for 4 bytes per byte of the path,
// plus 32.
static void quote_dir(const char *run, char *out) {
    out = stpcpy(out, "CHECKPOINT.DIR=\"");
    for (; *run; run++)
        if (*run == '"' || *run == '\\' || (unsigned char)*run < 0x20 || *run == 0x7F)
            out += sprintf(out, "\\x%02X", (unsigned char)*run);
        else
            *out++ = *run;
    memcpy(out, "\"", 2);
}

// Sets the folder of the new process, and descriptors that lead nowhere.  Returns an error number,
// or 0.
static int arrange(posix_spawn_file_actions_t *actions, const char *folder) {
    int failed = 0;
    for (int fd = 0; fd < 3 && !failed; fd++)
        failed = posix_spawn_file_actions_addopen(actions, fd, "/dev/null",
                                                  fd == 0 ? O_RDONLY : O_WRONLY, 0);
    return failed ? failed : posix_spawn_file_actions_addchdir_np(actions, folder);
}

// Starts `train` of this program, never the program that run.json names.  The folder is this one,
// even if the words name another.
static SrStatus start(const char *run, const SrRunRecord *record) {
    extern char **environ;
    char self[PATH_BYTES], dir[4 * PATH_BYTES + 32];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    const char **argv = sr_calloc((size_t)record->words.n + 4, sizeof *argv);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
    if (!argv || len <= 0) {
        sr_free(argv);
        return sr_out_of_memory("a command");
    }
    self[len] = '\0';
    quote_dir(run, dir);
    int n = 0;
    argv[n++] = self;
    argv[n++] = "train";
    for (int i = 1; i < record->words.n; i++)
        if (i > 1 || strcmp(record->words.v[i], "train") != 0)
            argv[n++] = record->words.v[i];
    argv[n] = dir;
    posix_spawn_file_actions_init(&actions);
    int error = arrange(&actions, record->folder);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    if (!error)
        error = posix_spawn(&pid, self, &actions, &attributes, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    sr_free(argv);
    return error ? sr_fail(SR_ERR_IO, "the run cannot be started: %s", strerror(error)) : SR_OK;
}

SrStatus sr_run_start_again(const char *run) {
    SrRunRecord record;
    if (sr_run_is_live(run))
        SR_FAIL(SR_ERR_CONFIG, "the run is already training");
    SrStatus status = sr_run_record_read(run, &record);
    if (status == SR_OK && (record.words.n < 2 || !sr_file_is_dir(record.folder)))
        status = sr_fail(SR_ERR_CONFIG, "the command that trained this run is not known");
    if (status == SR_OK && record.ranks > 1)
        status = sr_fail(SR_ERR_CONFIG,
                         "%d processes trained this run; start the same number by hand: mpirun -np "
                         "%d sslrun ...",
                         record.ranks, record.ranks);
    if (status == SR_OK && strstr(run, "${")) // configurations replace ${...}
        status = sr_fail(SR_ERR_CONFIG,
                         "the name of the run's folder contains ${; continue the run by hand");
    if (status == SR_OK)
        status = start(run, &record);
    sr_run_record_deinit(&record);
    return status;
}
