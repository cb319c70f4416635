// Tests the command line as a user sees it: what is printed to which stream, and exit codes.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#if defined(__x86_64__) && defined(__linux__)
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "data/decode.h"
#include "kernels/machine.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"

static ProgramResult result; // its two texts are too large for the stack of a test

#define RUN(...) program_run(&result, 0, (const char *const[]){__VA_ARGS__, NULL})

// Fails unless the exit code is 2, stdout is empty, and the last line of stderr contains the
// text.
static void expect_refused(const char *text) {
    const char *line = strstr(result.err, "sslrun: ");
    const char *end = line ? strchr(line, '\n') : NULL;
    if (result.code != 2 || *result.out || !line || !strstr(line, text) || !end || end[1])
        fail_msg("expected exit code 2 and a last line with \"%s\", got %d and:\n%s%s", text,
                 result.code, result.out, result.err);
}

TEST(test_wrong_configuration) {
    RUN("no/such.yaml");
    expect_refused("no/such.yaml");
    RUN(CONFIG, "OPTIMIZER.num_epoch=3");
    expect_refused("num_epochs");
    RUN(CONFIG, "OPTIMIZER.num_epochs=three");
    expect_refused("OPTIMIZER.num_epochs");
    RUN(CONFIG, "OPTIMIZER.num_epochs=-1");
    expect_refused("OPTIMIZER.num_epochs");
    RUN(CONFIG, "MODEL.TRUNK.NAME=resnett");
    expect_refused("did you mean 'resnet'");
    RUN(CONFIG, "LOSS.name=swaw_loss");
    expect_refused("swav_loss");
    RUN(CONFIG, "config.LOSS.swav_loss.epsilonn=0.1");
    expect_refused("epsilon");
    RUN(CONFIG, "DATA.TRAIN.DATA_SOURCES=[]", "DATA.TRAIN.DATA_PATHS=[]");
    expect_refused("DATA.TRAIN.DATA_PATHS");
    RUN(CONFIG, "DATA.TRAIN.DATA_SOURCES=[]", "DATA.TRAIN.DATA_PATHS=[no/such/folder]");
    expect_refused("no/such/folder");
    RUN(CONFIG, "--jsonn");
    expect_refused("'--json'");
    RUN(CONFIG, "another.yaml");
    expect_refused("another.yaml");
    RUN("knn", CONFIG, "CHECKPOINT.DIR=no/such/folder");
    expect_refused("no checkpoint");
}

// `bench --data` measures the loader alone and names the JPEG decoder.
TEST(test_bench_data) {
    RUN("bench", CONFIG, "DATA.TRAIN.PIXELS=fast", "--data", "--steps", "2", "--json");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "\"pixels\": \"fast\""));
    CHECK(strstr(result.out, "\"images_per_s\": "));
    CHECK(strstr(result.out, sr_image_decoder_name()));
    RUN("--version");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, sr_image_decoder_name()));
    CHECK(strstr(result.out, sr_machine_name(sr_machine_default())));
    RUN(CONFIG, "DATA.TRAIN.PIXELS=fats");
    expect_refused("exact|fast");
    RUN("bench", CONFIG, "--data", "--forward-only");
    expect_refused("--data and --forward-only");
}

#if defined(__x86_64__) && defined(__linux__)
// Runs the program in a process that may not request tile registers, as in a sandbox. Returns 0
// if it reports that and works, 1 if not, 2 if the system has no such filters.
static int run_without_arch_prctl(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1023, 0, 1), // ARCH_REQ_XCOMP_PERM only
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {SR_COUNT(code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 2; // the system has no such filters
    RUN("--version");
    bool told = strstr(result.err, "refuses the tile registers") != NULL;
    bool less = strstr(result.out, "instructions up to amx") == NULL;
    return result.code == 0 && less && told == sr_machine_has_tiles(sr_machine_default()) ? 0 : 1;
}

TEST(test_tiles_refused) {
    int status = 0;
    sr_machine_default();
    pid_t child = fork();
    if (child == 0)
        _exit(run_without_arch_prctl());
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK(WEXITSTATUS(status) != 1);
}
#else
static void test_tiles_refused(void **state) { (void)state; }
#endif

// Every verb has a help text that lists its flags.
TEST(test_help) {
    static const char *const verbs[] = {"train",    "knn",     "check", "list",
                                        "describe", "inspect", "diff",  "convert",
                                        "graph",    "extract", "bench"};
    for (int i = 0; i < SR_COUNT(verbs); i++) {
        RUN(verbs[i], "--help");
        CHECK_INT(result.code, 0);
        CHECK(strstr(result.out, "usage: sslrun "));
        CHECK(strstr(result.out, verbs[i]));
        CHECK_STR(result.err, "");
    }
    RUN("extract", "resnet18", "-h");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "--weights FILE") && strstr(result.out, "--batch N"));
}

