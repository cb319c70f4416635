// Tests sslrun linear, predict, similar and duplicates: from a checkpoint and folders of images
// alone.
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

typedef struct {
    char dir[64], run[96], images[96], others[96];
} Fixture;

// Writes noise on a dark or a bright ground, which any trunk can tell apart.
static void write_image(const Fixture *f, const char *name, bool bright, int seed) {
    uint8_t pixels[20 * 20 * 3];
    size_t bytes;
    fixture_noise(pixels, sizeof pixels, (uint64_t)seed);
    for (int i = 0; i < SR_COUNT(pixels); i++)
        pixels[i] = (uint8_t)(pixels[i] / 3 + (bright ? 160 : 0));
    void *png = fixture_png(pixels, 20, 20, 3, &bytes);
    fixture_write(f->dir, name, png, bytes);
    sr_free(png);
}

static void train(const char *run, const char *seed) {
    char dir[128];
    snprintf(dir, sizeof dir, "CHECKPOINT.DIR=%s", run);
    RUN(CONFIG, dir, seed, "OPTIMIZER.num_epochs=1", "DATA.PIN_MEMORY=False");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "DATA.PIN_MEMORY is accepted and changes nothing"));
}

static void begin(Fixture *f) {
    temp_dir_make(f->dir);
    snprintf(f->run, sizeof f->run, "%s/run", f->dir);
    snprintf(f->images, sizeof f->images, "%s/images", f->dir);
    snprintf(f->others, sizeof f->others, "%s/others", f->dir);
    for (int i = 0; i < 40; i++) {
        char name[64];
        snprintf(name, sizeof name, "images/%s/%d.png", i % 2 ? "day" : "night", i);
        write_image(f, name, i % 2, i);
        snprintf(name, sizeof name, "others/%d.png", i);
        if (i < 6)
            write_image(f, name, i % 2, 100 + i);
    }
    train(f->run, "SEED_VALUE=1");
}

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(code ? result.err : result.out, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

TEST(test_linear_and_predict) {
    Fixture f;
    char other[128], classifier[160];
    begin(&f);
    RUN("predict", f.run, f.others);
    expect(2, "linear.safetensors");
    RUN("linear", f.run, "--data", f.images);
    expect(0, "linear: 100.00 % of 4 test images, trained on 36");
    expect(0, "  night                 100.00 %");
    expect(0, "left out of the bank");
    expect(0, "  raw pixels ");
    expect(0, "  majority class      50.00 %  (always the commonest class)\n");
    RUN("linear", f.run, "--data", f.images, "--layer", "res3", "--json");
    expect(0, "\"layer\": \"res3\"");
    expect(0, "\"classes\": [\"day\", \"night\"], \"confusion\": [[");
    RUN("linear", f.run, "--json"); // the noise that the run was trained on
    expect(0, "\"test_images\": 7, \"train_images\": 63");
    CHECK(!strstr(result.err, "predict")); // which is in no folder
    RUN("linear", f.run, "--data", f.images);
    RUN("predict", f.run, f.others);
    CHECK_INT(result.code, 0);
    for (int i = 0; i < 6; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s/%d.png\t%s\t", f.others, i, i % 2 ? "day" : "night");
        expect(0, line);
    }
    RUN("predict", f.run, f.others, "--sort", "doubt");
    CHECK_INT(result.code, 0);
    double least = 0, p = 0;
    int listed = 0;
    for (const char *tab = result.out; (tab = strchr(tab, '\t')); listed += p > 0, tab++)
        if (sscanf(tab, "\t%lf\n", &p) == 1) {
            CHECK(p >= least);
            least = p;
        } else
            p = 0;
    CHECK_INT(listed, 6);
    RUN("predict", f.run, f.others, "--sort", "size");
    expect(2, "--sort size: expected doubt");
    RUN("predict", f.run, f.others, "--json");
    expect(0, "\"class\": \"day\", \"probability\": ");
    snprintf(other, sizeof other, "%s/other", f.dir);
    snprintf(classifier, sizeof classifier, "%s/linear.safetensors", f.run);
    train(other, "SEED_VALUE=2");
    RUN("predict", other, f.others, "--classifier", classifier);
    expect(2, "belongs to another trunk");
    RUN("linear", f.run, "--data", f.images, "--layer", "res9");
    expect(2, "no evaluation layer 'res9'");
    RUN("linear", f.run, "--data", f.others);
    expect(2, "put each class into its own folder");
    RUN("linear", f.images, "--data", f.images);
    expect(2, "holds no checkpoint");
    temp_dir_remove(f.dir);
}

// A copy is found, whatever its name; images that cannot be read are named and left out.
TEST(test_similar_and_duplicates) {
    Fixture f;
    char path[160], line[400];
    begin(&f);
    write_image(&f, "images/night/copy.png", true, 7);
    fixture_write(f.dir, "images/day/broken.png", "\x89PNG\r\n\x1a\n broken", 16);
    RUN("duplicates", f.images, "--model", f.run, "--threshold", "0.99999");
    expect(0, "1 group of 2 images, among 41");
    expect(0, "night/copy.png");
    expect(0, "day/7.png");
    CHECK(strstr(result.err, "1 of 42 images could not be read and are left out:") &&
          strstr(result.err, "broken.png"));
    RUN("duplicates", f.images, "--model", f.run, "--threshold", "0.99999", "--json");
    snprintf(line, sizeof line,
             "{\"files\": [\"%s/day/7.png\", \"%s/night/copy.png\"], \"similarity\": [1, "
             "1.000000]}\n",
             f.images, f.images);
    CHECK_STR(result.out, line);
    snprintf(path, sizeof path, "%s/day/7.png", f.images);
    RUN("similar", path, "--in", f.images, "--model", f.run, "--count", "1");
    snprintf(line, sizeof line, "1.0000  %s/night/copy.png\n", f.images);
    CHECK_STR(result.out, line);
    RUN("similar", path, "--in", f.images, "--model", f.run, "--json");
    CHECK_INT(result.code, 0);
    int lines = 0;
    for (const char *p = result.out; (p = strchr(p, '\n')); p++)
        lines++;
    CHECK_INT(lines, 10);
    RUN("similar", "no/such.png", "--in", f.images, "--model", f.run);
    expect(2, "no such image");
    RUN("duplicates", f.images, "--model", f.run, "--threshold", "0.0001");
    CHECK(strstr(result.err, "of 41 images look alike at this threshold"));
    CHECK(!strstr(result.err, "changes nothing")); // the run reported it already
    RUN("duplicates", f.images);
    expect(2, "--model CHECKPOINT");
    RUN("duplicates", f.images, "--model", f.run, "--threshold", "7");
    expect(2, "--threshold 7: expected a number above 0");
    temp_dir_remove(f.dir);
}

// The best layer of the run's evaluation is used and named; without an evaluation it is the
// trunk's output vector.
static void check_page(const char *path, const char *title, const char *second, int photos) {
    char *page;
    size_t bytes;
    int n = 0;
    CHECK_OK(sr_file_read(path, 1 << 24, &page, &bytes));
    if (!strstr(page, title) || !strstr(page, second))
        fail_msg("%s lacks %s or %s", path, title, second);
    for (const char *at = page; (at = strstr(at, "class=\"t s")); at++)
        n++;
    CHECK_INT(n, photos);
    CHECK(strstr(page, "data:image/jpeg;base64,") && !strstr(page, "src=\""));
    sr_free(page);
}

// Checks a contact sheet: a PNG as wide as eight photos, and as high as `rows` rows at least.
static void check_sheet(const char *path, int rows) {
    char *png;
    size_t bytes;
    SrImagePool *pool;
    SrImage image;
    CHECK_OK(sr_file_read(path, 1 << 24, &png, &bytes));
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(sr_image_decode(png, bytes, pool, &image));
    CHECK_INT(image.W, 10 + 8 * 138);
    if (image.H <= rows * 138 || image.H >= (rows + 1) * 190)
        fail_msg("the sheet is %d pixels high, expected %d rows of photos", image.H, rows);
    sr_image_pool_free(pool);
    sr_free(png);
}

// --page writes thumbnails with their paths; without --json its name is all that is printed.
TEST(test_pages_of_photos) {
    Fixture f;
    char page[160], path[160], line[200];
    begin(&f);
    write_image(&f, "images/night/copy.png", true, 7);
    snprintf(page, sizeof page, "%s/page.html", f.dir);
    snprintf(line, sizeof line, "%s\n", page);
    snprintf(path, sizeof path, "%s/day/7.png", f.images);
    RUN("similar", path, "--in", f.images, "--model", f.run, "--count", "3", "--page", page);
    CHECK_STR(result.out, line);
    check_page(page, "<h1>Images like 7.png</h1>", "title=\"1.000: ", 4);
    RUN("duplicates", f.images, "--model", f.run, "--threshold", "0.99999", "--page", page,
        "--json");
    expect(0, "{\"files\": ");
    check_page(page, "<h1>1 group of images that look alike</h1>", "night/copy.png", 2);
    RUN("linear", f.run, "--data", f.images);
    RUN("predict", f.run, f.others, "--page", page);
    CHECK_STR(result.out, line);
    check_page(page, "<h1>Classes of 6 images</h1>", "<h2>day <span", 12);
    temp_dir_remove(f.dir);
}

// --sheet writes the same photos as one picture; `linear` has a page of its own.
TEST(test_sheets_of_photos) {
    Fixture f;
    char page[160], sheet[160], path[160], lines[400];
    begin(&f);
    snprintf(page, sizeof page, "%s/page.html", f.dir);
    snprintf(sheet, sizeof sheet, "%s/sheet.png", f.dir);
    snprintf(path, sizeof path, "%s/day/7.png", f.images);
    RUN("similar", path, "--in", f.images, "--model", f.run, "--sheet", sheet);
    snprintf(lines, sizeof lines, "%s\n", sheet);
    CHECK_STR(result.out, lines);
    check_sheet(sheet, 3); // the image, and ten others in two rows
    RUN("duplicates", f.images, "--model", f.run, "--threshold", "0.0001", "--sheet", sheet);
    CHECK_INT(result.code, 0);
    check_sheet(sheet, 6); // two groups of 20, in three rows each
    RUN("similar", path, "--in", f.images, "--model", f.run, "--sheet", "sheet.jpg");
    expect(2, "--sheet sheet.jpg: the name should end in .png");
    RUN("linear", f.run, "--data", f.images, "--page", page, "--sheet", sheet);
    snprintf(lines, sizeof lines, "%s\n%s\n", page, sheet);
    CHECK_STR(result.out, lines);
    CHECK(strstr(result.err, " predict "));
    check_sheet(sheet, 1);
    char *text;
    size_t bytes;
    CHECK_OK(sr_file_read(page, 1 << 24, &text, &bytes));
    CHECK(strstr(text, " test images are given their class</h1>"));
    CHECK(strstr(text, "<th scope=\"row\">raw pixels</th>"));
    CHECK(strstr(text, "<h2>Mistakes, the most certain first</h2>"));
    CHECK(strstr(text, "<table class=\"confusion\">") && strstr(text, "data:image/jpeg;base64,"));
    CHECK(strstr(text, "The layer was chosen on training images"));
    sr_free(text);
    RUN("linear", f.run, "--data", f.images, "--layer", "res3", "--page", page);
    CHECK_OK(sr_file_read(page, 1 << 24, &text, &bytes));
    CHECK(strstr(text, "The layer was named on the command line"));
    CHECK(!strstr(text, "The layer was chosen"));
    CHECK(!strstr(text, " \u00b1 0.0 %")); // none or all of a class: "0 of 2"
    CHECK(strstr(text, "<td>2 of 2</td>"));
    sr_free(text);
    RUN("predict", f.run, f.others, "--sheet", sheet);
    check_sheet(sheet, 2);
    temp_dir_remove(f.dir);
}

TEST(test_best_layer) {
    static const char line[] = "{\"layer_test_images\": 4, \"best_layer\": \"res2\"}\n";
    static char best[sizeof result.out];
    Fixture f;
    char path[160];
    begin(&f);
    snprintf(path, sizeof path, "%s/day/7.png", f.images);
    RUN("similar", path, "--in", f.images, "--model", f.run);
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "layer flatten: ") && strstr(result.err, "no evaluation"));
    RUN("index", f.images, "--model", f.run, "--json"); // `similar` has filled it
    expect(0, "\"embedded\": 0,");
    fixture_write(f.run, "metrics.json", line, sizeof line - 1);
    RUN("similar", path, "--in", f.images, "--model", f.run);
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "layer res2: the best one in the run's evaluation"));
    snprintf(best, sizeof best, "%s", result.out);
    RUN("similar", path, "--in", f.images, "--model", f.run, "--layer", "flatten");
    CHECK(strcmp(result.out, best) != 0 && !strstr(result.err, "layer flatten: "));
    RUN("similar", path, "--in", f.images, "--model", f.run, "--layer", "res2");
    CHECK_STR(result.out, best);
    RUN("duplicates", f.images, "--model", f.run, "--threshold", "0.9");
    CHECK(strstr(result.err, "layer res2: the best one in the run's evaluation"));
    temp_dir_remove(f.dir);
}

