// Tests sslrun compare: a run before and after training, two runs, other images, and refusals.
#include <stdio.h>

#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"

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

static void test_compare(void **state) {
    (void)state;
    char dir[64], first[128], second[128], to_first[160], to_second[160], weights[256], named[256];
    temp_dir_make(dir);
    snprintf(first, sizeof first, "%s/first", dir);
    snprintf(second, sizeof second, "%s/second", dir);
    snprintf(to_first, sizeof to_first, "CHECKPOINT.DIR=%s", first);
    snprintf(to_second, sizeof to_second, "CHECKPOINT.DIR=%s", second);
    snprintf(weights, sizeof weights, "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s/checkpoint.safetensors",
             first);
    snprintf(named, sizeof named, "resnet20:%s/none.pth", dir);
    RUN(CONFIG, to_first, "OPTIMIZER.num_epochs=1");
    expect_done();
    RUN(CONFIG, to_second, weights, "OPTIMIZER.num_epochs=1");
    expect_done();
    CHECK(strstr(result.err, "compare") && strstr(result.err, "before and after this training"));
    RUN("compare", second);
    expect_done();
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

// --data takes other images; without labels there is no comparison.
static void test_data(void **state) {
    (void)state;
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

SR_TESTS(compare_verb, unit(test_compare), unit(test_data))
