// Tests sslrun compare: a run before and after training, two runs, other images, and refusals.
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"
#define EVALUATES "TEST_MODEL=True"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static void expect_done(void) {
    if (result.code != 0)
        fail_msg("exit code %d: %s", result.code, result.err);
}

static void expect_refused(const char *text) {
    if (result.code != 2 || !strstr(result.err, text))
        fail_msg("expected exit code 2 and \"%s\", got %d and:\n%s", text, result.code, result.err);
}

// Copies the line of a table that begins with `label`.
static void line_of(const char *text, const char *label, char out[256]) {
    const char *at = strstr(text, label);
    if (!at)
        fail_msg("no \"%s\" in:\n%s", label, text);
    snprintf(out, 256, "%.*s", (int)strcspn(at, "\n"), at);
}

TEST(test_compare) {
    char dir[64], first[128], second[128], to_first[160], to_second[160], weights[256], named[256];
    temp_dir_make(dir);
    snprintf(first, sizeof first, "%s/first", dir);
    snprintf(second, sizeof second, "%s/second", dir);
    snprintf(to_first, sizeof to_first, "CHECKPOINT.DIR=%s", first);
    snprintf(to_second, sizeof to_second, "CHECKPOINT.DIR=%s", second);
    snprintf(weights, sizeof weights, "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s/checkpoint.safetensors",
             first);
    snprintf(named, sizeof named, "resnet20:%s/none.pth", dir);
    RUN(CONFIG, to_first, EVALUATES, "OPTIMIZER.num_epochs=1");
    expect_done();
    RUN(CONFIG, to_second, EVALUATES, weights, "OPTIMIZER.num_epochs=1");
    expect_done();
    CHECK(strstr(result.err, "compare") && strstr(result.err, "before and after this training"));
    char before[256], after[256], verdict[256];
    line_of(result.out, "  before (", before);
    line_of(result.out, "  after (", after);
    line_of(result.out, "verdict: ", verdict);
    RUN("compare", second); // has the figures of the run's own evaluation
    expect_done();
    CHECK(strstr(result.out, before) && strstr(result.out, after) && strstr(result.out, verdict));
    CHECK(strstr(result.out, "  before (") && strstr(result.out, "  after ("));
    CHECK(strstr(result.out, "raw pixels") && strstr(result.out, "untrained (") &&
          strstr(result.out, "\nverdict: "));
    RUN("compare", first, first, "--json"); // the same weights twice
    expect_done();
    CHECK(strstr(result.out, "\"verdict\": \"no difference\""));
    RUN("compare", first);
    expect_refused("began from random weights");
    RUN("compare", first, named);
    expect_refused("none.pth");
    RUN("compare", named, named);
    expect_refused("one of the names must be a run or a configuration");
    RUN("compare");
    expect_refused("expected two runs");
    temp_dir_remove(dir);
}

// A prefix that the file of the starting weights needs is not put before the names of the run's own
// checkpoint.
TEST(test_prefix) {
    static const char *const verbs[] = {"compare", "knn"};
    char dir[64], first[128], second[128], to_first[160], to_second[160], bare[256], weights[300];
    temp_dir_make(dir);
    snprintf(first, sizeof first, "%s/first", dir);
    snprintf(second, sizeof second, "%s/second", dir);
    snprintf(to_first, sizeof to_first, "CHECKPOINT.DIR=%s", first);
    snprintf(to_second, sizeof to_second, "CHECKPOINT.DIR=%s", second);
    snprintf(bare, sizeof bare, "%s/bare.pth", dir);
    snprintf(weights, sizeof weights, "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s", bare);
    RUN(CONFIG, to_first, "OPTIMIZER.num_epochs=1");
    expect_done();
    RUN("convert", first, bare, "--to", "torchvision", "--only", "trunk");
    expect_done();
    RUN(CONFIG, to_second, weights, "OPTIMIZER.num_epochs=1",
        "MODEL.WEIGHTS_INIT.APPEND_PREFIX=trunk._feature_blocks.",
        "MODEL.WEIGHTS_INIT.STATE_DICT_KEY_NAME=''", "MODEL.WEIGHTS_INIT.SKIP_LAYERS=[layer4]",
        "MODEL.WEIGHTS_INIT.MIN_TRUNK_SHARE=0.2");
    expect_done();
    for (int i = 0; i < SR_COUNT(verbs); i++) {
        RUN(verbs[i], second);
        expect_done();
    }
    temp_dir_remove(dir);
}

