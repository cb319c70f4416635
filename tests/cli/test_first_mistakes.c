// Tests mistakes of new users: one line says what to do instead, the exit code is 2, and nothing
// is written.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static void expect_told(const char *text) {
    const char *line = strstr(result.err, "sslrun: ");
    if (result.code != 2 || !line || !strstr(line, text))
        fail_msg("expected exit code 2 and \"%s\", got %d and:\n%s", text, result.code, result.err);
    CHECK(strchr(line, '\n') == line + strlen(line) - 1);
}

TEST(test_words) {
    RUN("--hlep");
    expect_told("unknown option '--hlep'");
    RUN("check", CONFIG, "MODEL.HEAD.PARAMS=[[mpl, {dims: [3]}]]");
    // An override has no line number.
    expect_told("command line: MODEL.HEAD.PARAMS: unknown head 'mpl'");
    RUN("check", CONFIG, "DATA.TRAIN.TRANSFORMS=[ToTensor]");
    expect_told("as in {name: ToTensor}");
    RUN("check", CONFIG, "MODEL.TRUNK.NAME=resnet51"); // NAME may also be a model
    expect_told("did you mean 'resnet50'");
    RUN(CONFIG, "--steps", "3");
    expect_told("unknown option '--steps'; did you mean '--seeds'?");
    RUN("check", "tests/data/files");
    expect_told("tests/data/files is a folder, expected a configuration; `sslrun init");
    RUN("init", CONFIG);
    expect_told("so give it a folder of photos");
    RUN("augment", CONFIG, "--out", "never.jpg");
    expect_told("should end in .png");
    RUN("augment", CONFIG, "--out", "never.png", "--images", "65");
    expect_told("expected at most 64");
    RUN("list", "head", "LOSS.name=x");
    expect_told("sslrun list reads no configuration, so there is nothing for 'LOSS.name=x'");
    RUN("list", "head", "schedule");
    CHECK(result.code == 0 && strstr(result.out, "\n  mlp ") && strstr(result.out, "  cosine "));
    RUN("similar", "a.png", "--in", "b", "--model", "c", "--count", "0");
    expect_told("--count needs at least 1");
    RUN("check", CONFIG, "num_epochs=3");
    expect_told("there is no key 'num_epochs'; did you mean 'OPTIMIZER.num_epochs'?");
    RUN("check", CONFIG, "BATCHSIZE_PER_REPLICA=3");
    expect_told("did you mean 'DATA.TRAIN.BATCHSIZE_PER_REPLICA'?");
    RUN("check", CONFIG, "epochs=3");
    expect_told("there is no key 'epochs'; did you mean 'OPTIMIZER.num_epochs'?");
    RUN("check", CONFIG, "BATCHSIZE=4");
    expect_told("there is no key 'BATCHSIZE'; did you mean 'DATA.TRAIN.BATCHSIZE_PER_REPLICA'?");
    RUN("check", "configs/swaw.yaml");
    expect_told("; did you mean 'configs/swav.yaml'?");
    RUN("check", CONFIG, "temperature=3"); // the loss is missing
    expect_told("there is no key 'temperature'; `sslrun list keys` has them all");
    RUN("check", CONFIG, "--ranks", "0");
    expect_told("--ranks 0 --network 10: expected a number of ranks");
    RUN("check", "/dev/null");
    expect_told("not a regular file");
    RUN("describe", "a");
    expect_told("nothing has the name 'a' (`sslrun list all`");
    RUN(CONFIG, "CHECKPOINT.DIR=");
    expect_told("CHECKPOINT.DIR: cannot create a folder without a name");
}