static void expect_lines(const char *const *lines) {
    CHECK_INT(result.code, 2);
    for (int i = 0; lines[i]; i++)
        if (!strstr(result.err, lines[i]))
            fail_msg("no '%s' in %s", lines[i], result.err);
}

// `check` finds wrong keys in lists: of transforms, nested transforms, heads and chains of heads.
TEST(test_check_tells_errors_in_lists) {
    RUN("check", CONFIG, "OPTIMIZER.momentum=x",
        "DATA.TRAIN.TRANSFORMS=[{name: ImgPilMultiCropRandomApply, prob: [1], transforms: [{name: "
        "RandomGrayscale, q: 1}]}, {name: ImgPilGaussianBlur, prob: 0.5, radius_min: much}, {name: "
        "ToTensor}]",
        "DATA.TEST.TRANSFORMS=[{name: Resize, sizes: 16}, {name: Normalize, meen: 0, std: x}]",
        "MODEL.HEAD.PARAMS=[[mlp, {dim: [32, 8]}], [[mlp, {dims: [8, 8], use_relu: 7}], "
        "[swav_head, "
        "{num_clusters: x}]]]");
    expect_lines((const char *const[]){
        "OPTIMIZER.momentum is x, expected a number\n",
        "unknown key 'DATA.TRAIN.TRANSFORMS[0].ImgPilMultiCropRandomApply.transforms[0]."
        "RandomGrayscale.q'",
        "ImgPilGaussianBlur.prob'; `sslrun describe ImgPilGaussianBlur` lists the valid ones",
        "DATA.TRAIN.TRANSFORMS[1].ImgPilGaussianBlur.radius_min is much, expected a number",
        "unknown key 'DATA.TEST.TRANSFORMS[0].Resize.sizes'; did you mean 'size'?",
        "unknown key 'DATA.TEST.TRANSFORMS[1].Normalize.meen'; did you mean 'mean'?",
        "DATA.TEST.TRANSFORMS[1].Normalize.std is x, expected",
        "unknown key 'MODEL.HEAD.PARAMS[0].mlp.dim'; did you mean 'dims'?",
        "MODEL.HEAD.PARAMS[1][0].mlp.use_relu is 7, expected",
        "MODEL.HEAD.PARAMS[1][1].swav_head.num_clusters is x, expected",
        "sslrun: tests/cli/tiny.yaml: 10 errors, all above\n", NULL});
}

// `check` finds errors that show only when things are built: the graph of the step, images of the
// evaluation, paths.
TEST(test_check_tells_errors_of_building) {
    RUN("check", CONFIG, "MODEL.HEAD.PARAMS=[[swav_head, {dims: [33, 16, 8], num_clusters: [6]}]]",
        "DATA.TEST.TRANSFORMS=[{name: Resize, size: 16}]", "DATA.TEST.DATA_PATHS=[/nosuch/test]",
        "MODEL.WEIGHTS_INIT.PARAMS_FILE=/nosuch/weights.pth");
    expect_lines((const char *const[]){"MODEL.HEAD.PARAMS[0]", "33",
                                       "DATA.TEST.TRANSFORMS has no ToTensor",
                                       "there is no file or folder '/nosuch/test'",
                                       "there is no file or folder '/nosuch/weights.pth'",
                                       "sslrun: tests/cli/tiny.yaml: 4 errors, all above\n", NULL});
}

// A misspelt key does not hide the error about a missing folder.
TEST(test_check_tells_paths_beside_keys) {
    RUN("check", CONFIG, "OPTIMIZER.num_epoch=3", "DATA.TRAIN.DATA_PATHS=[/nosuch/train]",
        "+DISTILLATION.TEACHER_MODEL.WEIGHTS_INIT={PARAMS_FILE: /nosuch/teacher}");
    expect_lines((const char *const[]){"there is no key 'OPTIMIZER.num_epoch'",
                                       "there is no file or folder '/nosuch/train'",
                                       "there is no file or folder '/nosuch/teacher'",
                                       "sslrun: tests/cli/tiny.yaml: 3 errors, all above\n", NULL});
}

