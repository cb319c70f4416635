// Two of everything: two runs that start in one folder, evaluations and the live page while a run
// writes, a folder that is moved or removed below a run, and checkpoints of others in its folder.
// The run's bits never change, and each of the others works or says in one line why it does not.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/cli/web.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "tests/words.h"
#include "trainer/run/run_folder.h"

#define CONFIG "tests/cli/tiny.yaml"
#define EPOCHS "OPTIMIZER.num_epochs=6" // 48 updates
#define FINAL "model_final_checkpoint_phase5.safetensors"
#define REPLICAS "DISTRIBUTED.REPLICAS=2"
enum { PATH = 160, LONG_PATH = 512, TEXT = 1 << 15, CHECK_OF_UPDATE_6 = 8 };

// Output of a process goes to its own folder, so that a run folder holds what the run wrote.
static pid_t start_at(const char *output, const char *run, int ranks, const char *extra) {
    char key[LONG_PATH];
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", run);
    const char *args[] = {CONFIG, key, EPOCHS, ranks ? REPLICAS : extra, ranks ? extra : NULL,
                          NULL};
    if (ranks)
        program_need_ranks();
    return program_start_ranks(output, ranks, 1, args);
}

static int finish_at(const char *output, pid_t pid, char err[TEXT]) {
    int code = program_wait(pid, NULL);
    program_read(output, "err", err, TEXT);
    return code;
}

static void train(const char *output, const char *run, const char *extra, char err[TEXT]) {
    int code = finish_at(output, start_at(output, run, 0, extra), err);
    if (code != 0)
        fail_msg("exit code %d: %s", code, err);
}

static char whole_dirs[2][64]; // "": not made

// Returns the folder of an undisturbed run, which is made once for each kind.
static const char *whole_run(bool replicas) {
    static char err[TEXT];
    char *dir = whole_dirs[replicas];
    if (!*dir) {
        temp_dir_make(dir);
        train(dir, dir, replicas ? REPLICAS : NULL, err);
    }
    return dir;
}

static void check_same(const char *whole, const char *run) {
    char a[LONG_PATH], b[LONG_PATH];
    snprintf(a, sizeof a, "%s/" FINAL, whole);
    snprintf(b, sizeof b, "%s/" FINAL, run);
    check_same_checkpoint(a, b, 100);
}

// Starts a run and pauses it after its second line, when it has saved.  Returns the process.
static pid_t start_paused(const char *output, const char *run, const char *extra) {
    static char lines[TEXT];
    char path[LONG_PATH];
    pid_t pid = start_at(output, run, 0, extra);
    for (int i = 0; i < 12000 && words_count(lines, "\n") < 2; i++) {
        program_sleep_ms(5);
        program_read(run, "stdout.json", lines, sizeof lines);
    }
    lines[0] = '\0';
    CHECK(kill(pid, SIGSTOP) == 0);
    snprintf(path, sizeof path, "%s/" FINAL, run);
    CHECK(!sr_file_exists(path)); // it still trains
    return pid;
}

// Starts a run that stops itself in a check of its folder, which it looks up twice per save.  A
// signal could stop it between such a check and the write that follows, which nothing notices.
static pid_t start_stopped(const char *output, const char *run) {
    char fault[LONG_PATH];
    int status;
    program_preload("faults.so");
    snprintf(fault, sizeof fault, "stat:=%s:0:%d:1", run, CHECK_OF_UPDATE_6);
    setenv("SR_FAULT", fault, 1);
    pid_t pid = start_at(output, run, 0, NULL);
    unsetenv("SR_FAULT");
    program_preload(NULL);
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    return pid;
}

// ---- two starts ---------------------------------------------------------------------------------

// The one that loses ends with a line that names the one that trains.
static void check_loser(const char *err, pid_t winner) {
    const char *line = strstr(err, "CHECKPOINT.DIR: "); // mpirun adds lines of its own
    const char *number = line ? strstr(line, "in use by another process, number ") : NULL;
    if (!number)
        fail_msg("%s", err);
    long pid = strtol(number + strlen("in use by another process, number "), NULL, 10);
    CHECK(pid > 0 && (winner == 0 || pid == winner));
    CHECK_INT(words_count(err, "sslrun: "), 1);
}

