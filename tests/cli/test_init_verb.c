// Tests sslrun init: its description of a folder is correct, and the configuration that it writes
// trains.
#include <stdio.h>
#include <string.h>

#include "base/bar.h"
#include "base/file.h"
#include "base/mem.h"
#include "gen/build.h"
#include "pages/starter_config.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test
static char dir[64];

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(code ? result.err : result.out, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

static void write_png(const char *name, int h, int w, int seed) {
    uint8_t pixels[48 * 48 * 3];
    size_t bytes;
    fixture_noise(pixels, (size_t)(h * w * 3), (uint64_t)seed);
    void *png = fixture_png(pixels, h, w, 3, &bytes);
    fixture_write(dir, name, png, bytes);
    sr_free(png);
}

// Writes 27 squares, two upright and two wide images, one duplicate, two unreadable files, and a
// file of another kind.
static void write_photos(void) {
    char name[64];
    for (int i = 0; i < 31; i++) {
        snprintf(name, sizeof name, "pictures/%02d.png", i);
        write_png(name, i < 29 ? 40 : 20, i < 27 || i > 28 ? 40 : 20, i);
    }
    write_png("pictures/again.png", 40, 40, 5);
    fixture_write(dir, "pictures/broken.png", "\x89PNG\r\n\x1a\n broken", 16);
    fixture_write(dir, "pictures/none.jpg", "", 0);
    fixture_write(dir, "pictures/film.svg", "<svg/>", 6);
    if (!SR_HEIF)
        fixture_write(dir, "pictures/phone.heic", "x", 1);
}

// A folder that is one level too high has no classes, and the line to paste says where they are.
TEST(test_one_level_too_high) {
    char photos[128], out[128], line[8192], name[64], program[4096];
    temp_dir_make(dir);
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof name, "down load/my set/%s/%d.png", i % 3 ? "cat" : "dog", i);
        write_png(name, 16, 16, i);
    }
    snprintf(photos, sizeof photos, "%s/down load", dir);
    snprintf(out, sizeof out, "%s/set.yaml", dir);
    RUN("init", photos, "--out", out);
    expect(0, ", without classes\n  all lie in one folder, whose 2 folders are not used\n");
    // The first command that is suggested is this program's, with that folder.
    program_path(program);
    snprintf(line, sizeof line,
             "next:\n  %s init '%s/my set'\n      takes the folders inside as classes, or as train "
             "and test\n",
             program, photos);
    expect(0, line);
    temp_dir_remove(dir);
}

TEST(test_few_photos) {
    char photos[128], out[128], run[160];
    temp_dir_make(dir);
    write_photos();
    snprintf(photos, sizeof photos, "%s/pictures", dir);
    snprintf(out, sizeof out, "%s/my \"own\".yaml", dir);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s/run", dir);
    RUN("init", photos, "--out", out, "--minutes", "1");
    expect(0, ": 34 images, ");
    expect(0, "formats: 32 PNG");
    expect(0, "2 upright, 28 square, 2 wide; width / height from 0.50 to 2.00");
    expect(0, "1 identical copy, the first one:");
    expect(0, "2 cannot be read, the first one:");
    expect(0, " (-v names more)\n");
    expect(0, "-keep.txt: 31 files; left out are 2 that cannot be read and 1 exact copy (");
    if (SR_HEIF) {
        expect(0, "skipped: 1 other");
    } else {
        expect(0, "skipped: 1 .heic (a build with libheif-dev reads it), 1 other");
        expect(0, " '(' -iname '*.heic' ')' -exec heif-convert {} {}.jpg ';'   # apt-get install "
                  "libheif-examples");
    }
    expect(0, "DCL, ");
    expect(0, " augment '");
    RUN("init", photos, "--out", out);
    expect(2, "--force");
    RUN("init", photos, "--out", out, "--minutes", "1", "--force", "-v");
    CHECK(strstr(result.out, "broken.png") && strstr(result.out, "none.jpg"));
    RUN("check", out);
    expect(0, "loss dcl_loss");
    char *file;
    size_t bytes;
    CHECK_OK(sr_file_read(out, 1 << 16, &file, &bytes));
    CHECK(strstr(file, "#   sslrun '") && strstr(file, "my \"own\".yaml'  "));
    CHECK(strstr(file, "# The trunk: ") && strstr(file, "; it "));
    sr_free(file);
    RUN(out, run, "OPTIMIZER.num_epochs=1", "TEST_MODEL=False");
    expect(0, "trained 3 updates");
    temp_dir_remove(dir);
}

