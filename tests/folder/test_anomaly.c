// Tests detectors of defects: planted squares are found, files read back, memory bounds, AUROC.
#include "folder/patches/anomaly.h"
#include "folder/patches/anomaly_file.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

enum { SIDE = 32, GOOD = 20, TEST = 8 };

typedef struct {
    char dir[64], good[96], test[96], file[128];
} Fixture;

// Writes grey noise.  defect: with a bright square in the middle.
static void write_image(const Fixture *f, const char *name, bool defect, int seed) {
    uint8_t pixels[SIDE * SIDE * 3];
    size_t bytes;
    fixture_noise(pixels, sizeof pixels, (uint64_t)seed);
    for (int i = 0; i < SR_COUNT(pixels); i++) {
        int y = i / 3 / SIDE, x = i / 3 % SIDE;
        bool inside = y > 12 && y < 20 && x > 12 && x < 20;
        pixels[i] = (uint8_t)(100 + pixels[i] / 16 + (defect && inside ? 120 : 0));
    }
    void *png = fixture_png(pixels, SIDE, SIDE, 3, &bytes);
    fixture_write(f->dir, name, png, bytes);
    sr_free(png);
}

static void begin(Fixture *f) {
    char name[64];
    temp_dir_make(f->dir);
    snprintf(f->good, sizeof f->good, "%s/fit", f->dir);
    snprintf(f->test, sizeof f->test, "%s/test", f->dir);
    snprintf(f->file, sizeof f->file, "%s/x.safetensors", f->dir);
    for (int i = 0; i < GOOD; i++) {
        snprintf(name, sizeof name, "fit/%02d.png", i);
        write_image(f, name, false, i);
    }
    for (int i = 0; i < TEST; i++) {
        snprintf(name, sizeof name, "test/%s/%02d.png", i % 2 ? "square" : "good", i);
        write_image(f, name, i % 2, 100 + i);
    }
}

typedef struct {
    double score[TEST];
    int8_t defective[TEST];
    int n;
} Scores;

static SrStatus keep(void *arg, int64_t image, bool good, double score, const float *map) {
    Scores *s = arg;
    CHECK_INT(image, s->n);
    CHECK(good && map[0] >= 0);
    s->score[s->n++] = score;
    return SR_OK;
}

static void score(const Fixture *f, SrAnomaly *a, Scores *out) {
    SrImageSet images;
    out->n = 0;
    CHECK_OK(sr_image_set_open(f->test, &images));
    CHECK_INT(images.n, TEST);
    for (int i = 0; i < TEST; i++) // "square" is the second class
        out->defective[i] = sr_image_set_label(&images, i) == 1;
    CHECK_OK(sr_anomaly_score(a, &images, keep, out));
    sr_image_set_close(&images);
}

static SrAnomalyOptions options(bool padim) {
    return (SrAnomalyOptions){.patches = {.model = "resnet18", .layers = "res2,res3", .size = SIDE},
                              .padim = padim,
                              .bank = 200,
                              .memory = (size_t)64 << 20,
                              .false_alarms = 0};
}

TEST(test_finds_squares) {
    Fixture f;
    begin(&f);
    for (int padim = 0; padim <= 1; padim++) {
        SrAnomalyOptions o = options(padim);
        SrAnomaly a, again;
        Scores s, t;
        double auroc;
        CHECK_OK(sr_anomaly_fit(&o, f.good, &a));
        CHECK_INT(a.images, GOOD);
        CHECK_INT(a.bad, 0);
        score(&f, &a, &s);
        CHECK_OK(sr_auroc(s.score, s.defective, TEST, &auroc));
        CHECK_NEAR(auroc, 1, 0);
        for (int i = 0; i < TEST; i++)
            CHECK(!s.defective[i] || s.score[i] > a.threshold);
        CHECK_OK(sr_anomaly_save(&a, &o.patches, f.file));
        CHECK_OK(sr_anomaly_load(f.file, &again));
        CHECK_NEAR(again.threshold, a.threshold, 0);
        score(&f, &again, &t);
        CHECK(memcmp(s.score, t.score, sizeof s.score) == 0);
        sr_anomaly_deinit(&a);
        sr_anomaly_deinit(&again);
    }
    temp_dir_remove(f.dir);
}

TEST(test_bounds) {
    Fixture f;
    SrAnomaly a;
    SrAnomalyOptions o = options(false);
    begin(&f);
    o.memory = 1 << 20; // some patches of each image alone
    o.bank = 20;
    CHECK_OK(sr_anomaly_fit(&o, f.good, &a));
    CHECK(a.patches < 16 * 64 && a.patches >= 16);
    CHECK_INT(a.bank.n, 20);
    sr_anomaly_deinit(&a);
    o.bank = 4000;
    CHECK_FAILS(sr_anomaly_fit(&o, f.good, &a), SR_ERR_CONFIG, "lower --bank");
    sr_anomaly_deinit(&a);
    o = options(true);
    o.memory = 1 << 20;
    CHECK_FAILS(sr_anomaly_fit(&o, f.good, &a), SR_ERR_CONFIG, "PaDiM needs");
    sr_anomaly_deinit(&a);
    o = options(false);
    o.patches.layers = "flatten";
    CHECK_FAILS(sr_anomaly_fit(&o, f.good, &a), SR_ERR_CONFIG, "choose middle layers");
    sr_anomaly_deinit(&a);
    CHECK_FAILS(sr_anomaly_fit(&o, f.file, &a), SR_ERR_CONFIG, "");
    sr_anomaly_deinit(&a);
    temp_dir_remove(f.dir);
}

TEST(test_bad_files) {
    Fixture f;
    SrAnomaly a;
    SrAnomalyOptions o = options(false);
    begin(&f);
    write_image(&f, "fit/zz.png", false, 1);
    fixture_write(f.dir, "fit/zz.png", "\x89PNG\r\n\x1a\nno", 10);
    CHECK_OK(sr_anomaly_fit(&o, f.good, &a));
    CHECK_INT(a.bad, 1);
    CHECK_INT(a.images, GOOD);
    // A detector of other layers does not fit: its bank has other rows.
    o.patches.layers = "res3";
    CHECK_OK(sr_anomaly_save(&a, &o.patches, f.file));
    sr_anomaly_deinit(&a);
    CHECK_FAILS(sr_anomaly_load(f.file, &a), SR_ERR_CONFIG, "'bank' is missing or does not fit");
    sr_anomaly_deinit(&a);
    fixture_write(f.dir, "x.safetensors", "\x02\0\0\0\0\0\0\0{}", 10);
    CHECK_FAILS(sr_anomaly_load(f.file, &a), SR_ERR_CONFIG, "is no detector of defects");
    sr_anomaly_deinit(&a);
    temp_dir_remove(f.dir);
}

TEST(test_auroc) {
    const double score[4] = {1, 2, 2, 3};
    const int8_t defective[4] = {0, 0, 1, 1}, one[4] = {1, 1, 1, 1};
    double auroc;
    CHECK_OK(sr_auroc(score, defective, 4, &auroc));
    CHECK_NEAR(auroc, 3.5 / 4, 1e-12);
    CHECK_OK(sr_auroc(score, one, 4, &auroc));
    CHECK_NEAR(auroc, -1, 0);
}

SR_TESTS(anomaly, unit(test_finds_squares), unit(test_bounds), unit(test_bad_files),
         unit(test_auroc))