// A folder of photos includes everything below it: train/ and test/ are no splits of it, and many
// files may be unreadable.
TEST(test_all_of_a_folder) {
    Fixture f;
    char path[160], line[256];
    begin(&f);
    for (int i = 0; i < 30; i++) {
        char name[64];
        snprintf(name, sizeof name, "photos/%s/%d.png", i % 3 ? "train" : "test", i);
        write_image(&f, name, i % 2, 300 + i);
        snprintf(name, sizeof name, "photos/train/broken%d.jpg", i);
        fixture_write(f.dir, name, "\xff\xd8\xff broken", 11);
    }
    write_image(&f, "photos/test/copy.png", true, 301); // a copy of train/1.png
    snprintf(path, sizeof path, "%s/photos", f.dir);
    RUN("duplicates", path, "--model", f.run, "--threshold", "0.99999");
    expect(0, "1 group of 2 images, among 31");
    expect(0, "photos/train/1.png");
    expect(0, "photos/test/copy.png");
    CHECK(strstr(result.err, "30 of 61 images could not be read and are left out:"));
    CHECK(strstr(result.err, "photos/train/broken"));
    char shards[128];
    snprintf(shards, sizeof shards, "%s/shards", f.dir);
    RUN("pack", path, "--out", shards);
    expect(2, "has the folders train and test, which would become classes; pack each");
    RUN("pack", f.images, "--out", shards);
    expect(0, "/shards: 40 images in 2 classes, 1 shard, ");
    snprintf(path, sizeof path, "%s/photos/train/1.png", f.dir);
    snprintf(line, sizeof line, "%s/photos", f.dir);
    RUN("similar", path, "--in", line, "--model", f.run, "--count", "1");
    expect(0, "photos/test/copy.png");
    RUN("linear", f.run, "--data", f.images);
    expect(0, "linear: ");
    RUN("predict", f.run, line);
    expect(0, "photos/train/29.png\t");
    expect(0, "photos/test/27.png\t");
    temp_dir_remove(f.dir);
}

