// Checkpoint files and the run folder: round trip in bits, every kind of damage, another model,
// resume and pruning.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/position.h"
#include "trainer/run/run_folder.h"

// ---- a small model ------------------------------------------------------------------------------

static SrParams *small_model(int width) {
    SrParams *params;
    int index;
    const SrInit normal = {SR_INIT_NORMAL, 1.0}, zero = {SR_INIT_CONSTANT, 0};
    const SrSlot weight = {"weight",      SR_SHAPE(width, 5), SR_F32,
                           SR_SLOT_PARAM, SR_ROLE_WEIGHT,     normal};
    const SrSlot mean = {"running_mean", SR_SHAPE(width), SR_F32,
                         SR_SLOT_STATE,  SR_ROLE_OTHER,   normal};
    const SrSlot count = {"num_batches_tracked", SR_SCALAR,     SR_I64,
                          SR_SLOT_STATE,         SR_ROLE_OTHER, zero};
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_params_add(params, "trunk._feature_blocks.conv1.weight", &weight, &index));
    CHECK_OK(sr_params_add(params, "trunk._feature_blocks.bn1.running_mean", &mean, &index));
    CHECK_OK(
        sr_params_add(params, "trunk._feature_blocks.bn1.num_batches_tracked", &count, &index));
    CHECK_OK(sr_params_allocate(params));
    sr_params_init(params, 7);
    return params;
}

static float *weights(SrParams *params) { return sr_params_at(params, 0)->value; }

static int64_t *counter(SrParams *params) { return sr_params_at(params, 2)->value; }

static SrYaml *tree(SrArena *arena, const char *text) {
    SrYaml *out = NULL;
    CHECK_OK(sr_yaml_parse(arena, text, strlen(text), "test", &out));
    return out;
}

// ---- files --------------------------------------------------------------------------------------

static void test_round_trip(void **state) {
    (void)state;
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    SrArena arena = SR_ARENA_INIT;
    SrParams *a = small_model(4), *b = small_model(4);
    const SrYaml *config = tree(
        &arena,
        "SEED_VALUE: 3\nLOG_FREQUENCY: 10\nOPTIMIZER: {num_epochs: 2, weight_decay: 1.0e-4}\n");
    SrPosition at = {.run = {"0123456789abcdef", 1700000000000},
                     .kernels = "avx512_bf16",
                     .stopped = true,
                     .epoch = 3,
                     .batch = 17,
                     .iteration = 1234567890123,
                     .loss_sum = 0.1,
                     .loss_max = 1e300},
               back;
    weights(a)[3] = 1.0e-40f; // denormal: bits, not numbers, come back
    *counter(a) = INT64_MAX - 1;
    memset(weights(b), 0, 20 * sizeof(float));
    CHECK_OK(sr_checkpoint_save(path, &(SrCheckpointParts){a, NULL, config}, &at));
    CHECK_OK(sr_checkpoint_load(path, &(SrCheckpointParts){b, NULL, config}, &back));
    CHECK(memcmp(weights(a), weights(b), 20 * sizeof(float)) == 0);
    CHECK_INT(*counter(b), INT64_MAX - 1);
    CHECK(back.epoch == 3 && back.batch == 17 && back.iteration == 1234567890123 && !back.finished);
    CHECK_STR(back.run.id, at.run.id);
    CHECK_STR(back.kernels, at.kernels);
    CHECK(back.run.started == 1700000000000 && back.stopped);
    CHECK(back.loss_sum == 0.1 && back.loss_max == 1e300);
    CHECK_OK(sr_checkpoint_position(path, &back));
    CHECK_INT(back.batch, 17);

    SrText changes = SR_TEXT_INIT;
    CHECK_OK(sr_checkpoint_changes(path, config, &changes));
    CHECK_INT(changes.len, 0);
    const SrYaml *other = tree(
        &arena, "SEED_VALUE: 4\nLOG_FREQUENCY: 5\nOPTIMIZER: {num_epochs: 2, nesterov: true}\n");
    CHECK_OK(sr_checkpoint_changes(path, other, &changes));
    CHECK_STR(changes.s, "SEED_VALUE: 3 -> 4, OPTIMIZER.nesterov: (none) -> true, "
                         "OPTIMIZER.weight_decay: 0.0001 -> (none)");
    sr_text_deinit(&changes);
    sr_params_free(a);
    sr_params_free(b);
    sr_arena_deinit(&arena);
    temp_dir_remove(dir);
}

