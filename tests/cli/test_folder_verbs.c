// Tests sslrun index, search, duplicates and tidy as a user calls them: JSON, CSV, exit codes,
// names with line breaks, and an index that a killed process left.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // two large texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

typedef struct {
    char dir[64], images[96], index[128];
} Fixture;

static void write_image(const Fixture *f, const char *name, int seed) {
    uint8_t pixels[40 * 40 * 3];
    size_t bytes;
    fixture_noise(pixels, sizeof pixels, (uint64_t)seed);
    void *png = fixture_png(pixels, 40, 40, 3, &bytes);
    fixture_write(f->dir, name, png, bytes);
    sr_free(png);
}

static void begin(Fixture *f, int n) {
    temp_dir_make(f->dir);
    snprintf(f->images, sizeof f->images, "%s/images", f->dir);
    snprintf(f->index, sizeof f->index, "%s/x.index", f->dir);
    for (int i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "images/%s/%d.png", i % 2 ? "b" : "a", i);
        write_image(f, name, i);
    }
    write_image(f, "images/b/two\nlines.png", 3); // a copy of b/3.png
}

// Writes a picture without fine detail.
static void write_gradient(const Fixture *f, const char *name) {
    uint8_t pixels[40 * 40 * 3];
    size_t bytes;
    for (int i = 0; i < 40 * 40 * 3; i++)
        pixels[i] = (uint8_t)(i / 3 % 40 * 4 + i / 120);
    void *png = fixture_png(pixels, 40, 40, 3, &bytes);
    fixture_write(f->dir, name, png, bytes);
    sr_free(png);
}

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(code ? result.err : result.out, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

TEST(test_index_and_search) {
    Fixture f;
    char query[160], line[256];
    begin(&f, 12);
    snprintf(query, sizeof query, "%s/b/3.png", f.images);
    RUN("index", f.images, "--model", "pixels", "--index", f.index);
    expect(0, "13 images of 3072 numbers; 13 new, 0 changed, 0 removed, 0 unreadable");
    CHECK(strstr(result.err, "search ") && strstr(result.err, "duplicates "));
    write_image(&f, "images/a/new.png", 99);
    RUN("index", f.images, "--model", "pixels", "--index", f.index, "--json");
    expect(0, "\"rows\": 14, \"dim\": 3072, \"classes\": 2, \"new\": 1,");
    expect(0, "\"embedded\": 1,");
    RUN("search", query, "--index", f.index, "--count", "1");
    snprintf(line, sizeof line, "1.0000  %s/b/two\\nlines.png\n", f.images);
    CHECK_STR(result.out, line);
    RUN("search", query, "--index", f.index, "--count", "2", "--csv");
    snprintf(line, sizeof line, "file,cosine\n\"%s/b/two\nlines.png\",1.0", f.images);
    expect(0, line);
    RUN("search", query, "--index", f.index, "--count", "2", "--csv", "--probes", "99");
    expect(0, "file,cosine\n");
    CHECK(strstr(result.err, "approximate: 4 of 4 cells are searched, which hold 100.0 %"));
    RUN("search", query, "--index", f.index, "--probes", "-1");
    expect(2, "--probes needs a whole number");
    RUN("search", query, "--index", f.index, "--crop", "0,0,40,40", "--count", "1");
    expect(0, "1.0000  "); // the whole as a part: the image itself
    RUN("search", query, "--index", f.index, "--crop", "30,0,20,20");
    expect(2, "lies outside of");
    RUN("search", query, "--index", f.index, "--crop", "1,2,3");
    expect(2, "expected x,y,w,h");
    RUN("search", query, "--index", f.index, "--model", "thumbnail");
    expect(2, "was made by another model");
    RUN("index", f.images, "--model", "thumbnail", "--index", f.index);
    expect(2, "rows of another model");
    RUN("index", f.images);
    expect(2, "name a model with --model");
    temp_dir_remove(f.dir);
}

TEST(test_duplicates) {
    Fixture f;
    char line[400];
    begin(&f, 12);
    RUN("duplicates", f.images, "--model", "pixels", "--index", f.index, "--csv");
    snprintf(line, sizeof line,
             "group,file,role,similarity\n1,%s/b/3.png,keeper,1.000000\n1,\"%s/b/two\nlines.png\""
             ",copy,1.000000\n",
             f.images, f.images);
    CHECK_STR(result.out, line);
    CHECK_INT(result.code, 0);
    RUN("duplicates", f.images, "--model", "pixels", "--index", f.index, "--check");
    expect(1, "copies were found");
    // Each image that cannot be read is named once, though the folder is embedded several times.
    fixture_write(f.dir, "images/b/broken.png", "no", 2);
    RUN("duplicates", f.images, "--model", "pixels", "--index", f.index);
    const char *named = strstr(result.err, "broken.png");
    CHECK(named && !strstr(named + 1, "broken.png"));
    write_image(&f, "others/one.png", 7);
    write_image(&f, "others/two.png", 70);
    snprintf(line, sizeof line, "%s/others", f.dir);
    RUN("duplicates", f.images, "--model", "pixels", "--index", f.index, "--against", line,
        "--threshold", "0.99");
    expect(0, "1 pair of copies between 13 images and 2 others");
    expect(0, "/b/7.png  ");
    RUN("duplicates", f.images, "--model", "pixels", "--memory", "1K");
    expect(2, "--memory 1K: expected a size of at least 1M");
    temp_dir_remove(f.dir);
}

TEST(test_tidy) {
    Fixture f;
    char page[128];
    begin(&f, 12);
    fixture_write(f.dir, "images/a/bad, \"worse\".png", "no", 2);
    write_gradient(&f, "images/a/gradient.png");
    RUN("tidy", f.images, "--csv");
    expect(0, "issue,file,value,of,reason\nunreadable,\"");
    expect(0, "bad, \"\"worse\"\".png\",,,");
    RUN("tidy", f.images, "--json");
    expect(0, "{\"issue\": \"same-file\", \"file\": \"");
    snprintf(page, sizeof page, "%s/page.html", f.dir);
    RUN("tidy", f.images, "--page", page, "--check");
    expect(1, "findings, and --check was given");
    char *text;
    size_t bytes;
    CHECK_OK(sr_file_read(page, 1 << 24, &text, &bytes));
    CHECK(strstr(text, "variance of the Laplacian: ")); // a caption names what its number counts
    CHECK(strstr(text, "the file is no image that this program knows: JPEG, PNG, WebP"));
    sr_free(text);
    RUN("tidy", f.images);
    CHECK(strstr(result.err, " --page tidy.html") && strstr(result.err, " --keep keep.txt"));
    RUN("tidy", f.images, "--drop", "blury", "--keep", page);
    expect(2, "did you mean 'blurry'?");
    temp_dir_remove(f.dir);
}

// The process dies between two batches or while it writes: the next call continues.
TEST(test_killed) {
    Fixture f;
    begin(&f, 700);
    for (int i = 0; i < 4; i++) {
        pid_t pid = program_start(f.dir, 1,
                                  (const char *const[]){"index", f.images, "--model", "pixels",
                                                        "--index", f.index, NULL});
        program_sleep_ms(20 + 40 * i);
        kill(pid, SIGKILL);
        program_wait(pid, NULL);
    }
    RUN("index", f.images, "--model", "pixels", "--index", f.index, "--json");
    expect(0, "\"rows\": 701,");
    RUN("index", f.images, "--model", "pixels", "--index", f.index, "--json");
    expect(0, "\"embedded\": 0,");
    temp_dir_remove(f.dir);
}

SR_TESTS(folder_verbs, unit(test_index_and_search), unit(test_duplicates), unit(test_tidy),
         unit(test_killed))
