// The program under mpirun: the number of ranks changes nothing but the time.  Every method, to the bit;
// also when ranks are killed and the run goes on with fewer.
//
// SSLRUN_LONG=1 takes 50 steps each and kills 20 times (make ranks-long).
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "losses/loss.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum { REPLICAS = 4, IMAGES = 4 }; // a replica
#define FINAL "model_final_checkpoint_phase0.safetensors"

static bool is_long(void) { return getenv("SSLRUN_LONG") != NULL; }

static void need_ranks(void) {
    if (!program_has_ranks())
        skip();
}

// ---- a configuration of a loss's example

// Neighbours of one size are one group of crops.
static void add_views(const SrLossExample *e, SrText *out) {
    SrText counts = SR_TEXT_INIT, sizes = SR_TEXT_INIT, scales = SR_TEXT_INIT;
    int n = 0;
    for (int first = 0; e->sizes[first]; first = n) {
        const char *comma = first ? ", " : "";
        while (e->sizes[n] == e->sizes[first])
            n++;
        sr_text_printf(&counts, "%s%d", comma, n - first);
        sr_text_printf(&sizes, "%s%d", comma, e->sizes[first]);
        sr_text_printf(&scales, "%s[0.3, 1.0]", comma);
    }
    sr_text_printf(out,
                   "{name: ImgPilToMultiCrop, total_num_crops: %d, num_crops: [%s], size_crops: "
                   "[%s], crop_scales: [%s]}",
                   n, counts.s, sizes.s, scales.s);
    sr_text_deinit(&counts);
    sr_text_deinit(&sizes);
    sr_text_deinit(&scales);
}

// Noise images with labels, a ResNet-18 of a sixteenth of the width, one epoch of `steps` steps.
static void write_config(const char *path, const SrLoss *loss, const SrLossExample *e, int steps) {
    SrText t = SR_TEXT_INIT;
    sr_text_printf(&t,
                   "LOG_FREQUENCY: 1\nTEST_MODEL: False\nDATA:\n  NUM_DATALOADER_WORKERS: 1\n"
                   "  TRAIN: {DATA_SOURCES: [synthetic], RANDOM_SYNTHETIC_IMAGES: True, "
                   "RANDOM_SYNTHETIC_LABELS: 4, DEFAULT_GRAY_IMG_SIZE: 20, DATA_LIMIT: %d, "
                   "BATCHSIZE_PER_REPLICA: %d, COLLATE_FUNCTION: %s, TRANSFORMS: [",
                   steps * REPLICAS * IMAGES + 3, IMAGES,
                   e->patch ? "ibot_multicrop_masking_collator" : "multicrop_collator");
    add_views(e, &t);
    char masks[96] = "";
    if (e->patch)
        snprintf(masks, sizeof masks, ", {name: MaskedImageModeling, patch_size: %d}", e->patch);
    sr_text_add(&t, ", {name: RandomHorizontalFlip}, {name: ToTensor}, {name: Normalize}");
    sr_text_printf(&t,
                   "%s]}\nMODEL:\n  TRUNK: {%s}\n  HEAD: {PARAMS: %s}\n%s%s\n"
                   "LOSS: {name: %s, %s: %s}\n"
                   "OPTIMIZER: {num_epochs: 1, momentum: 0.9, weight_decay: 0.0001, "
                   "param_schedulers: {lr: {name: cosine, start_value: 0.1, end_value: 0.01}}}\n"
                   "CHECKPOINT: {CHECKPOINT_ITER_FREQUENCY: 1, KEEP_LAST: 2}\n"
                   "DISTRIBUTED: {REPLICAS: %d}\n",
                   masks,
                   e->trunk ? e->trunk
                            : "NAME: resnet, RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625, "
                              "SMALL_IMAGE_STEM: True}",
                   e->heads, e->more ? "  " : "", e->more ? e->more : "", loss->name,
                   strchr(loss->subtree, '.') + 1, e->options ? e->options : "{}", REPLICAS);
    CHECK_OK(sr_file_write(path, t.s, t.len));
    sr_text_deinit(&t);
}

static pid_t begin(const char *config, const char *dir, int ranks, const char *extra) {
    char key[128];
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    const char *args[] = {config, key, "--random", extra,
                          NULL}; // a teacher of a distillation is drawn
    return program_start_ranks(dir, ranks, 1, args);
}

