// Tests sslrun outliers, mislabeled and select on small folders, by raw pixels.
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

typedef struct {
    char dir[64], images[96], index[96], page[96], list[128];
} Fixture;

// Writes noise on a dark or a bright ground.  striped: on stripes, unlike all others.
static void write_image(const Fixture *f, const char *name, bool bright, bool striped, int seed) {
    uint8_t pixels[20 * 20 * 3];
    char path[160];
    size_t bytes;
    fixture_noise(pixels, sizeof pixels, (uint64_t)seed);
    for (int i = 0; i < SR_COUNT(pixels); i++) {
        bool light = striped ? i / 60 % 2 : bright ^ (i / 60 < 10);
        pixels[i] = (uint8_t)(pixels[i] / 4 + (light ? 160 : 0));
    }
    void *png = fixture_png(pixels, 20, 20, 3, &bytes);
    snprintf(path, sizeof path, "images/%s", name);
    fixture_write(f->dir, path, png, bytes);
    sr_free(png);
}

// Sixty images of two classes; three lie in the wrong class, and one is striped.
static void begin(Fixture *f) {
    temp_dir_make(f->dir);
    snprintf(f->images, sizeof f->images, "%s/images", f->dir);
    snprintf(f->index, sizeof f->index, "%s/x.index", f->dir);
    snprintf(f->page, sizeof f->page, "%s/page.html", f->dir);
    snprintf(f->list, sizeof f->list, "%s/list.txt", f->dir);
    for (int i = 0; i < 60; i++) {
        char name[64];
        bool wrong = i % 20 == 3;
        snprintf(name, sizeof name, "%s/%02d%s.png", (i % 2) ^ wrong ? "day" : "night", i,
                 wrong    ? "-wrong"
                 : i == 8 ? ", \"odd\""
                          : "");
        write_image(f, name, i % 2, i == 8, i);
    }
}

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(code ? result.err : result.out, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

static int lines(const char *text) {
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void check_page(const Fixture *f, const char *text) {
    static char page[1 << 18];
    program_read(f->dir, "page.html", page, sizeof page);
    CHECK(strstr(page, "<!doctype html>") && strstr(page, text));
}

// Checks the number of headings of the page: each section has one.
static void check_headings(const Fixture *f, int n) {
    static char page[1 << 18];
    program_read(f->dir, "page.html", page, sizeof page);
    for (const char *at = page; (at = strstr(at, "<section><h2>")); at++)
        n--;
    CHECK_INT(n, 0);
}

TEST(test_outliers) {
    Fixture f;
    begin(&f);
    RUN("outliers", f.images, "--model", "pixels", "--index", f.index);
    expect(0, "odd");
    expect(0, " of 60 images\n");
    CHECK(strstr(result.err, "--page outliers.html"));
    RUN("outliers", f.images, "--model", "pixels", "--index", f.index, "--all", "--csv");
    expect(0, "distance,leaf,class,outlier,file\n");
    CHECK_INT(lines(result.out), 61);
    const char *first = strchr(result.out, '\n') + 1;
    CHECK(strstr(first, ",night,yes,\"") && strstr(first, "08, \"\"odd\"\".png\"\n"));
    CHECK(strstr(first, "odd") < strchr(first, '\n')); // the most suspicious
    RUN("outliers", f.images, "--model", "pixels", "--index", f.index, "--json", "--no-tree");
    expect(0, "\"leaf\": null, \"class\": \"night\", \"outlier\": \"yes\"");
    RUN("outliers", f.images, "--model", "pixels", "--index", f.index, "--check");
    CHECK_INT(result.code, 1);
    CHECK(strstr(result.err, "outliers were found") && strstr(result.out, "odd"));
    RUN("outliers", f.images, "--model", "pixels", "--index", f.index, "--page", f.page);
    expect(0, "page.html\n");
    check_page(&f, "<h2>Outliers</h2>");
    RUN("outliers", f.images, "--model", "pixels", "--index", f.index, "--all", "--page", f.page);
    expect(0, "page.html\n");
    check_headings(&f, 2); // outliers by either distance come first
    RUN("outliers", f.images, "--model", "pixels", "--json", "--csv");
    expect(2, "give one of them");
    RUN("outliers", f.images, "--model", "pixels", "--index", f.index, "--memory", "2M");
    expect(2, "--memory allows 2 MB");
    RUN("outliers", f.images, "--model", "pixels", "--share", "0.7");
    expect(2, "--share 0.7: expected a number above 0 and below 0.5");
    RUN("outliers", f.images);
    expect(2, "--model");
    RUN("outliers", "--model", "pixels");
    expect(2, "needs one folder of images");
    temp_dir_remove(f.dir);
}

TEST(test_mislabeled) {
    Fixture f;
    begin(&f);
    RUN("mislabeled", f.images, "--model", "pixels", "--index", f.index, "--csv");
    expect(0, "doubt,given,suggested,confidence,given_probability,ratio,mislabeled,file\n");
    const char *at = strchr(result.out, '\n') + 1;
    for (int i = 0; i < 3; i++, at = strchr(at, '\n') + 1) {
        const char *wrong = strstr(at, "-wrong.png");
        CHECK(wrong && wrong < strchr(at, '\n'));
        CHECK(strstr(at, ",night,day,"));
    }
    RUN("mislabeled", f.images, "--model", "pixels", "--index", f.index);
    expect(0, " of 60 labels are probably wrong; estimated noise ");
    expect(0, " images of night are rather day\n");
    RUN("mislabeled", f.images, "--model", "pixels", "--index", f.index, "--noise", "--json");
    expect(0, "\"given\": \"night\", \"true\": \"day\"");
    RUN("mislabeled", f.images, "--model", "pixels", "--index", f.index, "--page", f.page,
        "--check");
    expect(1, "labels are probably wrong");
    check_page(&f, "night, rather day, ");
    RUN("mislabeled", f.images, "--model", "pixels", "--noise", "--all");
    expect(2, "neither with --all");
    snprintf(f.list, sizeof f.list, "%s/night", f.images);
    RUN("mislabeled", f.list, "--model", "pixels", "--index", f.page);
    CHECK_INT(result.code, 2);
    temp_dir_remove(f.dir);
}

TEST(test_select) {
    Fixture f;
    static char all[1 << 18];
    begin(&f);
    RUN("select", "8", f.images, "--model", "pixels", "--index", f.index);
    expect(0, ".png\n");
    CHECK_INT(lines(result.out), 8);
    snprintf(all, sizeof all, "%s", result.out);
    CHECK_OK(sr_file_write(f.list, result.out, strlen(result.out)));
    RUN("select", "4", f.images, "--model", "pixels", "--index", f.index, "--have", f.list);
    CHECK_INT(lines(result.out), 4);
    for (char *line = strtok(result.out, "\n"); line; line = strtok(NULL, "\n"))
        CHECK(!strstr(all, line));
    RUN("select", "3", f.images, "--model", "pixels", "--index", f.index, "--method", "both",
        "--csv");
    expect(0, "place,file\n1,");
    CHECK_INT(lines(result.out), 4);
    RUN("select", "3", f.images, "--model", "pixels", "--index", f.index, "--method", "centres",
        "--page", f.page);
    expect(0, "page.html\n");
    check_page(&f, "Images to label");
    CHECK_OK(sr_file_write(f.list, "nowhere.png\n", 12));
    RUN("select", "3", f.images, "--model", "pixels", "--index", f.index, "--have", f.list);
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "1 images are not in the folder"));
    RUN("select", f.images, "--model", "pixels");
    expect(2, "needs a number and a folder");
    RUN("select", "many", f.images, "--model", "pixels");
    expect(2, "the number of images comes first");
    RUN("select", "61", f.images, "--model", "pixels", "--index", f.index);
    expect(2, "expected 1 to 60");
    RUN("select", "3", f.images, "--model", "pixels", "--method", "best");
    expect(2, "expected typical, centres or both");
    temp_dir_remove(f.dir);
}