// Runs a verb by a shell and counts the names and the empty names of its output.  The file with the
// line break is one of them, as it is on disk.
static void check_null(const Fixture *f, const char *words, int names, int empty) {
    char program[4096], command[8192];
    program_path(program);
    snprintf(command, sizeof command,
             "IN='%s' Q='%s/1.png'; '%s' %s --model '%s' 2>/dev/null >\"$IN.list\" || exit 9; "
             "[ $(tr '\\n\\0' 'x\\n' <\"$IN.list\" | wc -l) = %d ] && "
             "[ $(tr '\\n\\0' 'x\\n' <\"$IN.list\" | grep -c '^$') = %d ] && "
             "tr '\\n\\0' 'x\\n' <\"$IN.list\" | grep -qx \"$IN/newxline.png\"",
             f->others, f->others, program, words, f->run, names, empty);
    CHECK_INT(system(command), 0);
}

// A list has one line per file, whatever the file's name contains.
TEST(test_names_with_line_breaks) {
    Fixture f;
    char query[128];
    begin(&f);
    write_image(&f, "others/new\nline.png", true, 101);
    snprintf(query, sizeof query, "%s/others/1.png", f.dir);
    RUN("similar", query, "--in", f.others, "--model", f.run);
    expect(0, "/new\\nline.png\n");
    RUN("linear", f.run, "--data", f.images);
    RUN("predict", f.run, f.others);
    expect(0, "/new\\nline.png\tday\t");
    RUN("duplicates", f.others, "--model", f.run, "--threshold", "0.001");
    expect(0, "/new\\nline.png\n");
    check_null(&f, "similar \"$Q\" --in \"$IN\" --count 1 -0", 1, 0);
    check_null(&f, "similar \"$Q\" --in \"$IN\" --null", 6, 0);
    check_null(&f, "duplicates \"$IN\" --threshold 0.001 --null", 8, 1);
    RUN("similar", query, "--in", f.others, "--model", f.run, "--null", "--json");
    expect(2, "goes neither with --json");
    RUN("predict", f.run, f.others, "-0");
    expect(2, "unknown option '-0'");
    temp_dir_remove(f.dir);
}