static void finish(const char *config, const char *dir, int ranks) {
    char err[1 << 14];
    int code = program_wait(begin(config, dir, ranks, NULL), NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != 0)
        fail_msg("%d ranks, exit code %d: %s", ranks, code, err);
}

static void check_same(const char *a, const char *b) {
    char x[128], y[128];
    snprintf(x, sizeof x, "%s/" FINAL, a);
    snprintf(y, sizeof y, "%s/" FINAL, b);
    check_same_checkpoint(x, y, 50);
}

// ---- every method

static void same_for_any_number(const SrLoss *loss, const SrLossExample *e) {
    char home[64], config[96], one[64];
    temp_dir_make(home);
    temp_dir_make(one);
    snprintf(config, sizeof config, "%s/toy.yaml", home);
    write_config(config, loss, e, is_long() ? 50 : 3);
    finish(config, one, 0);
    for (int ranks = 2; ranks <= REPLICAS; ranks *= 2) {
        char dir[64];
        temp_dir_make(dir);
        finish(config, dir, ranks);
        check_same(one, dir);
        temp_dir_remove(dir);
    }
    temp_dir_remove(one);
    temp_dir_remove(home);
}

static void test_every_method(void **state) {
    (void)state;
    const char *only = getenv("SR_TEST_LOSS"); // as tests/losses/test_loss.c has it
    need_ranks();
    for (int i = 0; sr_loss_at(i); i++) {
        if (only && strcmp(only, sr_loss_at(i)->name) != 0)
            continue;
        print_message("    %s\n", sr_loss_at(i)->name);
        same_for_any_number(sr_loss_at(i), &sr_loss_at(i)->examples[0]);
    }
}

// ---- meters

#define METER "METERS.names=[accuracy_list_meter]"

// The meter's values in metrics.json: from its name to the end of its map.
static void read_meter(const char *config, int ranks, char out[256]) {
    char dir[64], text[1 << 14];
    temp_dir_make(dir);
    CHECK_INT(program_wait(begin(config, dir, ranks, METER), NULL), 0);
    program_read(dir, "metrics.json", text, sizeof text);
    const char *at = strstr(text, "train_accuracy_list_meter"), *end = at ? strstr(at, "}}") : NULL;
    if (!end || end - at >= 256)
        fail_msg("no meter in %s", text);
    else
        snprintf(out, 256, "%.*s", (int)(end - at), at);
    temp_dir_remove(dir);
}

// Rank 0 counts the images of all ranks.
static void test_meters(void **state) {
    (void)state;
    char home[64], config[96], one[256], two[256];
    const SrLoss *loss;
    need_ranks();
    CHECK_OK(sr_loss_find("CrossEntropyLoss", &loss));
    temp_dir_make(home);
    snprintf(config, sizeof config, "%s/toy.yaml", home);
    write_config(config, loss, &loss->examples[0], 5);
    read_meter(config, 0, one);
    read_meter(config, 2, two);
    CHECK_STR(one, two);
    temp_dir_remove(home);
}

// ---- kills

static void sleep_ms(double ms) {
    struct timespec t = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (double)(time_t)(ms / 1e3)) * 1e6)};
    nanosleep(&t, NULL);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

// The process of that rank below mpirun; 0: it is not there.
static pid_t pid_of_rank(pid_t mpirun, int rank) {
    char command[64];
    int pid = 0;
    snprintf(command, sizeof command, "pgrep -P %d | sed -n %dp", (int)mpirun, rank + 1);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%d", &pid) != 1)
        pid = 0;
    if (f)
        pclose(f);
    return pid;
}

static bool has_progress(const char *dir) {
    char text[4096];
    program_read(dir, "stdout.json", text, sizeof text);
    return strchr(text, '\n') != NULL;
}

