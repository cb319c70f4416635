// Tests nearest neighbours of an image from a trained run by the program, by the C example and by
// Python: all three agree.  Runs the other examples of C and Python.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static void write_image(const char *dir, const char *name, int seed) {
    uint8_t pixels[24 * 30 * 3];
    size_t bytes;
    fixture_noise(pixels, sizeof pixels, (uint64_t)seed);
    for (int i = 0; i < SR_COUNT(pixels); i++)
        pixels[i] = (uint8_t)(pixels[i] / 4 + 30 * (seed % 5));
    void *jpeg = fixture_jpeg(pixels, 24, 30, 3, &bytes);
    fixture_write(dir, name, jpeg, bytes);
    sr_free(jpeg);
}

static void begin(char dir[64]) {
    char run[128], name[64];
    temp_dir_make(dir);
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "images/%02d.jpg", i);
        write_image(dir, name, i);
    }
    write_image(dir, "query.jpg", 100);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s/run", dir);
    RUN("tests/cli/tiny.yaml", run, "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
}

// Runs a shell command and returns its exit code and output. $D is the folder, $BUILD the folder
// of the test binary.
static int shell(const char *dir, const char *command, char *out, size_t n) {
    char self[PROGRAM_SELF], line[8192];
    program_folder(self);
    snprintf(line, sizeof line, "D='%s' BUILD='%s'; export LIBSSLRUN=$BUILD/libsslrun.so; %s", dir,
             self, command);
    FILE *pipe = popen(line, "r");
    CHECK(pipe != NULL);
    out[fread(out, 1, n - 1, pipe)] = '\0';
    return pclose(pipe);
}

// Returns the number before `path`, which ends with a newline, in a list of lines "0.9731  path".
static double score_of(const char *list, const char *path) {
    const char *at = strstr(list, path);
    CHECK(at && at > list);
    while (at > list && at[-1] != '\n')
        at--;
    return strtod(at, NULL);
}

// Checks that a list descends and has the lines of `other`.  `similar` reads cosines from rows in
// half precision, which differ from the library's by less than 0.001, so images that are so close
// to each other may change places.
static void check_same_list(const char *list, const char *other) {
    double before = 1.001;
    CHECK_INT(strlen(list), strlen(other));
    while (*list) {
        char path[256], *end;
        double score = strtod(list, &end);
        size_t length = strcspn(end, "\n") + 1;
        CHECK(end > list && length < sizeof path && score <= before);
        snprintf(path, length + 1, "%s", end);
        CHECK_NEAR(score, score_of(other, path), 1e-3);
        before = score;
        list = end + length;
    }
}

TEST(test_neighbours) {
    char dir[64], query[96], images[96], run[96], out[8192];
    begin(dir);
    snprintf(query, sizeof query, "%s/query.jpg", dir);
    snprintf(images, sizeof images, "%s/images", dir);
    snprintf(run, sizeof run, "%s/run", dir);
    RUN("similar", query, "--in", images, "--model", run, "--count", "12");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "/images/04.jpg\n"));
    CHECK_INT(shell(dir, "$BUILD/example-neighbours $D/run $D/query.jpg $D/images/*.jpg", out,
                    sizeof out),
              0);
    check_same_list(out, result.out);
    check_same_list(result.out, out);
    CHECK(shell(dir, "$BUILD/example-neighbours $D/images $D/query.jpg $D/images/*.jpg 2>&1", out,
                sizeof out) != 0);
    CHECK(strstr(out, "images"));
    temp_dir_remove(dir);
}

#define PYTHON "PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3"

TEST(test_python) {
    char dir[64], c[8192], python[8192];
    if (PROGRAM_SANITIZED)
        SKIP(PROGRAM_SANITIZED_REASON, NULL);
    program_need_numpy();
    begin(dir);
    CHECK_INT(
        shell(dir, "$BUILD/example-neighbours $D/run $D/query.jpg $D/images/*.jpg", c, sizeof c),
        0);
    CHECK_INT(shell(dir, PYTHON " python/sslrun.py $D/run $D/query.jpg $D/images/*.jpg", python,
                    sizeof python),
              0);
    CHECK_STR(python, c);
    CHECK(shell(dir, PYTHON " python/sslrun.py $D/run $D/none.jpg $D/images/00.jpg 2>&1", python,
                sizeof python) != 0);
    CHECK(strstr(python, "sslrun.py: ") && strstr(python, "none.jpg"));
    if (shell(dir,
              "cd python && " PYTHON " ../tests/cli/doors.py $D/run $D/images/00.jpg "
              "../tests/cli/tiny.yaml $D",
              python, sizeof python) != 0)
        fail_msg("%s", python);
    CHECK_STR(python, "doors: ok\n");
    temp_dir_remove(dir);
}