// `check` reports each error in its own line, and the last line gives their number.
TEST(test_check_tells_all_errors) {
    RUN("check", CONFIG, "OPTIMIZER.num_epoch=3", "OPTIMIZER.momentum=x", "LOG_FREQENCY=1",
        "MODEL.TRUNK.NAME=resnett", "+DATA.TRAIN.DROPLAST=True");
    expect_lines(
        (const char *const[]){"error: override 'OPTIMIZER.num_epoch=3': there is no key",
                              "OPTIMIZER.momentum is x, expected a number\n",
                              "error: override 'LOG_FREQENCY=1': there is no key 'LOG_FREQENCY'",
                              "unknown trunk 'resnett'; did you mean 'resnet'?",
                              "unknown key 'DATA.TRAIN.DROPLAST'; did you mean 'DROP_LAST'?\n",
                              "sslrun: tests/cli/tiny.yaml: 5 errors, all above\n", NULL});
}

// Environment variables without a meaning are reported; -q and -v work with every verb.
TEST(test_environment_and_levels) {
    setenv("SR_CPU", "foo", 1);
    RUN("list");
    expect_refused("SR_CPU=foo: expected one of plain, avx2, avx512");
    unsetenv("SR_CPU");
    setenv("OMP_NUM_THREADS", "abc", 1);
    RUN("list", "head");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "warning: OMP_NUM_THREADS=abc is not a number of threads"));
    setenv("OMP_NUM_THREADS", "100000", 1);
    RUN("list", "head");
    CHECK(strstr(result.err, "warning: OMP_NUM_THREADS=100000, but the machine has "));
    unsetenv("OMP_NUM_THREADS");
    RUN("check", CONFIG, "HOOKS.PROBE.EVERY_NUM_EPOCHS=1");
    CHECK_INT(result.code, 0);
    RUN("check", CONFIG, "HOOKS.PROBE.EVERY_NUM_EPOCHS=1", "DATA.TRAIN.RANDOM_SYNTHETIC_LABELS=1");
    CHECK_INT(result.code, 2); // images that the source makes: what training would say is said now
    CHECK(strstr(result.err, "HOOKS.PROBE: a probe needs images with one label each and at least"));
    RUN("check", CONFIG);
    CHECK(strstr(result.err, ", inferred (was "));
    RUN("check", "-q", CONFIG);
    CHECK_INT(result.code, 0);
    CHECK_STR(result.err, "");
    RUN("check", CONFIG, "SEED_VALUE=3", "-v");
    CHECK(strstr(result.err, "debug: MODEL._MODEL_INIT_SEED: 3, inferred (was 0)"));
}