// Plain writing: sr_file_write waits for the disk, a thousand times over.
static void overwrite(const char *path, const char *data, size_t n) {
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(data, 1, n, f) == n && fclose(f) == 0);
}

// Each cut and each flipped byte must be noticed, and must leave the model as it was.
static void test_damage(void **state) {
    (void)state;
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    SrParams *a = small_model(4), *b = small_model(4);
    SrPosition at = {.iteration = 5}, back;
    SrCheckpointParts from = {a, NULL, NULL}, to = {b, NULL, NULL};
    for (int i = 0; i < 20; i++)
        weights(a)[i] += 1;
    CHECK_OK(sr_checkpoint_save(path, &from, &at));
    float before[20];
    memcpy(before, weights(b), sizeof before);
    char *data;
    size_t n;
    CHECK_OK(sr_file_read(path, 1 << 20, &data, &n));
    int untouched = 0;
    for (size_t i = 0; i < n; i++) {
        data[i] = (char)(data[i] ^ 0x20);
        overwrite(path, data, n);
        SrStatus status = sr_checkpoint_load(path, &to, &back);
        data[i] = (char)(data[i] ^ 0x20);
        // Padding between tensors and blanks after the header carry nothing; letter case in "F32"
        // does.
        if (status == SR_OK) {
            untouched++;
            CHECK_INT(back.iteration, 5);
            CHECK(memcmp(weights(a), weights(b), sizeof before) == 0);
            memcpy(weights(b), before, sizeof before);
        }
        CHECK(memcmp(weights(b), before, sizeof before) == 0);
    }
    CHECK(untouched < 200);
    for (size_t cut = 0; cut < n; cut += cut < 64 ? 1 : 37) {
        overwrite(path, data, cut);
        CHECK_FAILS(sr_checkpoint_load(path, &to, &back), SR_ERR_IO, "");
        CHECK(memcmp(weights(b), before, sizeof before) == 0);
    }
    sr_free(data);
    sr_params_free(a);
    sr_params_free(b);
    temp_dir_remove(dir);
}

static void test_other_model(void **state) {
    (void)state;
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    SrParams *a = small_model(4), *b = small_model(6);
    SrPosition at = {.iteration = 5};
    CHECK_OK(sr_checkpoint_save(path, &(SrCheckpointParts){a, NULL, NULL}, &at));
    SrCheckpointParts to = {b, NULL, NULL};
    CHECK_FAILS(
        sr_checkpoint_load(path, &to, &at), SR_ERR_CONFIG,
        "2 tensors differ: trunk._feature_blocks.conv1.weight: checkpoint [4, 5], model [6, 5]; "
        "trunk._feature_blocks.bn1.running_mean: checkpoint [4], model [6]");
    // Bare weights are no checkpoint.
    const SrNamedTensor t = {"x", {SR_SHAPE(2), SR_F32, weights(a)}};
    CHECK_OK(sr_safetensors_save(path, &t, 1, NULL, NULL, 0));
    CHECK_FAILS(sr_checkpoint_load(path, &to, &at), SR_ERR_CONFIG, "PARAMS_FILE");
    CHECK(!sr_params_nonfinite(a));
    weights(a)[2] = INFINITY;
    CHECK_STR(sr_params_nonfinite(a), "trunk._feature_blocks.conv1.weight");
    sr_params_free(a);
    sr_params_free(b);
    temp_dir_remove(dir);
}

// ---- the folder ---------------------------------------------------------------------------------

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