// Trains a small network and writes its trunk as torchvision would: a file of others' weights.
static void write_weights(const char *file) {
    char run[160];
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s/first", dir);
    RUN("tests/cli/tiny.yaml", run, "OPTIMIZER.num_epochs=1", "MODEL.TRUNK.NAME=resnet20",
        "MODEL.HEAD.PARAMS.0.1.dims=[64,16,8]", "TEST_MODEL=False");
    expect(0, "trained ");
    RUN("convert", run + strlen("CHECKPOINT.DIR="), file, "--to", "torchvision", "--only", "trunk");
    expect(0, "tensors written");
}

// A folder that was looked at in a sandbox is trained on in one; damage has the same reasons there.
TEST(test_sandbox) {
    static char plain[sizeof result.out];
    char photos[128], out[128], *file;
    size_t bytes;
    if (!SR_SECCOMP)
        SKIP("the build has no libseccomp", "libseccomp-dev");
    if (PROGRAM_SANITIZED)
        SKIP(PROGRAM_SANITIZED_REASON, NULL);
    temp_dir_make(dir);
    write_photos();
    snprintf(photos, sizeof photos, "%s/pictures", dir);
    snprintf(out, sizeof out, "%s/own.yaml", dir);
    RUN("tidy", photos, "--csv");
    snprintf(plain, sizeof plain, "%s", result.out);
    RUN("tidy", photos, "--csv", "--sandbox");
    CHECK_STR(result.out, plain);
    RUN("init", photos, "--out", out, "--minutes", "1", "--sandbox");
    expect(0, "2 cannot be read, the first one:");
    CHECK_OK(sr_file_read(out, 1 << 16, &file, &bytes));
    CHECK(strstr(file, "    SANDBOX: True"));
    sr_free(file);
    RUN("check", out);
    expect(0, "loss dcl_loss");
    temp_dir_remove(dir);
}

// Training starts from weights of others, and the report compares the features before and after.
TEST(test_from_weights) {
    char photos[128], file[128], named[160], wrong[160], out[128], run[160];
    temp_dir_make(dir);
    write_photos();
    snprintf(photos, sizeof photos, "%s/pictures", dir);
    snprintf(file, sizeof file, "%s/released.pth", dir);
    snprintf(named, sizeof named, "resnet20:%s", file);
    snprintf(wrong, sizeof wrong, "resnet32:%s", file);
    snprintf(out, sizeof out, "%s/further.yaml", dir);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s/run", dir);
    write_weights(file);
    RUN("init", photos, "--from", wrong, "--out", out);
    expect(2, "released.pth is not complete for resnet32: ");
    RUN("init", photos, "--from", out, "--out", out);
    expect(2, "further.yaml: no such file of weights");
    RUN("init", photos, "--from", photos, "--out", out);
    expect(2, "is a directory, expected a weights file");
    snprintf(wrong, sizeof wrong, "resnet21:%s", file);
    RUN("init", photos, "--from", wrong, "--out", out);
    expect(2, "unknown model 'resnet21'");
    RUN("tests/cli/tiny.yaml", run, "OPTIMIZER.num_epochs=1");
    expect(0, "trained ");
    RUN("init", photos, "--from", run + strlen("CHECKPOINT.DIR="), "--out", out);
    expect(2, "expected a weights file");
    snprintf(wrong, sizeof wrong, "%s/run/checkpoint.safetensors", dir);
    RUN("init", photos, "--from", wrong, "--out", out);
    expect(2, "with MODEL.WEIGHTS_INIT.PARAMS_FILE=");
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s/other", dir);
    RUN("init", photos, "--from", named, "--out", out, "--minutes", "1");
    expect(0, "DCL, resnet20, crops of 32 pixels, ");
    RUN(out, run, "OPTIMIZER.num_epochs=1", "TEST_MODEL=False");
    expect(0, "trained 3 updates");
    CHECK(strstr(result.err, "released.pth"));
    temp_dir_remove(dir);
}

// If a folder has train/, only that part is surveyed, and one folder per class is reported.
TEST(test_classes_and_parts) {
    char photos[128], out[128], name[64];
    temp_dir_make(dir);
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof name, "set/train/%s/%d.png", i % 3 ? "cat" : "dog", i);
        write_png(name, 16, 16, i);
        snprintf(name, sizeof name, "set/test/%s/%d.png", i % 3 ? "cat" : "dog", i);
        write_png(name, 16, 16, 100 + i);
    }
    snprintf(photos, sizeof photos, "%s/set", dir);
    snprintf(out, sizeof out, "%s/set.yaml", dir);
    RUN("init", photos, "--out", out);
    expect(0, "set/train: 24 images, ");
    expect(0, "in 2 classes of 8 (dog) to 16 (cat)");
    CHECK(!strstr(result.out, "all lie in one folder"));
    expect(0, "CIFAR's ResNet-");
    expect(0, ": the images are too small for these crops\n");
    CHECK(strstr(result.out, "\n  * ") &&
          strstr(result.out, "  network, and what its features see\n"));
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "set/train/dog/more%d.png", i);
        write_png(name, 16, 16, 200 + i);
    }
    RUN("init", photos, "--out", out, "--force");
    expect(0, "in 2 classes of 16 each");
    RUN("init", out);
    expect(2, "");
    RUN("init", "no/such/folder");
    expect(
        2,
        "no such file or folder; expected a folder of photos, a list of paths (.txt) or a stack");
    RUN("init", photos, "--out", out, "--force", "--minutes", "0");
    expect(2, "--minutes needs at least 1");
    temp_dir_remove(dir);
}