// Both start at once.  Returns false if one had ended before the other asked for the folder.
static bool race(int ranks) {
    static char err[2][TEXT], text[TEXT];
    char dir[64], run[PATH], output[2][PATH];
    pid_t pid[2];
    int code[2];
    temp_dir_make(dir);
    snprintf(run, sizeof run, "%s/run", dir);
    for (int i = 0; i < 2; i++) {
        snprintf(output[i], sizeof output[i], "%s/%d", dir, i);
        CHECK_OK(sr_file_mkdirs(output[i]));
    }
    for (int i = 0; i < 2; i++) {
        setenv("OMPI_MCA_orte_tmpdir_base", output[i], 1); // two mpirun may not share one
        pid[i] = start_at(output[i], run, ranks, NULL);
    }
    unsetenv("OMPI_MCA_orte_tmpdir_base");
    for (int i = 0; i < 2; i++)
        code[i] = finish_at(output[i], pid[i], err[i]);
    bool met = code[0] != 0 || code[1] != 0;
    int winner = code[0] == 0 ? 0 : 1;
    if (code[winner] != 0 || (met && code[!winner] != 1 && code[!winner] != 2))
        fail_msg("exit codes %d and %d: %s%s", code[0], code[1], err[0], err[1]);
    if (met) {
        check_loser(err[!winner], ranks ? 0 : pid[winner]);
        program_read(run, "log.txt", text, sizeof text);
        CHECK_INT(words_count(text, "==== "), 1); // the other one wrote nothing
        CHECK_INT(words_count(text, "epoch 5 done in "), 1);
        program_read(run, "metrics.json", text, sizeof text);
        CHECK_INT(words_count(text, "\"train_loss\""), 6);
    }
    check_same(whole_run(ranks > 0), run);
    temp_dir_remove(dir);
    return met;
}

static void races(int ranks, int rounds) {
    int met = 0;
    for (int i = 0; i < 3 * rounds && met < rounds; i++)
        met += race(ranks);
    CHECK_INT(met, rounds);
}

TEST(test_two_starts) { races(0, 3); }

TEST(test_two_starts_of_ranks) {
    program_need_ranks();
    races(2, 1);
}

// ---- evaluations meanwhile ----------------------------------------------------------------------

typedef struct {
    const char *const *args;
    int worked;
} Reader;

// Runs an evaluation.  It works, or says in its last line which file or folder it could not read.
static void read_once(const char *run, Reader *r) {
    static ProgramResult result;
    program_run(&result, 1, r->args);
    const char *line = words_last_line(result.err);
    if (result.code == 0)
        r->worked++;
    else if (result.code > 2 || strncmp(line, "sslrun: ", 8) != 0 || !strstr(line, run))
        fail_msg("%s %s: exit code %d: %s", r->args[0], r->args[1], result.code, result.err);
    if (result.code == 0 && strcmp(r->args[0], "knn") == 0)
        CHECK(strstr(result.out, "kNN"));
}