// Ten updates an epoch of batches of 8; the run's name and start.
static SrPosition position(const char *run, int64_t started, int64_t epoch, int64_t iteration) {
    SrPosition at = {.run = {.started = started},
                     .epoch = epoch,
                     .batch = iteration - 10 * epoch,
                     .iteration = iteration,
                     .batch_size = 8,
                     .images = 80};
    snprintf(at.run.id, sizeof at.run.id, "%s", run);
    return at;
}

static void save_position(Folder *f, SrCheckpointKind kind, SrPosition at) {
    weights(f->params)[0] = (float)at.iteration;
    at.finished = kind == SR_CHECKPOINT_FINAL;
    CHECK_OK(
        sr_folder_save(&f->c, kind, &(SrCheckpointParts){f->params, NULL, NULL}, &at, NULL, 0));
}

static void save_at(Folder *f, SrCheckpointKind kind, int64_t epoch, int64_t iteration) {
    save_position(f, kind, position("a", 1000, epoch, iteration));
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

// The checkpoints of the folder are these, newest first; NULL ends them.
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

// What stderr was told while the log stands in a file.
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

static void test_folder(void **state) {
    (void)state;
    Folder f;
    open_folder(&f, 3);
    CHECK_FAILS(sr_folder_newest(f.dir, f.path, sizeof f.path), SR_ERR_CONFIG, "no checkpoint");
    CHECK_OK(resume(&f, 100));
    CHECK_INT(f.how, SR_RESUME_FRESH);
    // Ten phases of one epoch each; names sort 10 before 2, iterations do not.
    for (int i = 1; i <= 10; i++)
        save_at(&f, SR_CHECKPOINT_PHASE, i, 10 * i);
    save_at(&f, SR_CHECKPOINT_ITERATION, 10, 105);
    CHECK_LIST(&f, "model_iteration105.safetensors", "model_phase9.safetensors",
               "model_phase8.safetensors");
    check_link(&f, "model_iteration105.safetensors");
    weights(f.params)[0] = 0;
    CHECK_OK(resume(&f, 20));
    CHECK_INT(f.how, SR_RESUME_CONTINUE);
    CHECK_INT(f.at.iteration, 105);
    CHECK_NEAR(weights(f.params)[0], 105, 0);
    // The newest is damaged: the one before serves.
    damage(in(&f, "model_iteration105.safetensors"));
    CHECK_OK(resume(&f, 20));
    CHECK_INT(f.at.iteration, 100);
    CHECK_NEAR(weights(f.params)[0], 100, 0);
    close_folder(&f);
}

static void test_finished(void **state) {
    (void)state;
    Folder f;
    open_folder(&f, 0);
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    save_at(&f, SR_CHECKPOINT_FINAL, 2, 20);
    CHECK_OK(resume(&f, 2));
    CHECK_INT(f.how, SR_RESUME_FINISHED);
    // More epochs than it had: it goes on.
    CHECK_OK(resume(&f, 4));
    CHECK_INT(f.how, SR_RESUME_CONTINUE);
    CHECK_INT(f.at.iteration, 20);
    close_folder(&f);
}

// A shorter run in the folder of a longer one: the newest is what was written last, not what has most updates.
static void test_runs_have_identities(void **state) {
    (void)state;
    Folder f;
    open_folder(&f, 2);
    save_position(&f, SR_CHECKPOINT_PHASE, position("old", 1000, 17, 170));
    save_position(&f, SR_CHECKPOINT_PHASE, position("old", 1000, 18, 180));
    for (int i = 1; i <= 3; i++)
        save_position(&f, SR_CHECKPOINT_ITERATION, position("new", 2000, 0, i));
    check_link(&f, "model_iteration3.safetensors");
    CHECK_LIST(&f, "model_iteration3.safetensors", "model_iteration2.safetensors",
               "model_phase17.safetensors", "model_phase16.safetensors");
    CHECK_OK(sr_folder_newest(f.dir, f.used, sizeof f.used));
    CHECK_STR(f.used, in(&f, "model_iteration3.safetensors"));
    CHECK_OK(resume(&f, 20));
    CHECK_STR(f.at.run.id, "new");
    CHECK_INT(f.at.iteration, 3);
    // Batches of 80 count a tenth of the updates: behind more images, and so newer.
    SrPosition large = position("new", 2000, 0, 1);
    large.batch_size = 80;
    save_position(&f, SR_CHECKPOINT_ITERATION, large);
    CHECK_OK(resume(&f, 20));
    CHECK_INT(f.at.batch_size, 80);
    close_folder(&f);
}

// What a stop wrote goes when the run has gone on; finals of fewer epochs count as any other.
static void test_interrupted_runs_leave_nothing(void **state) {
    (void)state;
    Folder f;
    open_folder(&f, 0);
    SrPosition stopped = position("a", 1000, 0, 7);
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

// --restart, AUTO_RESUME=False: nothing is written over, and the new run is the newer one.
static void test_begin_anew(void **state) {
    (void)state;
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

// As its help has it: anew over a finished run, another configuration or another model; on with an unfinished one.
static void test_overwrite_existing(void **state) {
    (void)state;
    Folder f;
    SrArena arena = SR_ARENA_INIT;
    const SrYaml *seven = tree(&arena, "SEED_VALUE: 7\n"), *eight = tree(&arena, "SEED_VALUE: 8\n");
    open_folder(&f, 0);
    f.c.overwrite_existing = true;
    SrPosition at = position("a", 1000, 1, 10);
    SrCheckpointParts parts = {f.params, NULL, seven};
    CHECK_OK(sr_folder_save(&f.c, SR_CHECKPOINT_PHASE, &parts, &at, NULL, 0));
    CHECK_OK(resume_with(&f, 2, false, seven));
    CHECK_INT(f.how, SR_RESUME_CONTINUE);
    CHECK_OK(resume_with(&f, 2, false, eight));
    CHECK_INT(f.how, SR_RESUME_FRESH);
    CHECK(sr_file_exists(in(&f, "earlier-1/model_phase0.safetensors")));
    CHECK_OK(sr_folder_save(&f.c, SR_CHECKPOINT_PHASE, &parts, &at, NULL, 0));
    CHECK_OK(resume_with(&f, 1, false, seven)); // finished
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

// Each damaged file is named; where none is whole the run does not begin, and no file is touched.
static void test_all_damaged(void **state) {
    (void)state;
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
    CHECK_FAILS(resume(&f, 2), SR_ERR_CONFIG, "none of its 2 checkpoints is whole");
    check_log(&f, "model_phase0.safetensors: damaged checkpoint");
    CHECK(sr_file_exists(in(&f, final)) && sr_file_exists(in(&f, "model_phase0.safetensors")));
    f.c.overwrite_existing = true;
    CHECK_OK(resume(&f, 2));
    CHECK_INT(f.how, SR_RESUME_FRESH);
    CHECK(sr_file_exists(in(&f, "earlier-1/model_phase0.safetensors")));
    close_folder(&f);
}

// A file that cannot even be opened may be the newest and whole.
static void test_unopenable(void **state) {
    (void)state;
    Folder f;
    open_folder(&f, 0);
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    CHECK_INT(symlink("model_phase1.safetensors", in(&f, "model_phase1.safetensors")), 0);
    CHECK_FAILS(resume(&f, 4), SR_ERR_CONFIG, "1 checkpoint cannot be opened");
    CHECK(sr_file_is_link(in(&f, "model_phase1.safetensors")));
    close_folder(&f);
}

// A file in the link's place stays, and costs the run nothing.
static void test_no_link(void **state) {
    (void)state;
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

// A file system that knows no links: what stands under the link's temporary name makes symlink() fail here.
static void test_links_fail(void **state) {
    (void)state;
    Folder f;
    char name[64];
    open_folder(&f, 0);
    save_at(&f, SR_CHECKPOINT_PHASE, 1, 10);
    snprintf(name, sizeof name, "checkpoint.safetensors.tmp%ld", (long)getpid());
    CHECK_OK(sr_file_mkdirs(in(&f, name)));
    save_at(&f, SR_CHECKPOINT_PHASE, 2, 20);
    CHECK(!sr_file_is_link(in(&f, "checkpoint.safetensors"))); // not one to an older file either
    CHECK_LIST(&f, "model_phase1.safetensors", "model_phase0.safetensors");
    close_folder(&f);
}

// WINOGRAD changes the numbers, DEVICE does not, and no loss writes to its output_dir.
static void test_changes_of_the_machine(void **state) {
    (void)state;
    Folder f;
    SrArena arena = SR_ARENA_INIT;
    SrText changes = SR_TEXT_INIT;
    const char *form = "MACHINE: {DEVICE: %s, WINOGRAD: %s}\nLOSS: {swav_loss: {output_dir: %s}}\n";
    char before[128], after[128];
    snprintf(before, sizeof before, form, "gpu", "f4", "a");
    snprintf(after, sizeof after, form, "cpu", "none", "b");
    open_folder(&f, 0);
    SrPosition at = {.iteration = 1};
    CHECK_OK(sr_checkpoint_save(in(&f, "x"),
                                &(SrCheckpointParts){f.params, NULL, tree(&arena, before)}, &at));
    CHECK_OK(sr_checkpoint_changes(f.path, tree(&arena, after), &changes));
    CHECK_STR(changes.s, "MACHINE.WINOGRAD: f4 -> none");
    sr_text_deinit(&changes);
    sr_arena_deinit(&arena);
    close_folder(&f);
}

// ---- positions ----------------------------------------------------------------------------------

static void test_position_fit(void **state) {
    (void)state;
    int64_t again;
    SrPosition at = position("a", 1, 2, 26); // 48 images into epoch 2
    at.loss_sum = 12;
    CHECK_INT(sr_position_fit(&at, 8, 80, 10, &again), SR_FIT_SAME);
    CHECK_INT(at.iteration, 26);
    CHECK_INT(sr_position_fit(&at, 16, 80, 5, &again), SR_FIT_BATCH);
    CHECK(at.batch == 3 && at.iteration == 13 && again == 0);
    CHECK_NEAR(at.loss_sum, 6, 1e-12);
    CHECK_INT(sr_position_fit(&at, 20, 80, 4, &again), SR_FIT_BATCH);
    CHECK(at.batch == 2 && at.iteration == 10 && again == 8);
    // Behind the last batch, waiting for its test phase.
    at = position("a", 1, 0, 10);
    CHECK_INT(sr_position_fit(&at, 8, 80, 10, &again), SR_FIT_SAME);
    CHECK_INT(sr_position_fit(&at, 32, 80, 2, &again), SR_FIT_BATCH);
    CHECK(at.batch == 2 && again == 0);
    at = position("a", 1, 0, 10);
    CHECK_INT(sr_position_fit(&at, 32, 80, 3, &again), SR_FIT_BATCH); // the third of 16 images
    CHECK(at.batch == 3 && again == 0);
    // Other images come in another order.
    at = position("a", 1, 1, 13);
    CHECK_INT(sr_position_fit(&at, 8, 96, 12, &again), SR_FIT_RESTART);
    CHECK(at.batch == 0 && at.iteration == 12 && at.images == 96);
    // A file of before batch sizes were written.
    at = (SrPosition){.epoch = 1, .batch = 3, .iteration = 13};
    CHECK_INT(sr_position_fit(&at, 8, 80, 10, &again), SR_FIT_SAME);
    at.batch_size = 0;
    CHECK_INT(sr_position_fit(&at, 16, 80, 5, &again), SR_FIT_RESTART);
    CHECK(at.batch == 0 && at.iteration == 5);
}

SR_TESTS(checkpoint, unit(test_round_trip), unit(test_damage), unit(test_other_model),
         unit(test_folder), unit(test_finished), unit(test_runs_have_identities),
         unit(test_interrupted_runs_leave_nothing), unit(test_begin_anew),
         unit(test_overwrite_existing), unit(test_all_damaged), unit(test_unopenable),
         unit(test_no_link), unit(test_links_fail), unit(test_changes_of_the_machine),
         unit(test_position_fit))