TEST(test_balanced) {
    Fixture f;
    begin(&f);
    RUN("cluster", f.images, "--hierarchical", "6,2", "--sample", "10", "--model", "pixels",
        "--index", f.index);
    expect(0, ".png\n");
    CHECK_INT(lines(result.out), 10);
    RUN("cluster", f.images, "--hierarchical", "6,2", "--model", "pixels", "--index", f.index,
        "--csv");
    expect(0, "cluster,top_cluster,file\n");
    CHECK_INT(lines(result.out), 31);
    RUN("cluster", f.images, "--hierarchical", "6,2", "--model", "pixels", "--index", f.index,
        "--page", f.page);
    expect(0, "page.html\n");
    check_headings(&f, 2);
    RUN("cluster", f.images, "--hierarchical", "2,6", "--model", "pixels", "--index", f.index);
    expect(2, "the numbers fall");
    RUN("cluster", f.images, "--hierarchical", "6;2", "--model", "pixels", "--index", f.index);
    expect(2, "such as 500,50");
    RUN("cluster", f.images, "--model", "pixels");
    expect(2, "belong to --hierarchical");
    temp_dir_remove(f.dir);
}

TEST(test_anomaly) {
    Fixture f;
    char detector[128], maps[128], night[160];
    begin(&f);
    snprintf(detector, sizeof detector, "%s/d.safetensors", f.dir);
    snprintf(maps, sizeof maps, "%s/maps", f.dir);
    snprintf(night, sizeof night, "%s/night", f.images);
    RUN("anomaly", "fit", night, "--model", "resnet18", "--size", "32", "--layers", "res2,res3",
        "--out", detector);
    expect(0, "d.safetensors: fitted to 33 images, ");
    CHECK(strstr(result.err, "anomaly score"));
    RUN("anomaly", "score", detector, f.images, "--maps", maps, "--csv");
    expect(0, "score,defective,file\n");
    CHECK_INT(lines(result.out), 61);
    program_read(f.dir, "maps/000000_day_01.png", night, sizeof night);
    CHECK(memcmp(night, "\x89PNG", 4) == 0);
    RUN("anomaly", "score", detector, f.images, "--check", "--page", f.page);
    expect(1, "images are above the threshold");
    check_page(&f, "Above the threshold");
    RUN("anomaly", "eval", detector, f.images);
    expect(2, "has no folder \"good\"");
    snprintf(night, sizeof night, "%s/images/night", f.dir);
    snprintf(maps, sizeof maps, "%s/images/good", f.dir);
    CHECK(rename(night, maps) == 0);
    RUN("anomaly", "eval", detector, f.images, "--json");
    expect(0, "\"kind\": \"day\"}\n");
    expect(0, "\"kind\": \"all\"}\n");
    RUN("anomaly", "eval", detector, f.images, "--check");
    expect(2, "belong to score");
    RUN("anomaly", "fit", f.images);
    expect(2, "needs a model");
    RUN("anomaly", "weigh", f.images);
    expect(2, "sslrun anomaly needs `fit GOOD`");
    RUN("anomaly", "fit", f.images, "--model", "resnet18", "--false-alarms", "1");
    expect(2, "--false-alarms 1");
    temp_dir_remove(f.dir);
}

