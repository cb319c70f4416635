// Runs on images of 13 channels and of 16 bits: the class shows in one channel beyond the third, or
// in the lower 8 bits alone.  A run that reads them finds the classes, one that reads RGB of 8 bits
// cannot.  Resumes and threads end in the same bits, and RGB weights start such a run.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/rng.h"
#include "sslrun.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum { CLASSES = 4, TRAIN = 96, TEST = 64, SIDE = 16, PIXELS = SIDE * SIDE, CHANNELS = 13 };
#define FINAL "model_final_checkpoint_phase3.safetensors"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test
static char dir[64];

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

// ---- images

// A sample of an image of class k: noise, but for channel 7, whose level is the class.
static uint16_t in_channel(SrRng *rng, int k, int c) {
    double noise = sr_rng_uniform(rng);
    return (uint16_t)(c == 7 ? 15000 + 10000 * k + 8000 * noise : 65535 * noise);
}

// The upper 8 bits of all samples are 128, the lower ones show the class.
static uint16_t in_bits(SrRng *rng, int k, int c) {
    (void)c;
    return (uint16_t)(0x8000 + 40 + 50 * k + (int)(30 * sr_rng_uniform(rng)));
}

// Writes <dir>/<name>.npy, (n, channels, SIDE, SIDE), and the classes, <name>-labels.npy.
static void write_stack(const char *name, int n, int channels, uint64_t seed,
                        uint16_t (*sample)(SrRng *rng, int k, int c)) {
    char path[128];
    size_t items = (size_t)n * (size_t)channels * PIXELS;
    uint16_t *x = sr_alloc(items * sizeof *x);
    int64_t label[TRAIN];
    SrRng rng = sr_rng(seed, SR_RNG_TEST, 0, 0, 0, 0);
    for (size_t i = 0; i < items; i++) {
        int image = (int)(i / (size_t)(channels * PIXELS)), c = (int)(i / PIXELS) % channels;
        label[image] = image % CLASSES;
        x[i] = sample(&rng, image % CLASSES, c);
    }
    snprintf(path, sizeof path, "%s/%s.npy", dir, name);
    CHECK_OK(sr_npy_save(path, "<u2", SR_SHAPE(n, channels, SIDE, SIDE), x, items * sizeof *x));
    snprintf(path, sizeof path, "%s/%s-labels.npy", dir, name);
    CHECK_OK(sr_npy_save(path, "<i8", SR_SHAPE(n), label, (size_t)n * sizeof *label));
    sr_free(x);
}

static void write_stacks(int channels, uint16_t (*sample)(SrRng *rng, int k, int c)) {
    write_stack("train", TRAIN, channels, 1, sample);
    write_stack("test", TEST, channels, 2, sample);
}

// ---- runs

// Writes <dir>/run.yaml: SimCLR on the stacks.  normalize: "mean: [...], std: [...]" of the images.
static const char *write_config(const char *keys, const char *normalize) {
    static char path[128];
    char text[4096];
    snprintf(text, sizeof text,
             "config:\n"
             "  LOG_FREQUENCY: 4\n"
             "  DATA:\n"
             "    NUM_DATALOADER_WORKERS: 2\n%s"
             "    TRAIN:\n"
             "      DATA_PATHS: [%s/train.npy]\n"
             "      LABEL_PATHS: [%s/train-labels.npy]\n"
             "      BATCHSIZE_PER_REPLICA: 16\n"
             "      DEFAULT_GRAY_IMG_SIZE: 16\n"
             "      COLLATE_FUNCTION: simclr_collator\n"
             "      TRANSFORMS:\n"
             "        - {name: ImgReplicatePil, num_times: 2}\n"
             "        - {name: RandomResizedCrop, size: 12, scale: [0.4, 1]}\n"
             "        - {name: RandomHorizontalFlip}\n"
             "        - {name: ImgPilColorDistortion}\n"
             "        - {name: ImgPilGaussianBlur}\n"
             "        - {name: ToTensor}\n"
             "        - {name: Normalize, %s}\n"
             "    TEST:\n"
             "      DATA_PATHS: [%s/test.npy]\n"
             "      LABEL_PATHS: [%s/test-labels.npy]\n"
             "      TRANSFORMS:\n"
             "        - {name: CenterCrop, size: 12}\n"
             "        - {name: ToTensor}\n"
             "        - {name: Normalize, %s}\n"
             "  MODEL:\n"
             "    TRUNK: {NAME: resnet_cifar, RESNET_CIFAR: {DEPTH: 8}}\n"
             "    HEAD: {PARAMS: [[mlp, {dims: [64, 32]}]]}\n"
             "  LOSS:\n"
             "    name: simclr_info_nce_loss\n"
             "    simclr_info_nce_loss: {temperature: 0.2, buffer_params: {embedding_dim: 32}}\n"
             "  OPTIMIZER:\n"
             "    num_epochs: 4\n"
             "    param_schedulers: {lr: {name: cosine, start_value: 0.1, end_value: 0.001}}\n"
             "  CHECKPOINT: {CHECKPOINT_ITER_FREQUENCY: 5}\n"
             "  NEAREST_NEIGHBOR: {TOPK: [5]}\n",
             keys, dir, dir, normalize, dir, dir, normalize);
    snprintf(path, sizeof path, "%s/run.yaml", dir);
    CHECK_OK(sr_file_write(path, text, strlen(text)));
    return path;
}

