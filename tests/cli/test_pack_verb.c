// Tests sslrun pack: damaged images, labels of a list, a full disk at stdout, --check on files of
// other programs, and shards with too few class names.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"

enum { IMAGES = 16, PATH = 512 };

static ProgramResult result; // too large for the stack of a test
static char dir[256];

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(code ? result.err : result.out, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

// Returns the path of `name` in one of eight buffers, so that a command can name several.
static const char *in(const char *name) {
    static char path[8][PATH];
    static int next;
    char *to = path[next++ % 8];
    CHECK_OK(sr_file_join(to, PATH, dir, name));
    return to;
}

TEST(test_damaged) {
    fixture_folder(dir);
    fixture_class_folder(dir, "photos", IMAGES);
    fixture_write(dir, "photos/x/broken.jpg", "\xff\xd8\xff\xe0", 4);
    fixture_write(dir, "photos/y/text.png", "no picture at all", 17);
    RUN("pack", in("photos"), "--out", in("strict"), "--strict");
    expect(1, "photos/");
    CHECK(!sr_file_exists(in("strict")));
    RUN("pack", in("photos"), "--out", in("shards"));
    expect(0, "16 images in 2 classes, 1 shard");
    CHECK(strstr(result.out, "2 damaged left out"));
    CHECK(strstr(result.err, "broken.jpg: ") && strstr(result.err, "text.png: "));
    RUN("pack", in("shards"), "--check");
    expect(0, "16 images in 1 shard");
    RUN("pack", in("photos"), "--check");
    expect(2, "holds no shards (.tar files): --check reads a folder that `sslrun pack");
    RUN("pack", in("missing"), "--check");
    expect(2, "No such file");
    fixture_remove(dir);
}

TEST(test_nothing_sound) {
    fixture_folder(dir);
    fixture_write(dir, "photos/a.png", "no picture at all", 17);
    RUN("pack", in("photos"), "--out", in("shards"));
    expect(2, "none of the 1 images can be read");
    CHECK(!sr_file_exists(in("shards")));
    fixture_remove(dir);
}

// A file whose name has no ending gets that of its content: here a BMP of one white pixel.
TEST(test_without_ending) {
    static const char bmp[58] = {
        'B',      'M',       58,       [10] = 54, [14] = 40, [18] = 1, [22] = 1,
        [26] = 1, [28] = 24, [34] = 4, [54] = -1, -1,        -1};
    char *tar;
    size_t bytes;
    fixture_folder(dir);
    fixture_write(dir, "scan", bmp, sizeof bmp);
    fixture_write(dir, "list.txt", "scan\n", 5);
    RUN("pack", in("list.txt"), "--out", in("shards"));
    expect(0, "1 images in 0 classes");
    CHECK_OK(sr_file_read(in("shards/shard-000000.tar"), 1 << 20, &tar, &bytes));
    CHECK(strstr(tar, "/scan.bmp")); // the first name of the archive
    sr_free(tar);
    fixture_remove(dir);
}

TEST(test_list) {
    char list[1024] = "", labels[256] = "";
    fixture_folder(dir);
    fixture_class_folder(dir, "photos", 4);
    for (int i = 0; i < 4; i++) {
        snprintf(list + strlen(list), sizeof list - strlen(list), "photos/%c/%02d.png\n",
                 i % 2 ? 'x' : 'y', i);
        snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "%d\n", i % 3);
    }
    fixture_write(dir, "list.txt", list, strlen(list));
    fixture_write(dir, "labels.txt", labels, strlen(labels));
    RUN("pack", in("list.txt"), "--out", in("bare"));
    expect(0, "4 images in 0 classes");
    CHECK(strstr(result.err, "holds no labels") && strstr(result.err, "--labels FILE"));
    RUN("pack", in("list.txt"), "--labels", in("labels.txt"), "--out", in("shards"));
    expect(0, "4 images in 3 classes");
    RUN("pack", in("photos"), "--labels", in("labels.txt"), "--out", in("other"));
    expect(2, "has its own labels");
    fixture_remove(dir);
}

// The exit code reports on the shards and not on the line about them: complete shards give 0.
TEST(test_full_stdout) {
    char program[4096], command[8192];
    if (!sr_file_exists("/dev/full"))
        SKIP("there is no /dev/full", NULL);
    fixture_folder(dir);
    fixture_class_folder(dir, "photos", IMAGES);
    program_path(program);
    snprintf(command, sizeof command, "'%s' pack '%s' --out '%s' >/dev/full 2>'%s'", program,
             in("photos"), in("shards"), in("err"));
    CHECK_INT(system(command), 0);
    program_read(dir, "err", result.err, sizeof result.err);
    CHECK(strstr(result.err, "shards is written and whole"));
    RUN("pack", in("shards"), "--check");
    expect(0, "16 images");
    fixture_remove(dir);
}

// A classnames.txt with fewer names than classes: unnamed classes keep their numbers.
TEST(test_few_names) {
    char train[PATH], test[PATH];
    fixture_folder(dir);
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "photos/%c", 'a' + i);
        fixture_class_folder(dir, name, 4);
    }
    RUN("pack", in("photos"), "--out", in("train"));
    expect(0, "16 images in 4 classes");
    CHECK(strstr(result.out, "set DATA.TRAIN.DATA_SOURCES=[webdataset] DATA.TRAIN.DATA_PATHS=["));
    RUN("pack", in("photos"), "--out", in("test"));
    snprintf(train, sizeof train, "DATA.TRAIN.DATA_PATHS=[%s]", in("train"));
    snprintf(test, sizeof test, "DATA.TEST.DATA_PATHS=[%s]", in("test"));
    const char *const args[] = {"knn",
                                "tests/cli/folder.yaml",
                                "--random",
                                train,
                                test,
                                "DATA.TRAIN.DATA_SOURCES=[webdataset]",
                                "DATA.TEST.DATA_SOURCES=[webdataset]",
                                "NEAREST_NEIGHBOR.TOPK=1",
                                NULL};
    fixture_write(dir, "test/classnames.txt", "a\nb\n", 4);
    program_run(&result, 1, args);
    expect(2, "DATA.TEST has images of 2 classes that DATA.TRAIN does not have: 2, 3");
    CHECK(strstr(result.err, "classnames.txt names 2 of 4 classes; the others have no name"));
    fixture_write(dir, "train/classnames.txt", "a\nb\n", 4);
    program_run(&result, 1, args);
    expect(0, "");
    fixture_remove(dir);
}

// A path that does not exist is named as it was given, and no key of a configuration is.
TEST(test_missing) {
    fixture_folder(dir);
    RUN("pack", in("missing"), "--check");
    expect(2, "sslrun pack --check: No such file or folder: ");
    expect(2, "/missing\n");
    RUN("pack", in("missing"), "--out", in("out"));
    expect(2, "sslrun pack: there is no folder of images '");
    CHECK(!strstr(result.err, "DATA."));
    fixture_remove(dir);
}

SR_TESTS(pack_verb, unit(test_damaged), unit(test_nothing_sound), unit(test_list),
         unit(test_without_ending), unit(test_full_stdout), unit(test_few_names),
         unit(test_missing))