static bool has_ended(pid_t pid, int *code) {
    int status;
    if (waitpid(pid, &status, WNOHANG) != pid)
        return false;
    *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

TEST(test_evaluations_meanwhile) {
    static char err[TEXT];
    char dir[64], run[PATH], key[LONG_PATH], images[PATH], weights[PATH], rows[PATH];
    int code = -1, meanwhile = 0;
    temp_dir_make(dir);
    snprintf(run, sizeof run, "%s/run", dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", run);
    snprintf(images, sizeof images, "%s/images", dir);
    snprintf(weights, sizeof weights, "%s/weights.npz", dir);
    snprintf(rows, sizeof rows, "%s/rows", dir);
    fixture_class_folder(dir, "images", 40);
    Reader readers[] = {
        {(const char *const[]){"inspect", run, "--stats", NULL}, 0},
        {(const char *const[]){"knn", CONFIG, key, NULL}, 0},
        {(const char *const[]){"report", run, NULL}, 0},
        {(const char *const[]){"convert", run, weights, "--force", NULL}, 0},
        {(const char *const[]){"extract", run, "--nodes", "flatten", "--data", images, "--out",
                               rows, "--force", NULL},
         0},
        {(const char *const[]){"linear", run, "--data", images, NULL}, 0},
        {(const char *const[]){"diff", run, run, NULL}, 0},
    };
    // A checkpoint lives for one update.
    pid_t pid = start_at(dir, run, 0, "CHECKPOINT={CHECKPOINT_ITER_FREQUENCY: 1, KEEP_LAST: 1}");
    program_wait_for_progress(run);
    bool ended = false;
    for (int i = 0; !ended; i++) {
        temp_dir_remove(rows); // extract refuses to mix the rows of two checkpoints
        read_once(run, &readers[i % SR_COUNT(readers)]);
        ended = has_ended(pid, &code);
        meanwhile += !ended;
    }
    program_read(dir, "err", err, sizeof err);
    if (code != 0)
        fail_msg("exit code %d: %s", code, err);
    check_same(whole_run(false), run);
    for (int i = 0; i < SR_COUNT(readers); i++) {
        int before = readers[i].worked;
        temp_dir_remove(rows);
        read_once(run, &readers[i]);
        CHECK_INT(readers[i].worked, before + 1); // in a folder that rests
    }
    print_message("    %d evaluations while the run wrote\n", meanwhile);
    CHECK(meanwhile > 0);
    temp_dir_remove(dir);
}

// ---- a folder that is moved or removed ----------------------------------------------------------

typedef enum { MOVED, REPLACED, REMOVED } Fate;

// The run ends with one line that names the folder.  Nothing is written under the old name, which
// may be another run's by then.  A moved folder resumes where it is.
static void lose_folder(Fate fate) {
    static char err[TEXT], text[64];
    char dir[64], run[PATH], moved[PATH], expected[2 * PATH + 64], **names;
    int n;
    temp_dir_make(dir);
    snprintf(run, sizeof run, "%s/run", dir);
    snprintf(moved, sizeof moved, "%s/moved", dir);
    pid_t pid = fate == REPLACED ? start_stopped(dir, run) : start_paused(dir, run, NULL);
    if (fate == REMOVED)
        temp_dir_remove(run);
    else
        CHECK(rename(run, moved) == 0);
    if (fate == REPLACED) {
        CHECK_OK(sr_file_mkdirs(run));
        fixture_write(run, "note.txt", "mine", 4);
    }
    CHECK(kill(pid, SIGCONT) == 0);
    int code = finish_at(dir, pid, err);
    snprintf(expected, sizeof expected,
             fate == REMOVED ? "CHECKPOINT.DIR: '%s' was removed while"
                             : "CHECKPOINT.DIR: '%s' was moved to '%s' while",
             run, moved);
    if (code != 1 || !strstr(words_last_line(err), expected))
        fail_msg("exit code %d, expected 1 and \"%s\": %s", code, expected, err);
    CHECK_INT(words_count(err, "sslrun: "), 1);
    CHECK_INT(sr_file_exists(run), fate == REPLACED);
    if (fate == REPLACED) {
        CHECK_OK(sr_file_list(run, &names, &n));
        CHECK_INT(n, 1);
        sr_file_list_free(names, n);
        program_read(run, "note.txt", text, sizeof text);
        CHECK_STR(text, "mine");
    }
    if (fate != REMOVED) {
        train(dir, moved, NULL, err);
        CHECK(strstr(err, "resuming from"));
        check_same(whole_run(false), moved);
    }
    temp_dir_remove(dir);
}

TEST(test_folder_is_moved) { lose_folder(MOVED); }

TEST(test_folder_is_replaced) { lose_folder(REPLACED); }

TEST(test_folder_is_removed) { lose_folder(REMOVED); }

// A run that is told to stop after its folder has gone says so as well.
TEST(test_stop_without_folder) {
    static char err[TEXT];
    char dir[64], run[PATH], moved[PATH];
    temp_dir_make(dir);
    snprintf(run, sizeof run, "%s/run", dir);
    snprintf(moved, sizeof moved, "%s/moved", dir);
    pid_t pid = start_paused(dir, run, "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=-1");
    CHECK(rename(run, moved) == 0 && kill(pid, SIGTERM) == 0 && kill(pid, SIGCONT) == 0);
    CHECK_INT(finish_at(dir, pid, err), 1);
    CHECK(strstr(words_last_line(err), "' was moved to '") && !sr_file_exists(run));
    temp_dir_remove(dir);
}

// All ranks end when rank 0 loses the folder.
TEST(test_ranks_lose_folder) {
    static char err[TEXT];
    char dir[64], run[PATH], moved[PATH];
    program_need_ranks();
    temp_dir_make(dir);
    snprintf(run, sizeof run, "%s/run", dir);
    snprintf(moved, sizeof moved, "%s/moved", dir);
    pid_t pid = start_at(dir, run, 2, "OPTIMIZER.num_epochs=60");
    program_wait_for_progress(run);
    CHECK(rename(run, moved) == 0);
    int code = finish_at(dir, pid, err);
    if (code != 1 || !strstr(err, "' was moved to '"))
        fail_msg("exit code %d: %s", code, err);
    CHECK(!sr_file_exists(run));
    temp_dir_remove(dir);
}

// ---- checkpoints of others ----------------------------------------------------------------------

static void copy(const char *from, const char *to, size_t most) {
    char *data;
    size_t n;
    CHECK_OK(sr_file_read(from, 1 << 24, &data, &n));
    CHECK_OK(sr_file_write(to, data, SR_MIN(n, most)));
    sr_free(data);
}

// Makes a run that was stopped midway, and a finished run with another setting.
static void make_two(const char *dir, bool other_is_younger, const char *other_setting,
                     char run[PATH], char other[PATH]) {
    static char err[TEXT];
    snprintf(run, PATH, "%s/run", dir);
    snprintf(other, PATH, "%s/other", dir);
    if (!other_is_younger)
        train(dir, other, other_setting, err);
    pid_t pid = start_paused(dir, run, NULL);
    CHECK(kill(pid, SIGTERM) == 0 && kill(pid, SIGCONT) == 0);
    CHECK_INT(finish_at(dir, pid, err), 128 + SIGTERM);
    if (other_is_younger)
        train(dir, other, other_setting, err);
}

static void put_foreign(const char *run, const char *other, const char *name, size_t most,
                        char to[LONG_PATH]) {
    char from[LONG_PATH];
    snprintf(from, sizeof from, "%s/" FINAL, other);
    snprintf(to, LONG_PATH, "%s/%s", run, name);
    copy(from, to, most);
}

// An older run's checkpoint stays, and is named; the run goes on in its own bits.
TEST(test_older_run_in_folder) {
    static char err[TEXT];
    char dir[64], run[PATH], other[PATH], foreign[LONG_PATH], original[LONG_PATH];
    temp_dir_make(dir);
    make_two(dir, false, "SEED_VALUE=7", run, other);
    put_foreign(run, other, "model_phase77.safetensors", SIZE_MAX, foreign);
    train(dir, run, NULL, err);
    CHECK(strstr(err, "also holds 1 checkpoint of other runs, such as model_phase77.safetensors"));
    CHECK(strstr(err, "resuming from ") && !strstr(err, "resuming from model_phase77"));
    check_same(whole_run(false), run);
    snprintf(original, sizeof original, "%s/" FINAL, other);
    check_same_checkpoint(original, foreign, 100);
    temp_dir_remove(dir);
}

// A younger run's checkpoint of the same shapes is what the folder resumes from: the line about
// that is followed by one about the settings that differ, and by one about the other run.
TEST(test_younger_run_in_folder) {
    static char err[TEXT];
    char dir[64], run[PATH], other[PATH], foreign[LONG_PATH];
    temp_dir_make(dir);
    make_two(dir, true, "SEED_VALUE=7", run, other);
    put_foreign(run, other, "model_phase77.safetensors", SIZE_MAX, foreign);
    train(dir, run, NULL, err);
    CHECK(strstr(err, "model_phase77.safetensors: training has finished"));
    CHECK(strstr(err, "SEED_VALUE: 7 -> 0"));
    CHECK(strstr(err, "of other runs, such as model_iteration"));
    temp_dir_remove(dir);
}

// Another architecture is refused, and nothing in the folder changes.
TEST(test_other_architecture_in_folder) {
    static char err[TEXT];
    char dir[64], run[PATH], other[PATH], foreign[LONG_PATH];
    SrFolderEntry *before, *after;
    int n, m;
    temp_dir_make(dir);
    make_two(
        dir, true,
        "MODEL.HEAD.PARAMS=[[swav_head, {dims: [32, 24, 8], use_bn: True, num_clusters: [6]}]]",
        run, other);
    put_foreign(run, other, "model_phase77.safetensors", SIZE_MAX, foreign);
    CHECK_OK(sr_folder_list(run, &before, &n));
    CHECK_INT(finish_at(dir, start_at(dir, run, 0, NULL), err), 2);
    CHECK(strstr(words_last_line(err),
                 "model_phase77.safetensors belongs to another model; use another "
                 "CHECKPOINT.DIR, or the configuration"));
    CHECK_OK(sr_folder_list(run, &after, &m));
    CHECK_INT(n, m);
    for (int i = 0; i < n; i++)
        CHECK_STR(before[i].name, after[i].name);
    sr_free(before);
    sr_free(after);
    CHECK_OK(sr_file_remove(foreign)); // the run itself is unharmed
    train(dir, run, NULL, err);
    check_same(whole_run(false), run);
    temp_dir_remove(dir);
}

// Files that are cut off, one of them after its header, are named and passed over.
TEST(test_truncated_in_folder) {
    static char err[TEXT];
    char dir[64], run[PATH], other[PATH], foreign[LONG_PATH];
    temp_dir_make(dir);
    make_two(dir, true, NULL, run, other);
    put_foreign(run, other, "model_phase77.safetensors", 40000, foreign);
    put_foreign(run, other, "model_phase78.safetensors", 100, foreign);
    put_foreign(run, other, "model_phase79.safetensors", 0, foreign);
    train(dir, run, NULL, err);
    for (int i = 77; i < 80; i++) {
        char text[64];
        snprintf(text, sizeof text, "model_phase%d.safetensors", i);
        CHECK(strstr(err, text));
    }
    CHECK_INT(words_count(err, "this checkpoint is skipped"), 3);
    CHECK(!strstr(err, "of other runs")); // nobody knows whose they are
    check_same(whole_run(false), run);
    temp_dir_remove(dir);
}

// ---- the live page ------------------------------------------------------------------------------

static void look(const Web *w) {
    static const char *const pages[] = {"/", "/run?id=one", "/report?id=one", "/run?id=two"};
    for (int i = 0; i < SR_COUNT(pages); i++) {
        int status = web_get(w, pages[i]);
        if (status != 200 && status != 404)
            fail_msg("%s: status %d: %.300s", pages[i], status, web_answer);
        CHECK(strlen(strstr(web_answer, "\r\n\r\n")) > 4); // a page, or a sentence
    }
}

// The page answers while a run starts, trains, loses its folder and comes back.
TEST(test_live_page) {
    static char err[TEXT], status[4096];
    Web w;
    char one[PATH], two[PATH], name[64];
    web_need();
    web_begin(&w);
    snprintf(one, sizeof one, "%s/one", w.runs);
    snprintf(two, sizeof two, "%s/two", w.runs);
    pid_t pid = start_at(w.dir, one, 0, NULL);
    for (int i = 0; i < 20; i++)
        look(&w);
    program_wait_for_progress(one);
    look(&w);
    CHECK(kill(pid, SIGSTOP) == 0);
    look(&w);
    CHECK(rename(one, two) == 0);
    look(&w);
    CHECK(kill(pid, SIGCONT) == 0);
    int code = finish_at(w.dir, pid, err);
    CHECK(code == 0 || code == 1); // 0: it had ended before
    look(&w);
    fixture_write(w.runs, "one/model_phase9.safetensors", "none", 4);
    fixture_write(w.runs, "one/metrics.json", "{\"train_loss\": ", 15);
    look(&w);
    temp_dir_remove(one);
    train(w.dir, two, NULL, err);
    check_same(whole_run(false), two);
    look(&w);
    temp_dir_remove(two);
    look(&w);
    snprintf(name, sizeof name, "/proc/%d", (int)w.pid);
    program_read(name, "status", status, sizeof status);
    long kb = strtol(strstr(status, "VmHWM:") + 6, NULL, 10);
    if (!PROGRAM_SANITIZED && kb > 40000)
        fail_msg("%ld kB", kb);
    web_end(&w);
}

TEST(test_no_more_whole_runs) {
    for (int i = 0; i < 2; i++)
        if (*whole_dirs[i])
            temp_dir_remove(whole_dirs[i]);
}

SR_TESTS(two_of_everything, unit(test_two_starts), unit(test_two_starts_of_ranks),
         unit(test_evaluations_meanwhile), unit(test_folder_is_moved),
         unit(test_folder_is_replaced), unit(test_folder_is_removed),
         unit(test_stop_without_folder), unit(test_ranks_lose_folder),
         unit(test_older_run_in_folder), unit(test_younger_run_in_folder),
         unit(test_other_architecture_in_folder), unit(test_truncated_in_folder),
         unit(test_live_page), unit(test_no_more_whole_runs))