static void run(int threads, const char *const *args) {
    program_run(&result, threads, args);
    if (result.code != 0)
        fail_msg("exit code %d:\n%s%s", result.code, result.out, result.err);
}

#define RUN(threads, ...) run(threads, (const char *const[]){__VA_ARGS__, NULL})

// Returns the number after "key": in the program's output.
static double figure(const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(result.out, quoted);
    if (!at)
        fail_msg("no %s in:\n%s", key, result.out);
    return strtod(at + strlen(quoted), NULL);
}

// Trains to <dir>/<name> and returns the accuracies of its evaluations, in per cent.
static void train(const char *config, const char *name, double *knn, double *linear) {
    char folder[128], key[160];
    snprintf(folder, sizeof folder, "%s/%s", dir, name);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", folder);
    RUN(2, config, key);
    RUN(2, "knn", config, key, "--json");
    *knn = figure("trained_top1_k5");
    RUN(2, "linear", folder, "--json");
    *linear = figure("accuracy");
}

#define THIRTEEN                                                    \
    "mean: [.5, .5, .5, .5, .5, .5, .5, .52, .5, .5, .5, .5, .5], " \
    "std: [.29, .29, .29, .29, .29, .29, .29, .18, .29, .29, .29, .29, .29]"

TEST(test_thirteen_channels) {
    double knn, linear;
    write_stacks(CHANNELS, in_channel);
    train(write_config("    CHANNELS: 13\n    COLOR_TRANSFORMS: skip\n", THIRTEEN), "many", &knn,
          &linear);
    CHECK(knn >= 95 && linear >= 95);
    write_stacks(3, in_channel); // the first three channels
    train(write_config("", "mean: [.5, .5, .5], std: [.29, .29, .29]"), "rgb", &knn, &linear);
    CHECK(knn <= 50 && linear <= 50); // chance is 25
}

TEST(test_lower_bits) {
    double knn, linear;
    write_stacks(3, in_bits);
    train(write_config("    KEEP_BITS: True\n    COLOR_TRANSFORMS: skip\n",
                       "mean: [.502, .502, .502], std: [.0009, .0009, .0009]"),
          "deep", &knn, &linear);
    CHECK(knn >= 95 && linear >= 95);
    train(write_config("", "mean: [.502, .502, .502], std: [.0009, .0009, .0009]"), "flat", &knn,
          &linear);
    CHECK(knn <= 30 && linear <= 30); // all images are equal
}

// A run of one thread that stops after two epochs and resumes ends as one of two threads does.
TEST(test_same_bits) {
    char one[160], two[160], a[200], b[200];
    write_stacks(CHANNELS, in_channel);
    const char *config = write_config("    CHANNELS: 13\n    COLOR_TRANSFORMS: skip\n", THIRTEEN);
    snprintf(one, sizeof one, "CHECKPOINT.DIR=%s/one", dir);
    snprintf(two, sizeof two, "CHECKPOINT.DIR=%s/two", dir);
    RUN(2, config, two, "TEST_MODEL=False");
    const char *args[] = {config, one, "TEST_MODEL=False", "DATA.NUM_DATALOADER_WORKERS=0", NULL};
    snprintf(a, sizeof a, "%s/one", dir);
    CHECK_OK(sr_file_mkdirs(a));
    pid_t pid = program_start(a, 1, args);
    program_wait_for_progress(a);
    kill(pid, SIGTERM);
    program_wait(pid, NULL);
    RUN(1, config, one, "TEST_MODEL=False", "DATA.NUM_DATALOADER_WORKERS=0");
    snprintf(a, sizeof a, "%s/one/" FINAL, dir);
    snprintf(b, sizeof b, "%s/two/" FINAL, dir);
    check_same_checkpoint(a, b, 20);
}