// The layer of the final evaluation is looked up before the first step.
TEST(test_layer) {
    char dir[64], folder[96], at[80];
    temp_dir_make(dir);
    snprintf(at, sizeof at, "%s/run", dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", at);
    RUN("check", CONFIG, "NEAREST_NEIGHBOR.LAYER=layr4", "TEST_MODEL=True");
    expect_told("NEAREST_NEIGHBOR.LAYER: there is no layer 'layr4'; did you mean 'layer4'");
    RUN(CONFIG, folder, "NEAREST_NEIGHBOR.LAYER=layr4", "TEST_MODEL=True");
    expect_told("NEAREST_NEIGHBOR.LAYER: there is no layer 'layr4'");
    CHECK(!sr_file_exists(at));
    RUN("check", CONFIG, "NEAREST_NEIGHBOR.LAYER=layer4", "TEST_MODEL=True");
    CHECK_INT(result.code, 0);
    temp_dir_remove(dir);
}

// The folder of a run is accepted where its checkpoint or its configuration is.
TEST(test_run_folder) {
    char dir[64], folder[96], at[80], out[96], inside[160], cut[96];
    temp_dir_make(dir);
    snprintf(at, sizeof at, "%s/run", dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", at);
    snprintf(out, sizeof out, "%s/out.npz", dir);
    RUN(CONFIG, folder, "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    RUN(CONFIG, folder, "OPTIMIZER.num_epochs=1", "OPTIMIZER.weight_decay=0.5");
    CHECK(result.code == 0 && !strstr(result.err, "warning: "));
    CHECK(strstr(result.err, "these changes have no effect on a run that has finished: "));
    snprintf(inside, sizeof inside, "%s/model_final_checkpoint_phase0.safetensors", at);
    RUN("knn", at);
    CHECK(result.code == 0 && strstr(result.out, "trained trunk") && strstr(result.err, inside));
    RUN("retrieve", at, "--random");
    CHECK(result.code == 0 && !strstr(result.out, "trained trunk"));
    RUN("svm", at, "--weights", "no/such.pth");
    expect_told("no/such.pth: no such file");
    RUN("check", at);
    expect_told("/run is a run folder; give its configuration, ");
    RUN("graph", at);
    CHECK(result.code == 0 && strstr(result.out, "layer4.1.relu"));
    RUN("knn", CONFIG, "--weights", at, "MODEL.TRUNK.NAME=mobilenet_v2");
    expect_told("the checkpoint holds the trunk resnet (DEPTH: 18, WIDTH_MULTIPLIER: 0.0625), the "
                "configuration asks for mobilenet_v2");
    RUN("inspect", at);
    CHECK(result.code == 0 && sr_text_starts(result.out, inside));
    RUN("diff", at, inside);
    CHECK_INT(result.code, 0);
    RUN("convert", at, out);
    CHECK_INT(result.code, 0);
    snprintf(cut, sizeof cut, "%s/model_phase0.safetensors", dir);
    CHECK(symlink(CONFIG, cut) == 0);     // another file with a checkpoint's name
    RUN("knn", CONFIG, "--weights", dir); // next to the run
    expect_told("none of its checkpoints (1) can be read");
    RUN(inside);
    expect_told(
        "model_final_checkpoint_phase0.safetensors holds weights, expected a configuration");
    RUN("knn", inside);
    expect_told("is a checkpoint, not features: name its run's folder");
    RUN("predict", "tests/data/files/turned.ppm", "tests/data/files");
    expect_told("not a weights file");
    RUN("predict", at, "tests/data/files");
    expect_told("there is no classifier; `sslrun linear ");
    RUN("report", at, "--out", out);
    expect_told("--out works with several runs only");
    RUN("linear", at, "--data", "no/such/photos");
    expect_told("--data: there is no folder of images 'no/such/photos'");
    RUN("predict", at, "no/such/photos");
    expect_told("sslrun predict: there is no folder of images 'no/such/photos'");
    RUN("linear", "no/such/run", "--data", "tests/data/files");
    expect_told(
        "no/such/run: no such file or folder; expected a checkpoint of `sslrun train` or its run");
    RUN("linear", CONFIG, "--data", "tests/data/files");
    expect_told("expected a checkpoint of `sslrun train`");
    temp_dir_remove(dir);
}

// Damaged weights are refused by every verb.
TEST(test_damaged) {
    char dir[64], folder[96], file[160], out[96];
    temp_dir_make(dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", dir);
    snprintf(file, sizeof file, "%s/model_final_checkpoint_phase0.safetensors", dir);
    snprintf(out, sizeof out, "%s/out.pth", dir);
    RUN(CONFIG, folder, "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    FILE *f = fopen(file, "r+b");
    CHECK(f && fseek(f, -9, SEEK_END) == 0);
    int c = fgetc(f);
    CHECK(fseek(f, -9, SEEK_END) == 0 && fputc(~c, f) != EOF && fclose(f) == 0);
    RUN("convert", file, out);
    CHECK(result.code == 1 && strstr(result.err, "damaged checkpoint: the checksum of"));
    CHECK(!sr_file_exists(out));
    snprintf(out, sizeof out, "%s/out.onnx", dir);
    RUN("export", CONFIG, "--weights", file, "--nodes", "flatten", "--out", out);
    CHECK(result.code == 1 && strstr(result.err, "damaged checkpoint: the checksum of"));
    CHECK(!sr_file_exists(out));
    temp_dir_remove(dir);
}

SR_TESTS(first_mistakes, unit(test_damaged), unit(test_words), unit(test_layer),
         unit(test_run_folder))