// One image has nothing to be compared with: each verb says so, and none prints a number.
TEST(test_one_image) {
    Fixture f;
    char alone[128], image[160], data[192];
    begin(&f);
    write_image(&f, "alone/night/0.png", false, 0);
    snprintf(alone, sizeof alone, "%s/alone", f.dir);
    snprintf(image, sizeof image, "%s/night/0.png", alone);
    snprintf(data, sizeof data, "DATA.TRAIN.DATA_PATHS=[%s]", alone);
    RUN("similar", image, "--in", alone, "--model", f.run);
    expect(2, "night/0.png is the only image of --in");
    CHECK_STR(result.out, "");
    RUN("duplicates", alone, "--model", f.run);
    expect(2, "holds one image that can be read; expected 2 or more");
    RUN("knn", f.run, data, "DATA.TRAIN.DATA_SOURCES=[disk_folder]");
    expect(2, "one image cannot be compared with itself");
    CHECK_STR(result.out, "");
    RUN("linear", f.run, "--data", f.images);
    RUN("predict", f.run, image);
    snprintf(data, sizeof data, "%s\tnight\t", image);
    expect(0, data);
    fixture_write(f.dir, "notes.md", "no images", 9);
    snprintf(image, sizeof image, "%s/notes.md", f.dir);
    RUN("predict", f.run, image);
    expect(2, "sslrun predict: '");
    expect(2, "notes.md' is neither a folder of images nor an image or a list");
    CHECK(!strstr(result.err, "DATA."));
    RUN("similar", f.images, "--in", f.images, "--model", f.run);
    expect(2, "/images: expected an image that can be read");
    temp_dir_remove(f.dir);
}

