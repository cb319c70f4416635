// Tests faults of the system, injected at a chosen call by tests/faults/preload.c: nothing is
// lost, no fault is mistaken for another, and the last line names the cause.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "gen/build.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/words.h"
#include "trainer/run/checkpoint.h"

#define CONFIG "tests/cli/folder.yaml"
enum { IMAGES = 16, PATH = 512 };

static ProgramResult result; // too large for the stack of a test

typedef struct {
    char dir[256], run[PATH], train[PATH], test[PATH], out[PATH], images[PATH], folder[PATH];
} Place;

// Makes two folders of two classes with IMAGES images each.
static void place_open(Place *p) {
    fixture_folder(p->dir);
    fixture_class_folder(p->dir, "train", IMAGES);
    fixture_class_folder(p->dir, "test", IMAGES);
    snprintf(p->run, sizeof p->run, "CHECKPOINT.DIR=%s/run", p->dir);
    snprintf(p->train, sizeof p->train, "DATA.TRAIN.DATA_PATHS=[%s/train]", p->dir);
    snprintf(p->test, sizeof p->test, "DATA.TEST.DATA_PATHS=[%s/test]", p->dir);
    snprintf(p->out, sizeof p->out, "%s/out", p->dir);
    snprintf(p->images, sizeof p->images, "%s/train", p->dir);
    snprintf(p->folder, sizeof p->folder, "%s/run", p->dir);
}

static const char *in(const Place *p, const char *name) {
    static char path[PATH];
    CHECK_OK(sr_file_join(path, sizeof path, p->dir, name));
    return path;
}