TEST(test_check_and_manual) {
    RUN("check", CONFIG);
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "trunk resnet, loss swav_loss"));
    CHECK(strstr(result.out, "GFLOP per step of 8 images, 3 views"));
    CHECK(strstr(result.out, " trained, 0 frozen;") && strstr(result.out, "state ") &&
          strstr(result.out, "activations "));
    CHECK(strstr(result.out, "s a step on this machine with ") &&
          strstr(result.out, "an estimate"));
    RUN("check", CONFIG, "--json");
    CHECK_INT(result.code, 0);
    CHECK(result.out[0] == '{' && strstr(result.out, "\"forward_flops\":") &&
          strstr(result.out, "\"state_bytes\":") && strstr(result.out, "\"frozen\": 0"));
    const char *estimate = strstr(result.out, "\"estimated_step_ms\":");
    CHECK(estimate && strtod(strchr(estimate, ':') + 1, NULL) > 0);
    RUN("check", CONFIG, "MODEL.WEIGHTS_INIT.PARAMS_FILE=no/such.torch",
        "DATA.TEST.DATA_PATHS=[nowhere]");
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.out, "GFLOP per step")); // the plan is printed nevertheless
    CHECK(strstr(result.err, "PARAMS_FILE: there is no file or folder 'no/such.torch'"));
    CHECK(strstr(result.err, "DATA.TEST.DATA_PATHS: there is no file or folder 'nowhere'"));
    // VISSL's files hold a sentence where a file of weights belongs: `check` plans the step
    // without it.
    RUN("check", CONFIG, "MODEL.WEIGHTS_INIT.PARAMS_FILE=specify the model weights",
        "+DISTILLATION.TEACHER_MODEL.WEIGHTS_INIT={PARAMS_FILE: please name the teacher}");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "warning: ") &&
          strstr(result.err, "MODEL.WEIGHTS_INIT.PARAMS_FILE is a placeholder ('specify the"));
    CHECK(strstr(result.err, "PARAMS_FILE is a placeholder ('please name the teacher')"));
    RUN("train", CONFIG, "MODEL.WEIGHTS_INIT.PARAMS_FILE=specify the model weights",
        "CHECKPOINT.DIR=/nosuch/placeholder");
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "is a placeholder ('specify the model weights'); name a file"));
    RUN("bench", CONFIG, "--steps", "1", "--warmup=0", "--json");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "\"crops\": \"2x16,1x8\"") && strstr(result.out, "\"median_ms\": "));
    RUN("bench", CONFIG, "--steps", "1", "--profile");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "conv2d") && strstr(result.out, "slowest calls"));
    RUN("bench", CONFIG, "--steps", "1", "--warmup=0", "--ops");
    CHECK(strstr(result.out, "measured peak") && strstr(result.out, "all calls in order:\n"));
    double sum = 0, ms, part;
    for (const char *line = strstr(result.out, "\n  "); line; line = strstr(line + 1, "\n  ")) {
        const char *share = strstr(line + 1, " % of the limit (");
        CHECK(share && share < strchr(line + 1, '\n'));
        if (line > strstr(result.out, "all calls in order:\n") &&
            sscanf(line, "%*s %*s %lf ms %lf %%", &ms, &part) == 2)
            sum += part;
    }
    CHECK_NEAR(sum, 100, 10); // shares of the time, each rounded to a tenth
    RUN("bench", CONFIG, "--steps", "ten");
    expect_refused("--steps needs a whole number, got 'ten'");
    RUN("list");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "\n  loss ") && !strstr(result.out, "ImgPilToMultiCrop"));
    RUN("list", "all");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "resnet") && strstr(result.out, "ImgPilToMultiCrop"));
    RUN("list", "trunkz");
    expect_refused("'trunk'");
    RUN("describe", "LOSS.swav_loss.epsilon", "resnet");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "epsilon") && strstr(result.out, "DEPTH"));
    RUN("describe", "LOSS.swav_loss.epsilon=0.1");
    CHECK_INT(result.code, 0);
    CHECK(strncmp(result.out, "LOSS.swav_loss.epsilon ", 23) == 0);
    RUN("describe", "LOSS.swav_loss.epsilom");
    expect_refused("LOSS.swav_loss.epsilon");
}

// A step that does not fit into memory is refused before any is allocated.
TEST(test_too_large) {
    const char *size = "DATA.TRAIN.TRANSFORMS.0.size_crops=[1024,1024]";
    const char *batch = "DATA.TRAIN.BATCHSIZE_PER_REPLICA=8192";
    RUN("check", CONFIG, size, batch);
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, ": more than this machine has"));
    RUN(CONFIG, size, batch, "DATA.TRAIN.DATA_LIMIT=-1");
    CHECK_INT(result.code, 1);
    CHECK(strstr(result.err, "sslrun: the step needs ") &&
          strstr(result.err, "BATCHSIZE_PER_REPLICA (now 8192)") &&
          strstr(result.err, "MACHINE.RECOMPUTE=always"));
}