// `linear` finds out before any feature is computed that it cannot learn, or cannot write.
TEST(test_linear_refuses_early) {
    Fixture f;
    char pair[128], broken[128], out[160];
    begin(&f);
    write_image(&f, "pair/day/1.png", true, 1);
    write_image(&f, "pair/night/0.png", false, 0);
    snprintf(pair, sizeof pair, "%s/pair", f.dir);
    RUN("linear", f.run, "--data", pair);
    expect(2, "a classifier needs images of two classes, and two images of one of them; 1 image in "
              "1 class is left for training");
    for (int i = 0; i < 8; i++) {
        char name[64];
        snprintf(name, sizeof name, "broken/%s/%d.png", i % 2 ? "day" : "night", i);
        fixture_write(f.dir, name, "\x89PNG\r\n\x1a\n broken", 16);
    }
    snprintf(broken, sizeof broken, "%s/broken", f.dir);
    snprintf(out, sizeof out, "%s/no/such/x.safetensors", f.dir);
    RUN("linear", f.run, "--data", broken, "--out", out);
    expect(1, "/no/such/x.safetensors");
    CHECK(!strstr(result.err, "could not be read")); // no image was opened
    RUN("linear", f.run, "--data", broken, "--out", f.dir);
    expect(2, "a directory; name the file to write");
    temp_dir_remove(f.dir);
}

// Images of a data set without files have numbers for names.
TEST(test_set_without_files) {
    Fixture f;
    uint8_t batch[3 * (1 + 3 * 32 * 32)] = {0}; // CIFAR's: label, then red, green, blue
    begin(&f);
    fixture_noise(batch + 1, 3 * 32 * 32, 7);
    fixture_write(f.dir, "cifar/data_batch_1.bin", batch, sizeof batch);
    fixture_write(f.dir, "cifar/test_batch.bin", batch, sizeof batch);
    char cifar[96];
    snprintf(cifar, sizeof cifar, "%s/cifar", f.dir);
    RUN("linear", f.run, "--data", f.images);
    CHECK_INT(result.code, 0);
    RUN("predict", f.run, cifar);
    expect(0, "image 0\t");
    expect(0, "\nimage 2\t");
    RUN("predict", f.run, cifar, "--json");
    expect(0, "{\"file\": \"image 1\", ");
    temp_dir_remove(f.dir);
}

SR_TESTS(image_verbs, unit(test_set_without_files), unit(test_linear_and_predict),
         unit(test_similar_and_duplicates), unit(test_pages_of_photos), unit(test_sheets_of_photos),
         unit(test_best_layer), unit(test_all_of_a_folder), unit(test_names_with_line_breaks),
         unit(test_one_image), unit(test_linear_refuses_early))