// The example writes the weights and the ONNX graph of a network that it cut.
TEST(test_surgery) {
    char dir[64], out[8192];
    temp_dir_make(dir);
    CHECK_INT(shell(dir, "$BUILD/example-surgery $D/w.safetensors $D/w.onnx", out, sizeof out), 0);
    CHECK_STR(out, "52 nodes, the last is layer3.1.probe [2, 16, 4, 4]\n"
                   "91 tensors, the last is layer3.1.probe.weight of 4096 numbers\n");
    CHECK(shell(dir, "$BUILD/example-surgery $D/w.bin $D/w.onnx 2>&1", out, sizeof out) != 0);
    CHECK(strstr(out, "w.bin: the format is not known"));
    CHECK_INT(shell(dir,
                    "test -s $D/w.onnx && $BUILD/sslrun inspect $D/w.safetensors | "
                    "grep -o 'layer3.1.probe.weight'",
                    out, sizeof out),
              0);
    CHECK_STR(out, "layer3.1.probe.weight\n");
    temp_dir_remove(dir);
}

// The examples train with the bits of the program.
TEST(test_training) {
    char dir[64], out[8192], a[128], b[128];
    temp_dir_make(dir);
    CHECK_INT(shell(dir, "$BUILD/sslrun tests/cli/tiny.yaml CHECKPOINT.DIR=$D/a 2>/dev/null", out,
                    sizeof out),
              0);
    CHECK_INT(shell(dir, "$BUILD/example-training tests/cli/tiny.yaml CHECKPOINT.DIR=$D/b", out,
                    sizeof out),
              0);
    CHECK(strstr(out, "epoch 0, update 1 of 24: loss ") && strstr(out, "epoch 2, update 24 of 24"));
    snprintf(a, sizeof a, "%s/a/checkpoint.safetensors", dir);
    snprintf(b, sizeof b, "%s/b/checkpoint.safetensors", dir);
    check_same_checkpoint(a, b, 60);
    CHECK(shell(dir, "$BUILD/example-training tests/cli/tiny.yml 2>&1", out, sizeof out) != 0);
    CHECK(strstr(out, "tests/cli/tiny.yml"));
    if (!PROGRAM_SANITIZED) {
        program_need_numpy();
        CHECK_INT(shell(dir,
                        "cp examples/training.py $D && PYTHONPATH=python " PYTHON
                        " $D/training.py tests/cli/tiny.yaml CHECKPOINT.DIR=$D/c 2>&1",
                        out, sizeof out),
                  0);
        CHECK(strstr(out, "update 24 of 24: loss ") && strstr(out, "conv1.weight: norm "));
        snprintf(b, sizeof b, "%s/c/checkpoint.safetensors", dir);
        check_same_checkpoint(a, b, 60);
    }
    temp_dir_remove(dir);
}

// A file that says what examples/values.c says in C.
static const char values[] =
    "DATA:\n"
    "  TRAIN: {DATA_PATHS: [IMAGES], BATCHSIZE_PER_REPLICA: 4, COLLATE_FUNCTION: simclr_collator,\n"
    "    TRANSFORMS: [{name: ImgReplicatePil}, {name: RandomResizedCrop, size: 32}, {name: "
    "ToTensor},\n"
    "      {name: Normalize}]}\n"
    "MODEL: {TRUNK: {NAME: resnet18}, HEAD: {PARAMS: [[mlp, {dims: [512, 512, 64]}]]}}\n"
    "LOSS: {name: simclr_info_nce_loss, simclr_info_nce_loss: {temperature: 0.2,\n"
    "  buffer_params: {embedding_dim: 64}}}\n"
    "OPTIMIZER: {num_epochs: 2, param_schedulers: {lr: {name: cosine, start_value: 0.02}}}\n"
    "TEST_MODEL: False\n";

TEST(test_values) {
    char dir[64], out[8192], a[128], b[128];
    begin(dir);
    fixture_write(dir, "values.yaml", values, sizeof values - 1);
    CHECK_INT(shell(dir,
                    "$BUILD/example-values $D/images $D/a && sed -i s,IMAGES,$D/images, "
                    "$D/values.yaml && $BUILD/sslrun $D/values.yaml CHECKPOINT.DIR=$D/b "
                    "2>/dev/null >/dev/null",
                    out, sizeof out),
              0);
    CHECK(strstr(out, "update 1 of 6: loss ") && strstr(out, "update 6 of 6: loss "));
    snprintf(a, sizeof a, "%s/a/checkpoint.safetensors", dir);
    snprintf(b, sizeof b, "%s/b/checkpoint.safetensors", dir);
    check_same_checkpoint(a, b, 60);
    CHECK(shell(dir, "$BUILD/example-values $D/none $D/c 2>&1", out, sizeof out) != 0);
    CHECK(strstr(out, "none"));
    temp_dir_remove(dir);
}

SR_TESTS(doors, unit(test_values), unit(test_neighbours), unit(test_python), unit(test_surgery),
         unit(test_training))
