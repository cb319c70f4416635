// Tests sslrun frames with a stand-in for ffmpeg that gives known pictures, and with ffmpeg itself
// where it is installed.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temp_dir.h"

enum { H = 40, W = 48, BYTES = H * W * 3 };

static ProgramResult result; // two large texts: too large for the stack of a test
static char dir[64], film[160], out[160], before[8192];

#define RUN(...) program_run(&result, 0, (const char *const[]){"frames", __VA_ARGS__, NULL})

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    snprintf(film, sizeof film, "%s", fixture_write(dir, "my film.mp4", "film", 4));
    snprintf(out, sizeof out, "%s/out", dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    setenv("PATH", before, 1);
    temp_dir_remove(dir);
    return 0;
}

// Makes a program ffmpeg that writes <dir>/pictures and ends with a code.  It keeps its arguments.
static void stand_in(const SrText *pictures, int code) {
    char script[600], path[9000];
    int n = snprintf(script, sizeof script,
                     "#!/bin/sh\necho \"$*\" >'%s/arguments'\ncat '%s/pictures'\nexit %d\n", dir,
                     dir, code);
    fixture_write(dir, "pictures", pictures->s ? pictures->s : "", pictures->len);
    CHECK(chmod(fixture_write(dir, "bin/ffmpeg", script, (size_t)n), 0755) == 0);
    snprintf(path, sizeof path, "%s/bin:%s", dir, before);
    setenv("PATH", path, 1);
}

// Appends a picture of large squares; `change` adds to some levels.
static void add_picture(SrText *pictures, uint64_t seed, int change) {
    uint8_t levels[30], rgb[BYTES];
    fixture_noise(levels, sizeof levels, seed);
    for (int i = 0; i < BYTES; i++)
        rgb[i] = (uint8_t)(levels[i / 3 / W / 8 * 6 + i / 3 % W / 8] / 2 + 40 +
                           (i % 7 == 0 ? change : 0));
    sr_text_printf(pictures, "P6\n%d %d\n255\n", W, H);
    sr_text_addn(pictures, (const char *)rgb, sizeof rgb);
}

static int count_files(const char *ending) {
    char **names;
    int n, found = 0;
    CHECK_OK(sr_file_list(out, &names, &n));
    for (int i = 0; i < n; i++)
        found += sr_text_ends(names[i], ending);
    sr_file_list_free(names, n);
    return found;
}

TEST(test_repetitions) {
    SrText pictures = SR_TEXT_INIT;
    char path[300], arguments[512], *png;
    size_t n;
    SrImagePool *pool;
    SrImage image;
    for (int i = 0; i < 3; i++) // the second and third of each scene repeat the first
        for (int k = 0; k < 3; k++)
            add_picture(&pictures, (uint64_t)i, k);
    stand_in(&pictures, 0);
    RUN(film, "--out", out, "--fps", "2.5", "--format", "png");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "3 of 9 pictures kept in "));
    CHECK(strstr(result.err, "sslrun tidy '") || strstr(result.err, " tidy "));
    CHECK_INT(count_files(".png"), 3);
    program_read(dir, "arguments", arguments, sizeof arguments);
    CHECK(strstr(arguments, "my film.mp4 -vf fps=2.5 -f image2pipe"));
    CHECK(strstr(arguments, "-i file:/"));
    snprintf(path, sizeof path, "%s/my film-00000004.png", out);
    CHECK_OK(sr_file_read(path, 1 << 20, &png, &n));
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(sr_image_decode(png, n, pool, &image));
    CHECK(image.H == H && image.W == W);
    CHECK(memcmp(image.rgb, pictures.s + 3 * (pictures.len / 9) + pictures.len / 9 - BYTES,
                 BYTES) == 0);
    sr_image_pool_free(pool);
    sr_free(png);
    RUN(film, "--out", out);
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "holds pictures my film-... already"));
    snprintf(out, sizeof out, "%s/all", dir);
    RUN(film, "--out", out, "--repeats", "--fps=all");
    CHECK_INT(result.code, 0);
    CHECK_INT(count_files(".jpg"), 9);
    program_read(dir, "arguments", arguments, sizeof arguments);
    CHECK(strstr(arguments, "-vf null"));
    sr_text_deinit(&pictures);
}

// Pictures that came before a failure stay; the exit code says that the film was not whole.
TEST(test_bad_films) {
    SrText pictures = SR_TEXT_INIT;
    add_picture(&pictures, 1, 0);
    stand_in(&pictures, 1);
    RUN(film, "--out", out);
    CHECK_INT(result.code, 1);
    CHECK(strstr(result.err, "ffmpeg cannot read ") && strstr(result.err, "to its end"));
    CHECK_INT(count_files(".jpg"), 1);
    snprintf(out, sizeof out, "%s/cut", dir);
    pictures.len -= 100;
    stand_in(&pictures, 0);
    RUN(film, "--out", out);
    CHECK_INT(result.code, 1);
    CHECK(strstr(result.err, "picture 1 is cut off"));
    CHECK_INT(count_files(""), 0);
    sr_text_deinit(&pictures);
    sr_text_add(&pictures, "P6\n99999 99999\n255\nxxxx");
    stand_in(&pictures, 0);
    RUN(film, "--out", out);
    CHECK_INT(result.code, 1);
    CHECK(strstr(result.err, "without a PPM header"));
    sr_text_deinit(&pictures);
}

TEST(test_refused) {
    setenv("PATH", dir, 1); // no ffmpeg
    RUN(film, "--out", out);
    CHECK_INT(result.code, 1);
    CHECK(strstr(result.err, "needs ffmpeg, which is not installed; as root: apt-get install"));
    RUN(film);
    CHECK(result.code == 2 && strstr(result.err, "needs films and --out DIR"));
    RUN(film, "--out", out, "--fps", "0");
    CHECK(result.code == 2 && strstr(result.err, "--fps 0: expected"));
    RUN(film, "--out", out, "--near", "99");
    CHECK(result.code == 2 && strstr(result.err, "--near 99: expected"));
    RUN(film, "--out", out, "--format", "gif");
    CHECK(result.code == 2 && strstr(result.err, "expected jpg or png"));
    RUN("no-such-film.mp4", "--out", out);
    CHECK(result.code != 0 && strstr(result.err, "no-such-film.mp4"));
}

TEST(test_ffmpeg) {
    char line[800];
    if (system("command -v ffmpeg >/dev/null 2>&1") != 0)
        SKIP("there is no ffmpeg", "apt-get install ffmpeg");
    snprintf(film, sizeof film, "%s/test.mkv", dir);
    snprintf(
        line, sizeof line,
        "ffmpeg -nostdin -v error -f lavfi -i testsrc=size=96x64:rate=10:duration=2 -c:v mjpeg "
        "'%s'",
        film);
    CHECK_INT(system(line), 0);
    RUN(film, "--out", out, "--repeats", "--fps", "5");
    CHECK_INT(result.code, 0);
    CHECK_INT(count_files(".jpg"), 10);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

SR_TESTS(frames_verb, in_folder(test_repetitions), in_folder(test_bad_films),
         in_folder(test_refused), in_folder(test_ffmpeg))