// init opens a part of a large folder, always the same, and a line says so.
TEST(test_samples_large_folders) {
    char name[64], photos[128];
    SrPhotoSurvey a, b;
    SrText text = SR_TEXT_INIT;
    size_t bytes;
    uint8_t pixels[4 * 6 * 3] = {0};
    temp_dir_make(dir);
    void *png = fixture_png(pixels, 4, 6, 3, &bytes);
    for (int i = 0; i < SR_SURVEY_FILES + 20; i++) {
        snprintf(name, sizeof name, "many/%d.png", i);
        fixture_write(dir, name, png, bytes);
    }
    sr_free(png);
    snprintf(photos, sizeof photos, "%s/many", dir);
    CHECK_OK(sr_photo_survey(photos, &a));
    CHECK_OK(sr_photo_survey(photos, &b));
    CHECK_INT(a.images, SR_SURVEY_FILES + 20);
    CHECK_INT(a.opened, SR_SURVEY_FILES);
    CHECK_INT(a.twins, SR_SURVEY_FILES - 1);
    CHECK_INT(a.side.middle, 4);
    CHECK_INT(a.other.middle, 6);
    CHECK_INT(a.landscape, SR_SURVEY_FILES);
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    sr_photo_survey_text(&a, false, &text);
    CHECK(strstr(text.s, "the lines below describe 5000 files chosen at random"));
    sr_text_deinit(&text);
    temp_dir_remove(dir);
}

// A folder from which nothing can be learned is refused.
TEST(test_too_few) {
    char photos[128], out[128];
    temp_dir_make(dir);
    for (int i = 0; i < SR_STARTER_LEAST_IMAGES - 1; i++) {
        char name[64];
        snprintf(name, sizeof name, "few/%d.png", i);
        write_png(name, 16, 16, i);
    }
    snprintf(photos, sizeof photos, "%s/few", dir);
    snprintf(out, sizeof out, "%s/few.yaml", dir);
    RUN("init", photos, "--out", out);
    expect(2, "too few to learn from");
    temp_dir_remove(dir);
}

TEST(test_bar) {
    char text[256];
    SrBar bar = {.what = "features", .total = 200};
    sr__bar_text(&bar, 50, 10, 200, text, sizeof text);
    CHECK_STR(text, "features [#######.......................]  25% 50/200, 0:00:30 left");
    for (int columns = 20; columns < 100; columns++) {
        sr__bar_text(&bar, 50, 10, columns, text, sizeof text);
        CHECK(columns < 45 || (int)strlen(text) < columns);
    }
    bar.total = 0;
    sr__bar_text(&bar, 50, 10, 80, text, sizeof text);
    CHECK_STR(text, "features: 50");
}

// Two configurations of one folder have separate runs. A line break in the folder's name does not
// end the comment.
TEST(test_names) {
    char photos[128], out[128], odd[128], *file;
    size_t bytes;
    temp_dir_make(dir);
    write_photos();
    snprintf(photos, sizeof photos, "%s/pictures", dir);
    snprintf(odd, sizeof odd, "%s/two\nlines: [", dir);
    CHECK(rename(photos, odd) == 0);
    for (int i = 0; i < 2; i++) {
        snprintf(out, sizeof out, "%s/%s.yaml", dir, i ? "small" : "large");
        RUN("init", odd, "--out", out, "--minutes", "1");
        expect(0, "/two\\nlines: [: ");
        expect(0, i ? "writes runs/small/report.html" : "writes runs/large/report.html");
        expect(0, i ? "--out small-views.png" : "--out large-views.png");
        CHECK_OK(sr_file_read(out, 1 << 16, &file, &bytes));
        CHECK(strstr(file, i ? "DIR: \"runs/small\"" : "DIR: \"runs/large\""));
        CHECK(strstr(file, "/two\\nlines: [, made by `sslrun init`.\n"));
        sr_free(file);
        RUN("check", out);
        expect(0, "loss dcl_loss");
    }
    temp_dir_remove(dir);
}

SR_TESTS(init_verb, unit(test_few_photos), unit(test_sandbox), unit(test_one_level_too_high),
         unit(test_from_weights), unit(test_classes_and_parts), unit(test_samples_large_folders),
         unit(test_too_few), unit(test_bar), unit(test_names))