// One rank of four dies at a random moment: the others end with it, and fewer ranks go on.
static void test_killed_ranks(void **state) {
    (void)state;
    char home[64], config[96], whole[64];
    const SrLoss *loss;
    need_ranks();
    CHECK_OK(sr_loss_find("swav_loss", &loss));
    temp_dir_make(home);
    temp_dir_make(whole);
    snprintf(config, sizeof config, "%s/toy.yaml", home);
    write_config(config, loss, &loss->examples[0], is_long() ? 50 : 8);
    finish(config, whole, 0);
    SrRng rng = sr_rng((uint64_t)now_ms(), SR_RNG_TEST, 0, 0, 0, 0);
    for (int kills = 0, wanted = is_long() ? 20 : 2; kills < wanted;) {
        char dir[64];
        temp_dir_make(dir);
        pid_t mpirun = begin(config, dir, REPLICAS, NULL);
        // Open MPI waits for ever for a rank that dies before it has joined.
        for (int i = 0; i < 12000 && !has_progress(dir); i++)
            sleep_ms(5);
        sleep_ms(sr_rng_range(&rng, 0, 300));
        pid_t victim = pid_of_rank(mpirun, (int)sr_rng_below(&rng, REPLICAS));
        if (victim > 0)
            kill(victim, SIGKILL);
        double killed = now_ms();
        int code = program_wait(mpirun, NULL);
        if (code != 0) {
            CHECK_INT(code, 128 + SIGKILL);
            CHECK(now_ms() - killed < 5000);
            finish(config, dir, 2 - kills % 2);
            kills++;
        }
        check_same(whole, dir);
        temp_dir_remove(dir);
    }
    temp_dir_remove(whole);
    temp_dir_remove(home);
}

// ---- signals and full disks

static bool is_saved(const char *dir) {
    char path[128];
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", dir);
    return sr_file_exists(path);
}

static void wait_for_progress(const char *dir) {
    for (int i = 0; i < 12000 && !has_progress(dir); i++)
        sleep_ms(5);
}

// One rank is asked to stop: all finish the same step, rank 0 saves, and the exit code says which signal it was.
static void stop_with(int signal) {
    char dir[64], err[1 << 14];
    temp_dir_make(dir);
    pid_t mpirun = begin("tests/cli/tiny.yaml", dir, 2, "DATA.TRAIN.DATA_LIMIT=7000");
    wait_for_progress(dir);
    kill(pid_of_rank(mpirun, 1), signal);
    int code = program_wait(mpirun, NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != 128 + signal || !strstr(err, "updates and saved") || !is_saved(dir))
        fail_msg("signal %d, exit code %d: %s", signal, code, err);
    temp_dir_remove(dir);
}

static void test_signals(void **state) {
    (void)state;
    need_ranks();
    stop_with(SIGTERM);
    stop_with(SIGINT);
}

// Rank 0 can write no more: its line, no rank left behind, nothing half-written.
static void test_full_disk(void **state) {
    (void)state;
    char dir[64], err[1 << 14];
    need_ranks();
    temp_dir_make(dir);
    pid_t mpirun = begin("tests/cli/tiny.yaml", dir, 2, "DATA.TRAIN.DATA_LIMIT=7000");
    wait_for_progress(dir);
    struct rlimit limit = {20000, RLIM_INFINITY};
    CHECK_INT(prlimit(pid_of_rank(mpirun, 0), RLIMIT_FSIZE, &limit, NULL), 0);
    double began = now_ms();
    int code = program_wait(mpirun, NULL);
    program_read(dir, "err", err, sizeof err);
    const char *reason = strstr(err, "sslrun: rank 0 on ");
    if (code != 1 || !reason || !strstr(reason, "File too large") || now_ms() - began > 5000)
        fail_msg("exit code %d: %s", code, err);
    finish("tests/cli/tiny.yaml", dir, 2);
    temp_dir_remove(dir);
}

// ---- ranks that differ

enum { COMMAND_BYTES = 1 << 15 };

// Each rank by a command line of its own; neither gets as far as a folder of the run.
static void check_differs(const char *first, const char *second, const char *keys,
                          const char *wanted) {
    char dir[64], path[128], config[4096], err[1 << 14], command[COMMAND_BYTES];
    temp_dir_make(dir);
    CHECK(realpath("tests/cli/tiny.yaml", config) != NULL);
    snprintf(path, sizeof path, "%s/run", dir);
    snprintf(command, sizeof command,
             "K='%s CHECKPOINT.DIR=%s DISTRIBUTED.REPLICAS=2 %s'; timeout 60 mpirun "
             "--oversubscribe --allow-run-as-root -np 1 %s $K : -np 1 %s $K 2>%s/err",
             config, path, keys, first, second, dir);
    int code = system(command);
    program_read(dir, "err", err, sizeof err);
    if (!WIFEXITED(code) || WEXITSTATUS(code) != 2 || !strstr(err, wanted) ||
        !strstr(err, "sslrun: rank 0 on ") || !strstr(err, "rank 1 on "))
        fail_msg("exit code %d: %s", code, err);
    CHECK(!sr_file_exists(path));
    temp_dir_remove(dir);
}

