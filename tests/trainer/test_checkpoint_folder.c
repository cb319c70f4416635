// Tests checkpoints in a run folder: which one a run resumes from, which ones are kept, the link
// to the newest, and refusals.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "tests/trainer/small_checkpoint.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_folder.h"

typedef struct {
    char dir[64], path[256], used[256];
    SrParams *params;
    SrCheckpointConfig c;
    SrPosition at;
    SrResume how;
} Folder;

static void open_folder(Folder *f, int keep_last) {
    *f = (Folder){.c = {.auto_resume = true, .keep_last = keep_last}};
    temp_dir_make(f->dir);
    f->c.dir = f->dir;
    f->params = small_model(4);
}

static void close_folder(Folder *f) {
    sr_params_free(f->params);
    temp_dir_remove(f->dir);
}

static const char *in(Folder *f, const char *name) {
    CHECK_OK(sr_file_join(f->path, sizeof f->path, f->dir, name));
    return f->path;
}

static void save_position(Folder *f, SrCheckpointKind kind, SrPosition at) {
    small_weights(f->params)[0] = (float)at.iteration;
    at.finished = kind == SR_CHECKPOINT_FINAL;
    CHECK_OK(
        sr_folder_save(&f->c, kind, &(SrCheckpointParts){f->params, NULL, NULL}, &at, NULL, 0));
}

static void save_at(Folder *f, SrCheckpointKind kind, int64_t epoch, int64_t iteration) {
    save_position(f, kind, small_position("a", 1000, epoch, iteration));
}

static SrStatus resume_with(Folder *f, int num_epochs, bool restart, const SrYaml *config) {
    SrResumeOptions o = {.checkpoint = &f->c, .num_epochs = num_epochs, .restart = restart};
    SrCheckpointParts parts = {f->params, NULL, config};
    SR_TRY(sr_folder_resume(&o, &parts, &f->at, &f->how, f->used, sizeof f->used));
    return f->how == SR_RESUME_FRESH ? sr_folder_move_aside(f->dir) : SR_OK;
}

static SrStatus resume(Folder *f, int num_epochs) {
    return resume_with(f, num_epochs, false, NULL);
}

// Fails unless the folder has these checkpoints, newest first; NULL ends the list.
static void check_list(Folder *f, const char *const *names) {
    SrFolderEntry *entries;
    int n, expected = 0;
    CHECK_OK(sr_folder_list(f->dir, &entries, &n));
    for (; names[expected]; expected++) {
        CHECK(expected < n);
        CHECK_STR(entries[expected].name, names[expected]);
    }
    CHECK_INT(n, expected);
    sr_free(entries);
}
#define CHECK_LIST(f, ...) check_list(f, (const char *const[]){__VA_ARGS__, NULL})

static void check_link(Folder *f, const char *expected) {
    char target[128] = "";
    CHECK(readlink(in(f, "checkpoint.safetensors"), target, sizeof target - 1) > 0);
    CHECK_STR(target, expected);
    CHECK(sr_file_exists(f->path));
}

static void damage(const char *path) {
    char *data;
    size_t n;
    CHECK_OK(sr_file_read(path, 1 << 20, &data, &n));
    data[n - 1] ^= 1;
    CHECK_OK(sr_file_write(path, data, n));
    sr_free(data);
}

// Opens a log file, so that a test can read what stderr got.
static void open_log(Folder *f) { CHECK_OK(sr_log_open(in(f, "log.txt"))); }

static void check_log(Folder *f, const char *text) {
    char *log;
    size_t n;
    sr_log_close();
    CHECK_OK(sr_file_read(in(f, "log.txt"), 1 << 20, &log, &n));
    if (!strstr(log, text))
        fail_msg("'%s' is not in: %s", text, log);
    sr_free(log);
}