// --data takes other images; without labels there is no comparison.
TEST(test_data) {
    char dir[64], run[128], path[256], photos[300], to_run[160];
    const char *folder = fixture_folder(path);
    temp_dir_make(dir);
    snprintf(run, sizeof run, "%s/run", dir);
    snprintf(to_run, sizeof to_run, "CHECKPOINT.DIR=%s", run);
    fixture_class_folder(folder, "photos", 60);
    snprintf(photos, sizeof photos, "%s/photos", folder);
    RUN(CONFIG, to_run, "OPTIMIZER.num_epochs=1");
    expect_done();
    RUN("compare", run, run, "--data", photos);
    expect_done();
    CHECK(strstr(result.out, "top-1 on 6 test images against 54"));
    RUN("compare", run, run, "--data", "no/folder");
    expect_refused("no/folder");
    fixture_remove(folder);
    temp_dir_remove(dir);
}

// A model's name sees the images at its own size, whatever the crops of the run are.
TEST(test_model_of_a_name) {
    static const char *const sizes[] = {"8", "32"};
    char dir[64], run[128], to_run[160], file[128], named[160], found[2][512];
    temp_dir_make(dir);
    snprintf(run, sizeof run, "%s/run", dir);
    snprintf(to_run, sizeof to_run, "CHECKPOINT.DIR=%s", run);
    snprintf(file, sizeof file, "%s/resnet20.pth", dir);
    snprintf(named, sizeof named, "resnet20:%s", file);
    RUN(CONFIG, to_run, "OPTIMIZER.num_epochs=1", "MODEL.TRUNK.NAME=resnet20",
        "MODEL.HEAD.PARAMS.0.1.dims=[64,16,8]");
    expect_done();
    RUN("convert", run, file, "--to", "torchvision", "--only", "trunk");
    expect_done();
    for (int i = 0; i < 2; i++) {
        RUN("compare", run, named, "--size", sizes[i], "--json");
        expect_done();
        const char *second = strstr(result.out, "\"second_knn\""),
                   *end = strstr(result.out, "\"untra");
        CHECK(second && end);
        snprintf(found[i], sizeof found[i], "%.*s", (int)(end - second), second);
    }
    CHECK(strcmp(found[0], found[1]) != 0);
    RUN("compare", run, named, "--size", "0");
    expect_refused("--size needs at least 1");
    temp_dir_remove(dir);
}

// A run that began from weights says on its page and to doctor whether training helped; without
// labels, too.
TEST(test_verdict_of_run) {
    char dir[64], first[128], to_first[160], second[128], to_second[160], weights[256], page[256],
        photos[300], path[256], sentence[640], *text;
    const char *folder = fixture_folder(path);
    size_t n;
    temp_dir_make(dir);
    snprintf(first, sizeof first, "%s/first", dir);
    snprintf(second, sizeof second, "%s/second", dir);
    snprintf(to_first, sizeof to_first, "CHECKPOINT.DIR=%s", first);
    snprintf(to_second, sizeof to_second, "CHECKPOINT.DIR=%s", second);
    snprintf(weights, sizeof weights, "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s", first);
    snprintf(page, sizeof page, "%s/report.html", second);
    RUN(CONFIG, to_first, EVALUATES, "OPTIMIZER.num_epochs=1");
    expect_done();
    CHECK(!strstr(result.out, "before ("));
    RUN("doctor", first);
    CHECK(!strstr(result.out, "before and after:"));
    RUN(CONFIG, to_second, EVALUATES, weights, "OPTIMIZER.num_epochs=1");
    expect_done();
    snprintf(sentence, sizeof sentence, "%s", strstr(result.out, "verdict: ") + 9);
    sentence[strcspn(sentence, ":")] = '\0';
    RUN("doctor", second);
    CHECK(strstr(result.out, "before and after: ") && strstr(result.out, sentence));
    CHECK_OK(sr_file_read(page, 1 << 24, &text, &n));
    CHECK(strstr(text, "Before and after:") && strstr(text, "before training"));
    CHECK(strstr(text, sentence) && strstr(text, "5 images per class"));
    sr_free(text);
    // Photos in one folder have no labels.
    fixture_class_folder(folder, "photos", 80);
    snprintf(photos, sizeof photos, "DATA.TRAIN.DATA_PATHS=[%s/photos/x]", folder);
    RUN(CONFIG, to_second, EVALUATES, weights, photos, "DATA.TRAIN.DATA_SOURCES=[disk_folder]",
        "DATA.TRAIN.DATA_LIMIT=-1", "OPTIMIZER.num_epochs=1", "--restart");
    expect_done();
    CHECK(strstr(result.out, "features before and after training, on "));
    CHECK(strstr(result.out, "effective rank") && strstr(result.out, "nearest neighbours stayed"));
    RUN("doctor", second);
    CHECK(strstr(result.out, "before and after: ") && strstr(result.out, "effective rank"));
    CHECK_OK(sr_file_read(page, 1 << 24, &text, &n));
    CHECK(strstr(text, "Before and after:") && strstr(text, "<th scope=\"col\">effective rank"));
    sr_free(text);
    fixture_remove(folder);
    temp_dir_remove(dir);
}

SR_TESTS(compare_verb, unit(test_compare), unit(test_prefix), unit(test_data),
         unit(test_model_of_a_name), unit(test_verdict_of_run))