static void test_other_start(void **state) {
    (void)state;
    char path[4096], other[4200], dir[64], command[COMMAND_BYTES];
    need_ranks();
    temp_dir_make(dir);
    program_path(path);
    snprintf(other, sizeof other, "env SR_CPU=plain %s", path);
    check_differs(path, other, "", "differ in their processors' instructions");
    // A byte behind its end makes it another file, and nothing else.
    snprintf(other, sizeof other, "%s/sslrun", dir);
    snprintf(command, sizeof command, "cp %s %s && echo >>%s", path, other, other);
    CHECK_INT(system(command), 0);
    check_differs(path, other, "", "differ in the program's file");
    snprintf(command, sizeof command, "sh -c 'exec %s \"$@\" OPTIMIZER.num_epochs=4' sh", path);
    check_differs(path, command, "",
                  "differ in the configuration: \"num_epochs: 4\" and \"num_epochs: 3\"");
    temp_dir_remove(dir);
}

static void add_image(const char *dir, const char *name, uint64_t seed) {
    uint8_t pixels[20 * 20 * 3];
    size_t bytes;
    fixture_noise(pixels, sizeof pixels, seed);
    void *png = fixture_png(pixels, 20, 20, 3, &bytes);
    fixture_write(dir, name, png, bytes);
    free(png);
}

static void run_in(const char *dir, const char *text) {
    char command[512];
    snprintf(command, sizeof command, "cd %s && %s", dir, text);
    CHECK_INT(system(command), 0);
}

// The same path shows each rank files of its own, as disks of several machines do.
static void test_other_data(void **state) {
    (void)state;
    static const struct {
        const char *edit, *wanted;
    } cases[] = {{"cp b/photos/y/0.png b/photos/y/3.png", "the number of training images"},
                 {"mv b/photos/y b/photos/z", "the classes of the training images"},
                 {"mv b/photos/y/0.png b/photos/y/9.png", "names or labels of the training images"},
                 {"cp b/photos/y/1.png b/photos/y/0.png", "the bytes of the training images"}};
    char path[4096];
    need_ranks();
    program_path(path);
    for (int i = 0; i < SR_COUNT(cases); i++) {
        char dir[64], first[4300], second[4300];
        temp_dir_make(dir);
        run_in(dir, "mkdir -p a/photos/x a/photos/y");
        for (int k = 0; k < 6; k++) {
            char name[32];
            snprintf(name, sizeof name, "a/photos/%s/%d.png", k % 2 ? "x" : "y", k / 2);
            add_image(dir, name, (uint64_t)k);
        }
        run_in(dir, "cp -r a b");
        run_in(dir, cases[i].edit);
        snprintf(first, sizeof first, "-wdir %s/a %s", dir, path);
        snprintf(second, sizeof second, "-wdir %s/b %s", dir, path);
        check_differs(
            first, second,
            "DATA.TRAIN.DATA_SOURCES=[disk_folder] DATA.TRAIN.DATA_PATHS=[photos] "
            "DATA.TRAIN.BATCHSIZE_PER_REPLICA=2 "
            "DATA.TRAIN.RANDOM_SYNTHETIC_IMAGES=False DATA.TRAIN.RANDOM_SYNTHETIC_LABELS=0 "
            "DATA.TRAIN.DEFAULT_GRAY_IMG_SIZE=224 DATA.TRAIN.DATA_LIMIT=-1 "
            "LOSS.swav_loss.queue.queue_length=0",
            cases[i].wanted);
        temp_dir_remove(dir);
    }
}

// ---- what cannot be

static void test_uneven_share(void **state) {
    (void)state;
    char dir[64], err[1 << 14];
    need_ranks();
    temp_dir_make(dir);
    int code = program_wait(begin("tests/cli/tiny.yaml", dir, 3, "DISTRIBUTED.REPLICAS=4"), NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != 2 || !strstr(err, "cannot be shared out evenly over 3 ranks"))
        fail_msg("exit code %d: %s", code, err);
    temp_dir_remove(dir);
}

SR_TESTS(ranks, unit(test_every_method), unit(test_meters), unit(test_killed_ranks),
         unit(test_signals), unit(test_full_disk), unit(test_other_start), unit(test_other_data),
         unit(test_uneven_share))