TEST(test_folder) {
    Folder f;
    open_folder(&f, 3);
    CHECK_FAILS(sr_folder_newest(f.dir, f.path, sizeof f.path), SR_ERR_CONFIG, "no checkpoint");
    CHECK_OK(resume(&f, 100));
    CHECK_INT(f.how, SR_RESUME_FRESH);
    // Ten phases of one epoch each: by name 10 sorts before 2, by iteration it does not.
    for (int i = 1; i <= 10; i++)
        save_at(&f, SR_CHECKPOINT_PHASE, i, 10 * i);
    save_at(&f, SR_CHECKPOINT_ITERATION, 10, 105);
    CHECK_LIST(&f, "model_iteration105.safetensors", "model_phase9.safetensors",
               "model_phase8.safetensors");
    check_link(&f, "model_iteration105.safetensors");
    small_weights(f.params)[0] = 0;
    CHECK_OK(resume(&f, 20));
    CHECK_INT(f.how, SR_RESUME_CONTINUE);
    CHECK_INT(f.at.iteration, 105);
    CHECK_NEAR(small_weights(f.params)[0], 105, 0);
    // The newest checkpoint is damaged, so the run resumes from the one before it.
    damage(in(&f, "model_iteration105.safetensors"));
    CHECK_OK(resume(&f, 20));
    CHECK_INT(f.at.iteration, 100);
    CHECK_NEAR(small_weights(f.params)[0], 100, 0);
    close_folder(&f);
}

TEST(test_finished) {
    Folder f;
    open_folder(&f, 0);
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    save_at(&f, SR_CHECKPOINT_FINAL, 2, 20);
    CHECK_OK(resume(&f, 2));
    CHECK_INT(f.how, SR_RESUME_FINISHED);
    // With more epochs than before, the finished run continues.
    CHECK_OK(resume(&f, 4));
    CHECK_INT(f.how, SR_RESUME_CONTINUE);
    CHECK_INT(f.at.iteration, 20);
    close_folder(&f);
}

// In the folder of a longer run, a shorter run resumes from the checkpoint that was written last
// and not from the one with most updates.
TEST(test_runs_have_identities) {
    Folder f;
    open_folder(&f, 2);
    save_position(&f, SR_CHECKPOINT_PHASE, small_position("old", 1000, 17, 170));
    save_position(&f, SR_CHECKPOINT_PHASE, small_position("old", 1000, 18, 180));
    for (int i = 1; i <= 3; i++)
        save_position(&f, SR_CHECKPOINT_ITERATION, small_position("new", 2000, 0, i));
    check_link(&f, "model_iteration3.safetensors");
    CHECK_LIST(&f, "model_iteration3.safetensors", "model_iteration2.safetensors",
               "model_phase17.safetensors", "model_phase16.safetensors");
    CHECK_OK(sr_folder_newest(f.dir, f.used, sizeof f.used));
    CHECK_STR(f.used, in(&f, "model_iteration3.safetensors"));
    CHECK_OK(resume(&f, 20));
    CHECK_STR(f.at.run.id, "new");
    CHECK_INT(f.at.iteration, 3);
    // Batches of 80 make a tenth of the updates: the position has seen more images and is newer.
    SrPosition large = small_position("new", 2000, 0, 1);
    large.batch_size = 80;
    save_position(&f, SR_CHECKPOINT_ITERATION, large);
    CHECK_OK(resume(&f, 20));
    CHECK_INT(f.at.batch_size, 80);
    close_folder(&f);
}

// Checkpoints of an interruption are removed once the run has continued; final ones of fewer
// epochs are kept like any other.
TEST(test_interrupted_runs_leave_nothing) {
    Folder f;
    open_folder(&f, 0);
    SrPosition stopped = small_position("a", 1000, 0, 7);
    stopped.stopped = true;
    save_position(&f, SR_CHECKPOINT_ITERATION, stopped);
    CHECK_LIST(&f, "model_iteration7.safetensors");
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    save_at(&f, SR_CHECKPOINT_FINAL, 2, 20);
    save_at(&f, SR_CHECKPOINT_FINAL, 4, 40);
    CHECK_LIST(&f, "model_final_checkpoint_phase3.safetensors",
               "model_final_checkpoint_phase1.safetensors", "model_phase0.safetensors");
    f.c.keep_last = 1;
    save_at(&f, SR_CHECKPOINT_PHASE, 5, 50);
    CHECK_LIST(&f, "model_phase4.safetensors", "model_final_checkpoint_phase3.safetensors");
    close_folder(&f);
}