// Trains as audit.yaml says, then searches.  A second call has a run already.
TEST(test_audit) {
    Fixture f;
    char out[128], run[160];
    static char config[1 << 14];
    begin(&f);
    write_image(&f, "day/copy.png", true, false, 1); // as day/01.png
    snprintf(out, sizeof out, "%s/audit", f.dir);
    snprintf(run, sizeof run, "%s/run", out);
    program_read("tests/cli", "tiny.yaml", config, sizeof config);
    fixture_write(f.dir, "audit/audit.yaml", config, strlen(config));
    RUN("audit", f.images, "--out", out, "--csv");
    expect(0, "search,detail,file\n");
    CHECK(strstr(result.out, "\ntidy,same-file,"));
    CHECK(strstr(result.out, "\nmislabeled,"));
    CHECK(strstr(result.err, "labels that are probably wrong. Nothing was moved or deleted."));
    program_read(f.dir, "audit/audit.html", config, sizeof config);
    CHECK(strstr(config, "<h1>Audit of "));
    RUN("audit", f.images, "--out", out, "--model", run, "--check");
    expect(1, "findings, groups, outliers and labels");
    RUN("audit", f.images, "--out", out, "--model", f.index);
    CHECK_INT(result.code, 1);
    CHECK(strstr(result.err, "failed with exit code 2"));
    RUN("audit", f.images, "--minutes", "0");
    expect(2, "--minutes of at least 1");
    temp_dir_remove(f.dir);
}

SR_TESTS(folder_order, unit(test_audit), unit(test_outliers), unit(test_mislabeled),
         unit(test_select), unit(test_balanced), unit(test_anomaly))