// A diverged run ends with the iteration, the layer and exit code 1, and writes no checkpoint of
// it.
TEST(test_divergence) {
    char dir[64], key[128], path[128];
    temp_dir_make(dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    RUN(CONFIG, key, "OPTIMIZER.use_larc=False", "OPTIMIZER.param_schedulers.lr.start_value=1e6",
        "OPTIMIZER.param_schedulers.lr.end_value=1e6", "OPTIMIZER.weight_decay=1e6");
    if (result.code != 1 || !strstr(result.err, "last good checkpoint"))
        fail_msg("exit code %d: %s", result.code, result.err);
    snprintf(path, sizeof path, "%s/model_final_checkpoint_phase2.safetensors", dir);
    CHECK(!sr_file_exists(path));
    temp_dir_remove(dir);
}

// Figures of --crops are printed and not added to the run, whose pages have those of whole images.
static void check_crops(const char *run) {
    static char before[1 << 16], after[1 << 16];
    program_read(run, "metrics.json", before, sizeof before);
    RUN("knn", run, "--crops", "2");
    CHECK(result.code == 0 && strstr(result.out, "mean of 2 crops per image, "));
    RUN("knn", run, "--layers", "--crops", "2", "--json");
    CHECK(result.code == 0 && strstr(result.out, "\"crops\": 2"));
    program_read(run, "metrics.json", after, sizeof after);
    CHECK_STR(after, before);
    RUN("knn", run);
    CHECK(result.code == 0 && !strstr(result.out, "per image"));
    program_read(run, "metrics.json", after, sizeof after);
    CHECK(strlen(after) > strlen(before)); // of whole images they are added
    RUN("knn", run, "--crops", "0");
    expect_refused("--crops needs 1 crop per image or more, got 0");
    RUN("knn", run, "--crops", "-1");
    expect_refused("--crops needs a whole number, got '-1'");
}

// A run's folder holds its files, and other verbs read them.
TEST(test_run_folder) {
    char dir[64], key[128], path[128];
    static const char *const files[] = {"log.txt",
                                        "stdout.json",
                                        "metrics.json",
                                        "train_config.yaml",
                                        "checkpoint.safetensors",
                                        "model_final_checkpoint_phase2.safetensors"};
    temp_dir_make(dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    RUN(CONFIG, key, "TEST_MODEL=True", "--json");
    if (result.code != 0)
        fail_msg("exit code %d: %s", result.code, result.err);
    CHECK(!strstr(result.err, "sslrun: ")); // this mark is for failures only
    CHECK(strstr(result.out, "\"iterations\": 24"));
    CHECK(strstr(result.out, "\"trained_top1_k5\": ") &&
          strstr(result.out, "\"untrained_top1_k5\":"));
    CHECK(strstr(result.out, "\"best_layer\": ") && strstr(result.out, "\"trained_res5_probe\": "));
    for (int i = 0; i < SR_COUNT(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        if (!sr_file_exists(path))
            fail_msg("%s is missing", path);
    }
    RUN("knn", CONFIG, key, "--no-baselines");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "trained trunk") && !strstr(result.out, "untrained"));
    RUN("knn", CONFIG, key, "--layers");
    CHECK(result.code == 0 && strstr(result.out, "best layer: "));
    RUN("knn", CONFIG, key, "--layers", "--random");
    expect_refused("--layers compares a trained trunk");
    check_crops(dir);
    RUN(CONFIG, key, "TEST_ONLY=True", "--json");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "\"majority_top1_k5\": "));
    RUN("inspect", path, "--stats");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "checksums: all agree") &&
          strstr(result.out, "heads.0.prototypes0.weight"));
    // An exported trunk takes images of the configuration's size, 16 pixels instead of 224.
    char model[128], sized[sizeof result.out];
    snprintf(model, sizeof model, "%s/a.onnx", dir);
    RUN("export", CONFIG, "--weights", path, "--nodes", "flatten", "--out", model, "--size", "16");
    CHECK_INT(result.code, 0);
    memcpy(sized, result.out, sizeof sized);
    RUN("export", CONFIG, "--weights", path, "--nodes", "flatten", "--out", model, "--force");
    CHECK_INT(result.code, 0);
    CHECK_STR(result.out, sized);
    RUN("export", CONFIG, "--weights", path, "--nodes", "flatten", "--out", model, "--force",
        "--size", "32");
    CHECK(strcmp(result.out, sized) != 0);
    // With another shape of the trunk the checkpoint is refused, and the error says what differs.
    RUN(CONFIG, key, "MODEL.TRUNK.RESNETS.SMALL_IMAGE_STEM=False");
    expect_refused("conv1.weight: checkpoint [4, 3, 3, 3], model [4, 3, 7, 7]");
    temp_dir_remove(dir);
}

static int bench_threads(void) {
    RUN("bench", CONFIG, "--steps", "1", "--warmup=0", "--json");
    const char *threads = strstr(result.out, "\"threads\":");
    CHECK(result.code == 0 && threads);
    return atoi(threads + strlen("\"threads\":"));
}