// With --restart or AUTO_RESUME=False no checkpoint is overwritten, and the new run is the newer
// one.
TEST(test_begin_anew) {
    Folder f;
    open_folder(&f, 2);
    save_at(&f, SR_CHECKPOINT_FINAL, 2, 20);
    CHECK_OK(sr_file_write(in(&f, "metrics.json"), "{}\n", 3));
    CHECK_OK(resume_with(&f, 2, true, NULL));
    CHECK_INT(f.how, SR_RESUME_FRESH);
    CHECK(*f.at.run.id && f.at.run.started > 1000 && f.at.iteration == 0);
    CHECK(!sr_file_is_link(in(&f, "checkpoint.safetensors")));
    CHECK(!sr_file_exists(in(&f, "metrics.json")));
    CHECK(sr_file_exists(in(&f, "earlier-1/metrics.json")));
    CHECK(sr_file_exists(in(&f, "earlier-1/model_final_checkpoint_phase1.safetensors")));
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    f.c.auto_resume = false;
    CHECK_OK(resume(&f, 2));
    CHECK_INT(f.how, SR_RESUME_FRESH);
    CHECK(sr_file_exists(in(&f, "earlier-2/model_phase0.safetensors")));
    close_folder(&f);
}

// OVERWRITE_EXISTING restarts over a finished run, another configuration or another model, and
// resumes an unfinished run.
TEST(test_overwrite_existing) {
    Folder f;
    SrArena arena = SR_ARENA_INIT;
    const SrYaml *seven = small_tree(&arena, "SEED_VALUE: 7\n"),
                 *eight = small_tree(&arena, "SEED_VALUE: 8\n");
    open_folder(&f, 0);
    f.c.overwrite_existing = true;
    SrPosition at = small_position("a", 1000, 1, 10);
    SrCheckpointParts parts = {f.params, NULL, seven};
    CHECK_OK(sr_folder_save(&f.c, SR_CHECKPOINT_PHASE, &parts, &at, NULL, 0));
    CHECK_OK(resume_with(&f, 2, false, seven));
    CHECK_INT(f.how, SR_RESUME_CONTINUE);
    CHECK_OK(resume_with(&f, 2, false, eight));
    CHECK_INT(f.how, SR_RESUME_FRESH);
    CHECK(sr_file_exists(in(&f, "earlier-1/model_phase0.safetensors")));
    CHECK_OK(sr_folder_save(&f.c, SR_CHECKPOINT_PHASE, &parts, &at, NULL, 0));
    CHECK_OK(resume_with(&f, 1, false, seven)); // the run is finished
    CHECK_INT(f.how, SR_RESUME_FRESH);
    CHECK_OK(sr_folder_save(&f.c, SR_CHECKPOINT_PHASE, &parts, &at, NULL, 0));
    sr_params_free(f.params);
    f.params = small_model(6);
    CHECK_OK(resume_with(&f, 2, false, seven));
    CHECK_INT(f.how, SR_RESUME_FRESH);
    CHECK(sr_file_exists(in(&f, "earlier-3/model_phase0.safetensors")));
    sr_arena_deinit(&arena);
    close_folder(&f);
}

// Each damaged file is named in the log. If none is intact the run does not start, and no file is
// changed.
TEST(test_all_damaged) {
    Folder f;
    open_folder(&f, 0);
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    save_at(&f, SR_CHECKPOINT_FINAL, 2, 20);
    const char *const final = "model_final_checkpoint_phase1.safetensors";
    CHECK_INT(truncate(in(&f, final), 500), 0);
    open_log(&f);
    CHECK_OK(resume(&f, 2));
    CHECK_INT(f.at.iteration, 10);
    check_log(&f, "model_final_checkpoint_phase1.safetensors");
    damage(in(&f, "model_phase0.safetensors"));
    open_log(&f);
    CHECK_FAILS(resume(&f, 2), SR_ERR_CONFIG, "all of its 2 checkpoints are damaged");
    check_log(&f, "model_phase0.safetensors: damaged checkpoint");
    CHECK(sr_file_exists(in(&f, final)) && sr_file_exists(in(&f, "model_phase0.safetensors")));
    f.c.overwrite_existing = true;
    CHECK_OK(resume(&f, 2));
    CHECK_INT(f.how, SR_RESUME_FRESH);
    CHECK(sr_file_exists(in(&f, "earlier-1/model_phase0.safetensors")));
    close_folder(&f);
}