// Runs the program with fault CALL:PART:ERRNO:FIRST:COUNT, as preload.c defines it.
static void run_with(const char *fault, const char *const *args) {
    program_preload("faults.so");
    setenv("SR_FAULT", fault, 1);
    program_run(&result, 1, args);
    unsetenv("SR_FAULT");
    program_preload(NULL);
}
#define RUN(fault, ...) run_with(fault, (const char *const[]){__VA_ARGS__, NULL})

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(result.err, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

static int64_t updates_in(const Place *p, const char *name) {
    SrPosition at;
    CHECK_OK(sr_checkpoint_position(in(p, name), &at));
    return at.iteration;
}

// With 16 images in batches of 4, the 23rd read is in the second epoch, after five complete
// updates.
TEST(test_loader_fails) {
    Place p;
    place_open(&p);
    RUN("open:/train/:5:22:0", "train", CONFIG, p.train, p.test, p.run, "TEST_MODEL=False");
    expect(1, "Input/output error; the state after 5 of 12 updates is saved in ");
    CHECK(strstr(result.err, "to resume: "));
    CHECK_INT(updates_in(&p, "run/checkpoint.safetensors"), 5);
    RUN("none:x:0:0:0", "train", CONFIG, p.train, p.test, p.run, "TEST_MODEL=False");
    expect(0, "");
    CHECK(strstr(result.out, "trained 7 updates"));
    fixture_remove(p.dir);
}

// Missing files are too many unreadable images, and not a failure of the system.
TEST(test_images_disappear) {
    Place p;
    place_open(&p);
    RUN("open:/train/:2:22:0", "train", CONFIG, p.train, p.test, p.run, "TEST_MODEL=False");
    expect(1, "MAX_BAD_IMAGE_SHARE");
    CHECK(strstr(result.err, "updates is saved in "));
    CHECK_INT(updates_in(&p, "run/checkpoint.safetensors"), 7);
    fixture_remove(p.dir);
}

// The first image fails, so nothing was learned: no checkpoint is written or mentioned.
TEST(test_first_image_fails) {
    Place p;
    place_open(&p);
    RUN("open:/train/:24:0:0", "train", CONFIG, p.train, p.test, p.run, "TEST_MODEL=False");
    expect(1, "Too many open files");
    CHECK(!strstr(result.err, "saved") && !sr_file_exists(in(&p, "run/checkpoint.safetensors")));
    fixture_remove(p.dir);
}

// The second of three test phases fails: its figures are missing and nothing else.
TEST(test_phase_fails_once) {
    Place p;
    char metrics[1 << 14];
    place_open(&p);
    RUN("open:/test/:5:16:1", "train", CONFIG, p.train, p.test, p.run);
    expect(0, "the test phase after epoch 1 failed: ");
    CHECK(strstr(result.err, "Input/output error; training continues"));
    program_read(in(&p, "run"), "metrics.json", metrics, sizeof metrics);
    CHECK_INT(words_count(metrics, "\"test_"), 2);
    CHECK_INT(updates_in(&p, "run/checkpoint.safetensors"), 12);
    fixture_remove(p.dir);
}

// The last test phase fails: the run is complete and saved, and its exit code says that a figure
// is missing.
TEST(test_last_phase_fails) {
    Place p;
    place_open(&p);
    RUN("open:/test/:5:32:0", "train", CONFIG, p.train, p.test, p.run);
    expect(1, "training has finished and is saved in ");
    CHECK(strstr(result.err, "the last test phase failed: ") && strstr(result.err, "TEST_ONLY"));
    CHECK_INT(updates_in(&p, "run/checkpoint.safetensors"), 12);
    fixture_remove(p.dir);
}

// A class folder that cannot be examined ends the program instead of dropping the class.
TEST(test_class_folder_unknown) {
    static const char *const faults[] = {"stat:/train/x:5:0:1", "stat:/train/x:116:1:1"};
    Place p;
    place_open(&p);
    for (int i = 0; i < 2; i++) {
        RUN(faults[i], "pack", in(&p, "train"), "--out", p.out);
        expect(1, i ? "Stale file handle" : "Input/output error");
        CHECK(!sr_file_exists(p.out));
    }
    fixture_remove(p.dir);
}

// A disk that fails once is asked again; one that goes on failing is no existing file and no wrong
// name.
TEST(test_unknown_paths) {
    Place p;
    place_open(&p);
    RUN("stat:/out:5:0:1", "pack", in(&p, "train"), "--out", p.out);
    expect(0, "");
    RUN("stat:/train:5:0:0", "similar", "docs/pictures/views.png", "--in", in(&p, "train"),
        "--model", "x");
    expect(1, "Input/output error");
    CHECK(!strstr(result.err, "neither a folder"));
    fixture_remove(p.dir);
}

// Interrupted calls are repeated. Lack of descriptors or memory and disk errors end the program;
// they do not make the image unreadable.
TEST(test_errors_of_the_system) {
    static const struct {
        const char *fault, *cause;
    } points[] = {{"open:/train/x/:24:0:1", "Too many open files"},
                  {"open:/train/x/:23:2:1", "Too many open files in system"},
                  {"read:/train/x/:5:1:1", "Input/output error"},
                  {"open:/train/x/:12:0:1", "Cannot allocate memory"}};
    Place p;
    place_open(&p);
    for (int i = 0; i < SR_COUNT(points); i++) {
        RUN(points[i].fault, "extract", CONFIG, "--random", "--nodes", "flatten", "--data",
            in(&p, "train"), "--size", "16", "--out", p.out);
        expect(1, points[i].cause);
    }
    RUN("open:/train/x/:4:0:3", "extract", CONFIG, "--random", "--nodes", "flatten", "--data",
        in(&p, "train"), "--size", "16", "--out", p.out);
    expect(0, "");
    CHECK(!strstr(result.err, "Interrupted") && !strstr(result.err, "could not be read"));
    fixture_remove(p.dir);
}

// A survey of the readable part would be taken for one of the whole folder, so init fails.
TEST(test_survey) {
    Place p;
    place_open(&p);
    RUN("open:/train/x/:24:0:1", "init", in(&p, "train"), "--out", p.out);
    expect(1, "Too many open files");
    CHECK(!sr_file_exists(p.out));
    fixture_remove(p.dir);
}

static void expect_no_temporary(const Place *p, const char *folder) {
    char **names;
    int n;
    CHECK_OK(sr_file_list(in(p, folder), &names, &n));
    for (int i = 0; i < n; i++)
        if (strstr(names[i], ".tmp"))
            fail_msg("%s is left in %s", names[i], folder);
    sr_file_list_free(names, n);
}

TEST(test_no_temporary_stays) {
    Place p;
    place_open(&p);
    RUN("fdopen:.tmp:12:0:1", "pack", in(&p, "train"), "--out", p.out);
    expect(1, "Cannot allocate memory");
    expect_no_temporary(&p, "out.partial");
    fixture_remove(p.dir);
}

// A source that cannot be read must not replace a complete page by a poorer one.
TEST(test_page_is_kept) {
    static const char *const faults[] = {"open:/train_config.yaml:5:0:1", "open:/log.txt:5:0:1",
                                         "read:/train_config.yaml:5:0:1", "open:/stdout.json:5:0:1",
                                         "open:/metrics.json:5:0:1"};
    Place p;
    place_open(&p);
    RUN("none:x:0:0:0", "train", CONFIG, p.train, p.test, p.run, "OPTIMIZER.num_epochs=1");
    expect(0, "");
    CHECK_OK(sr_file_write(in(&p, "run/report.html"), "good", 4));
    for (int i = 0; i < SR_COUNT(faults); i++) {
        char page[16];
        RUN(faults[i], "report", in(&p, "run"));
        expect(1, "Input/output error");
        program_read(in(&p, "run"), "report.html", page, sizeof page);
        CHECK_STR(page, "good");
    }
    fixture_remove(p.dir);
}

// A disk error gives exit code 1 and its own text, and neither "no such file" nor a usage error.
TEST(test_sick_disk) {
    Place p;
    char data[PATH];
    place_open(&p);
    RUN("stat:/train:5:0:0", "train", CONFIG, p.train, p.test, p.run);
    expect(1, "Input/output error");
    RUN("open:folder.yaml:5:0:0", "check", CONFIG, p.train, p.test);
    expect(1, "Input/output error");
    snprintf(data, sizeof data, "%s/weights.safetensors", p.dir);
    CHECK_OK(sr_file_write(data, "x", 1));
    RUN("open:/weights.safetensors:5:0:0", "inspect", data);
    expect(1, "Input/output error");
    fixture_remove(p.dir);
}

// A run folder that cannot be listed stays a run folder: it is not taken for features.
TEST(test_run_folder_is_not_listed) {
    Place p;
    place_open(&p);
    CHECK_OK(sr_file_mkdirs(in(&p, "run")));
    CHECK_OK(sr_file_write(in(&p, "run/train_config.yaml"), "{}", 2));
    RUN("opendir:/run:12:0:1", "knn", in(&p, "run"));
    expect(1, "Cannot allocate memory");
    CHECK(!strstr(result.err, "features"));
    fixture_remove(p.dir);
}

// The newest checkpoint is unreadable at this moment. An older one must not be evaluated in its
// place without a word.
TEST(test_newest_checkpoint_fails_once) {
    static const char *const faults[] = {"open:/model_final:5:0:1", "open:/model_final:24:0:1"};
    Place p;
    place_open(&p);
    RUN("none:x:0:0:0", "train", CONFIG, p.train, p.test, p.run, "OPTIMIZER.num_epochs=1",
        "TEST_MODEL=False", "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=2", "CHECKPOINT.KEEP_LAST=2");
    expect(0, "");
    CHECK(sr_file_exists(in(&p, "run/model_iteration2.safetensors")));
    for (int i = 0; i < SR_COUNT(faults); i++) {
        RUN(faults[i], "segment", "pca", p.images, "--model", p.folder, "--out", p.out);
        expect(1, i ? "Too many open files" : "Input/output error");
    }
    fixture_remove(p.dir);
}

// A page without runs would say that there are none.
TEST(test_runs_cannot_be_listed) {
    Place p;
    place_open(&p);
    RUN("opendir:/train:5:0:0", "web", p.images, "--port", "0");
    if (strstr(result.err, "libmicrohttpd"))
        SKIP("this build has no `sslrun web`", "apt-get install libmicrohttpd-dev && make test");
    expect(1, "Input/output error");
    fixture_remove(p.dir);
}

SR_TESTS(faults, unit(test_unknown_paths), unit(test_loader_fails), unit(test_images_disappear),
         unit(test_first_image_fails), unit(test_phase_fails_once), unit(test_last_phase_fails),
         unit(test_class_folder_unknown), unit(test_errors_of_the_system), unit(test_survey),
         unit(test_no_temporary_stays), unit(test_page_is_kept), unit(test_sick_disk),
         unit(test_run_folder_is_not_listed), unit(test_newest_checkpoint_fails_once),
         unit(test_runs_cannot_be_listed))