// The program restarts itself with another environment. It must not stay on the single core to
// which libgomp bound it.
TEST(test_bound_threads) {
    int free_threads = bench_threads();
    CHECK(setenv("OMP_PROC_BIND", "true", 1) == 0);
    int bound_threads = bench_threads();
    unsetenv("OMP_PROC_BIND");
    CHECK_INT(bound_threads, free_threads);
}

// A file that only changes another one is refused as that, not for its first missing transform.
TEST(test_fragment) {
    char dir[64], path[96];
    static const char text[] = "config:\n  MODEL: {TRUNK: {NAME: resnet, RESNETS: {DEPTH: 18}}}\n";
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/wide.yaml", dir);
    CHECK_OK(sr_file_write(path, text, sizeof text - 1));
    RUN("check", path);
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "/wide.yaml is a fragment, since DATA.TRAIN.TRANSFORMS is empty"));
    CHECK(strstr(result.err, "+config/DIR=FILE"));
    CHECK(!strstr(result.err, "has no ToTensor"));
    temp_dir_remove(dir);
}

// A configuration of an evaluation is not trained: the error holds the command that it is for.
TEST(test_nothing_learns) {
    static const char *const freeze = "MODEL.FEATURE_EVAL_SETTINGS={EVAL_MODE_ON: True, "
                                      "FREEZE_TRUNK_AND_HEAD: True, EVAL_TRUNK_AND_HEAD: True}";
    static const struct {
        const char *override, *expected;
    } rows[] = {
        {"NEAREST_NEIGHBOR.TOPK=20", "NEAREST_NEIGHBOR is for `"},
        {"IMG_RETRIEVAL.N_PCA=64", "IMG_RETRIEVAL is for `"},
        {"CLUSTERFIT.NUM_CLUSTERS=20", "FEATURES`, and then `sslrun cluster FEATURES`"},
        {"SVM.cross_val_folds=2", "SVM is for `"},
    };
    static const char *const verbs[] = {
        " knn config=", " retrieve config=", " extract config=", " svm config="};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        RUN("config=tests/cli/frozen.yaml", freeze, rows[i].override);
        CHECK_INT(result.code, 2);
        if (!strstr(result.err, rows[i].expected) || !strstr(result.err, verbs[i]))
            fail_msg("expected \"%s\" and \"%s\" in:\n%s", rows[i].expected, verbs[i], result.err);
        CHECK(strstr(result.err, rows[i].override));
    }
    RUN("config=tests/cli/frozen.yaml", freeze);
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, " extract config=") && strstr(result.err, "--nodes flatten"));
    // VISSL's files of a kNN may leave its section out: their folder tells.
    char dir[64], path[128], config[160], *text;
    size_t bytes;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/nearest_neighbor", dir);
    CHECK(mkdir(path, 0777) == 0);
    snprintf(path, sizeof path, "%s/nearest_neighbor/frozen.yaml", dir);
    CHECK_OK(sr_file_read("tests/cli/frozen.yaml", 1 << 16, &text, &bytes));
    CHECK_OK(sr_file_write(path, text, bytes));
    sr_free(text);
    snprintf(config, sizeof config, "config=%s", path);
    RUN(config, freeze);
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "NEAREST_NEIGHBOR is for `") && strstr(result.err, " knn config="));
    temp_dir_remove(dir);
}

// The estimate of a step and the computation of its forecast on one rank are the same seconds.
TEST(test_forecast_of_one_rank) {
    RUN("check", "tests/cli/tiny.yaml", "DISTRIBUTED.REPLICAS=8", "DISTRIBUTED.MEMORY=again",
        "--ranks", "1");
    CHECK_INT(result.code, 0);
    const char *estimate = strstr(result.out, "about "), *computed = strstr(result.out, "Gbit/s: ");
    CHECK(estimate && computed);
    CHECK_NEAR(atof(estimate + 6), atof(computed + 8), 0);
}

SR_TESTS(cli, unit(test_wrong_configuration), unit(test_help), unit(test_check_and_manual),
         unit(test_check_tells_all_errors), unit(test_check_tells_errors_in_lists),
         unit(test_check_tells_errors_of_building), unit(test_check_tells_paths_beside_keys),
         unit(test_environment_and_levels), unit(test_bench_data), unit(test_tiles_refused),
         unit(test_divergence), unit(test_too_large), unit(test_run_folder),
         unit(test_bound_threads), unit(test_fragment), unit(test_nothing_learns),
         unit(test_forecast_of_one_rank))