// A file that cannot be opened may be the newest and intact, so the run does not start.
TEST(test_unopenable) {
    Folder f;
    open_folder(&f, 0);
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    CHECK_INT(symlink("model_phase1.safetensors", in(&f, "model_phase1.safetensors")), 0);
    CHECK_FAILS(resume(&f, 4), SR_ERR_CONFIG, "1 checkpoint cannot be opened");
    CHECK(sr_file_is_link(in(&f, "model_phase1.safetensors")));
    close_folder(&f);
}

// A regular file in the place of the link stays, and the run continues without a link.
TEST(test_no_link) {
    Folder f;
    char *data;
    size_t n;
    open_folder(&f, 0);
    CHECK_OK(sr_file_write(in(&f, "checkpoint.safetensors"), "mine", 4));
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    CHECK_OK(sr_file_read(in(&f, "checkpoint.safetensors"), 100, &data, &n));
    CHECK_STR(data, "mine");
    sr_free(data);
    CHECK_LIST(&f, "model_phase0.safetensors");
    close_folder(&f);
}

// A file system without links: a folder under the link's temporary name makes symlink() fail
// here.
TEST(test_links_fail) {
    Folder f;
    SrFileWriter writer;
    char temporary[4096];
    open_folder(&f, 0);
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    CHECK_OK(sr_file_begin(&writer, in(&f, "checkpoint.safetensors")));
    snprintf(temporary, sizeof temporary, "%s", writer.temporary);
    sr_file_abort(&writer);
    CHECK_OK(sr_file_mkdirs(temporary));
    save_at(&f, SR_CHECKPOINT_PHASE, 2, 20);
    CHECK(!sr_file_is_link(in(&f, "checkpoint.safetensors"))); // no link to an older file either
    CHECK_LIST(&f, "model_phase1.safetensors", "model_phase0.safetensors");
    close_folder(&f);
}

// WINOGRAD changes the numbers and DEVICE does not; no loss writes to its output_dir.
TEST(test_changes_of_the_machine) {
    Folder f;
    SrArena arena = SR_ARENA_INIT;
    SrText changes = SR_TEXT_INIT;
    const char *form = "MACHINE: {DEVICE: %s, WINOGRAD: %s}\nLOSS: {swav_loss: {output_dir: %s}}\n";
    char before[128], after[128];
    snprintf(before, sizeof before, form, "gpu", "f4", "a");
    snprintf(after, sizeof after, form, "cpu", "none", "b");
    open_folder(&f, 0);
    SrPosition at = {.iteration = 1};
    CHECK_OK(sr_checkpoint_save(
        in(&f, "x"), &(SrCheckpointParts){f.params, NULL, small_tree(&arena, before)}, &at));
    CHECK_OK(sr_checkpoint_changes(f.path, small_tree(&arena, after), &changes));
    CHECK_STR(changes.s, "MACHINE.WINOGRAD: f4 -> none");
    sr_text_deinit(&changes);
    sr_arena_deinit(&arena);
    close_folder(&f);
}

SR_TESTS(checkpoint_folder, unit(test_folder), unit(test_finished), unit(test_runs_have_identities),
         unit(test_interrupted_runs_leave_nothing), unit(test_begin_anew),
         unit(test_overwrite_existing), unit(test_all_damaged), unit(test_unopenable),
         unit(test_no_link), unit(test_links_fail), unit(test_changes_of_the_machine))