// Colour transforms are refused by the key that leaves them out, and a wrong number of channels by
// the key that names it.
TEST(test_refused) {
    write_stacks(CHANNELS, in_channel);
    const char *config = write_config("    CHANNELS: 13\n", THIRTEEN);
    program_run(&result, 1, (const char *const[]){config, NULL});
    CHECK(result.code == 2 &&
          strstr(result.err, "DATA.TRAIN.TRANSFORMS[3].ImgPilColorDistortion works on RGB of 8") &&
          strstr(result.err, "DATA.COLOR_TRANSFORMS=skip leaves such transforms out"));
    config = write_config("    CHANNELS: 12\n    COLOR_TRANSFORMS: skip\n", THIRTEEN);
    program_run(&result, 1, (const char *const[]){"check", config, NULL});
    CHECK(result.code == 2 && strstr(result.err, "13 and 13 entries, expected 12"));
    config = write_config("    CHANNELS: 13\n    COLOR_TRANSFORMS: skip\n", THIRTEEN);
    RUN(1, "check", config);
    CHECK(strstr(result.err, "images: 13 channels of 16 bits, read as floats of 13 channels"));
    program_run(&result, 1, (const char *const[]){config, "MODEL.INPUT_TYPE=bgr", NULL});
    CHECK(result.code == 2 && strstr(result.err, "leave INPUT_TYPE at rgb"));
}

// The weights of a run on RGB start a run of 13 channels, whose checkpoint is inspected and
// exported with them.
TEST(test_rgb_weights) {
    char rgb[160], many[160], weights[256], folder[128], onnx[128];
    write_stacks(3, in_bits);
    const char *config = write_config("", "mean: [.5, .5, .5], std: [.29, .29, .29]");
    snprintf(rgb, sizeof rgb, "CHECKPOINT.DIR=%s/rgb", dir);
    RUN(1, config, rgb, "OPTIMIZER.num_epochs=1", "TEST_MODEL=False");
    write_stacks(CHANNELS, in_channel);
    config = write_config("    CHANNELS: 13\n    COLOR_TRANSFORMS: skip\n", THIRTEEN);
    snprintf(many, sizeof many, "CHECKPOINT.DIR=%s/many", dir);
    snprintf(folder, sizeof folder, "%s/many", dir);
    snprintf(onnx, sizeof onnx, "%s/trunk.onnx", dir);
    snprintf(weights, sizeof weights,
             "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s/rgb/model_final_checkpoint_phase0.safetensors",
             dir);
    RUN(1, config, many, weights, "OPTIMIZER.num_epochs=1", "TEST_MODEL=False");
    CHECK(strstr(result.err, "weights for RGB became weights for 13 channels, each the mean of the "
                             "three times 3 / 13"));
    RUN(1, "inspect", folder);
    CHECK(strstr(result.out, "16, 13, 3, 3"));
    const char *file = strchr(weights, '=') + 1;
    SrModelGraph *graph;
    RUN(1, "inspect", file, "--as", config);
    CHECK(strstr(result.out, ", 0 left over\n"));
    CHECK_OK((SrStatus)sr_model_graph_open(config, file, 1, 12, 12, &graph));
    sr_model_graph_close(graph);
    RUN(1, "export", config, "--weights", folder, "--nodes", "flatten", "--out", onnx);
    RUN(1, "extract", config, "--weights", folder, "--nodes", "flatten", "--data",
        strchr(weights, '/') ? (snprintf(weights, sizeof weights, "%s/test.npy", dir), weights)
                             : "",
        "--out", (snprintf(rgb, sizeof rgb, "%s/features", dir), rgb));
    CHECK(strstr(result.out, "64 images") || strstr(result.err, "64 images"));
}

// init reads the stack, and its configuration trains.
TEST(test_init) {
    char stack[128], config[128], text[8192], key[160];
    write_stacks(CHANNELS, in_channel);
    snprintf(stack, sizeof stack, "%s/train.npy", dir);
    snprintf(config, sizeof config, "%s/own.yaml", dir);
    RUN(2, "init", stack, "--out", config, "--minutes", "1");
    CHECK(strstr(result.out, "96 images, 624.0 kB") && !strstr(result.out, "formats"));
    CHECK(strstr(result.out, "13 channels of 16 bits; all are kept"));
    CHECK(strstr(result.out, "shows images as the network sees them"));
    program_read(dir, "own.yaml", text, sizeof text);
    CHECK(strstr(text, "CHANNELS: 13 #") && !strstr(text, "ImgPilColorDistortion"));
    const char *mean = strstr(text, "mean: ["), *std = strstr(text, "std: [");
    CHECK(mean && std);
    for (int c = 0; c < CHANNELS; c++) {
        mean = strpbrk(mean, "[,") + 1;
        std = strpbrk(std, "[,") + 1;
        CHECK_NEAR(strtod(mean, NULL), c == 7 ? 34000 / 65535.0 : 0.5, 0.01);
        CHECK_NEAR(strtod(std, NULL), c == 7 ? 0.174 : 1 / sqrt(12), 0.01);
    }
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s/own", dir);
    RUN(2, config, key, "OPTIMIZER.num_epochs=1");
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

SR_TESTS(channels_run, in_folder(test_thirteen_channels), in_folder(test_lower_bits),
         in_folder(test_same_bits), in_folder(test_refused), in_folder(test_rgb_weights),
         in_folder(test_init))
