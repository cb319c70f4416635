// Tests that every planted fault of a folder is found under its name, and nothing else.
#include "folder/tidy.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "folder/tidy_lists.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

enum { SIDE = 64, GOOD = 24 };

typedef struct {
    char dir[64], images[96];
} Fixture;

static void save(const Fixture *f, const char *name, const void *bytes, size_t n) {
    char path[160];
    snprintf(path, sizeof path, "images/%s", name);
    fixture_write(f->dir, path, bytes, n);
}

static void save_pixels(const Fixture *f, const char *name, const uint8_t *rgb, int h, int w) {
    SrText out = SR_TEXT_INIT;
    if (strstr(name, ".jpg"))
        sr_jpeg_encode(rgb, h, w, 95, &out);
    else
        sr_png_encode(rgb, h, w, &out);
    save(f, name, out.s, out.len);
    sr_text_deinit(&out);
}

// Squares of random colours: detail, colour and light, and another picture for each seed.
static void draw(uint8_t *rgb, int h, int w, int seed) {
    uint8_t noise[256 * 3];
    fixture_noise(noise, sizeof noise, (uint64_t)seed);
    for (int i = 0; i < h * w; i++)
        memcpy(rgb + 3 * i, noise + 3 * ((i / w * 16 / h) * 16 + i % w * 16 / w), 3);
}

static void begin(Fixture *f) {
    uint8_t rgb[SIDE * SIDE * 3];
    temp_dir_make(f->dir);
    snprintf(f->images, sizeof f->images, "%s/images", f->dir);
    for (int i = 0; i < GOOD; i++) {
        char name[32];
        snprintf(name, sizeof name, "good-%02d.png", i);
        draw(rgb, SIDE, SIDE, i);
        save_pixels(f, name, rgb, SIDE, SIDE);
    }
}

static void look(const Fixture *f, SrImageSet *set, SrTidy *t) {
    CHECK_OK(sr_image_set_open(f->images, set));
    CHECK_OK(sr_tidy(set, t));
}

// Returns the finding of a file under an issue; NULL: none.
static const SrTidyFinding *find(const SrImageSet *set, const SrTidy *t, SrTidyIssue issue,
                                 const char *name) {
    SrImagePool *pool;
    const SrTidyFinding *found = NULL;
    CHECK_OK(sr_image_pool_new(&pool));
    for (int64_t i = 0; i < t->n_findings; i++) {
        const char *path;
        CHECK_OK(sr_image_set_name(set, t->finding[i].file, pool, &path));
        if (t->finding[i].issue == issue && sr_text_ends(path, name))
            found = &t->finding[i];
    }
    sr_image_pool_free(pool);
    return found;
}

static void check_only(const SrImageSet *set, const SrTidy *t, SrTidyIssue issue,
                       const char *name) {
    if (!find(set, t, issue, name))
        fail_msg("%s is not %s", name, sr_tidy_name(issue));
    for (int i = 0; i < SR_TIDY_ISSUES; i++)
        if (i != (int)issue && find(set, t, (SrTidyIssue)i, name))
            fail_msg("%s is also %s", name, sr_tidy_name((SrTidyIssue)i));
}

TEST(test_good_pictures) {
    Fixture f;
    SrImageSet set;
    SrTidy t;
    begin(&f);
    look(&f, &set, &t);
    CHECK_INT(t.n, GOOD);
    CHECK_INT(t.n_findings, 0);
    sr_tidy_deinit(&t);
    sr_image_set_close(&set);
    temp_dir_remove(f.dir);
}

// A JPEG with an EXIF block that asks to turn it.
static void save_rotated(const Fixture *f, const uint8_t *rgb, const char *name, bool big) {
    static const uint8_t little[] =
        "\xff\xe1\x00\x22"
        "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    static const uint8_t other[] =
        "\xff\xe1\x00\x22"
        "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    SrText jpeg = SR_TEXT_INIT, out = SR_TEXT_INIT;
    sr_jpeg_encode(rgb, SIDE, SIDE, 95, &jpeg);
    sr_text_addn(&out, jpeg.s, 2);
    sr_text_addn(&out, (const char *)(big ? other : little), 36);
    sr_text_addn(&out, jpeg.s + 2, jpeg.len - 2);
    save(f, name, out.s, out.len);
    sr_text_deinit(&jpeg);
    sr_text_deinit(&out);
}

// Frames of one camera are copies of the first of them, and so is a picture that differs in few
// bits of its hash from all of them.
TEST(test_frames) {
    enum { FRAMES = 40 };
    Fixture f;
    SrImageSet set;
    SrTidy t;
    uint8_t rgb[SIDE * SIDE * 3];
    begin(&f);
    draw(rgb, SIDE, SIDE, 200);
    save_pixels(&f, "zz-first.png", rgb, SIDE, SIDE);
    for (int i = 0; i < FRAMES; i++) {
        char name[32];
        rgb[i] ^= 1;
        snprintf(name, sizeof name, "zz-frame-%02d.png", i);
        save_pixels(&f, name, rgb, SIDE, SIDE);
    }
    save_pixels(&f, "zz-re-encoded.jpg", rgb, SIDE, SIDE);
    look(&f, &set, &t);
    CHECK_INT(t.count[SR_TIDY_NEAR_COPY], FRAMES + 1);
    const SrTidyFinding *last = find(&set, &t, SR_TIDY_NEAR_COPY, "zz-re-encoded.jpg");
    for (int i = 0; i < FRAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "zz-frame-%02d.png", i);
        const SrTidyFinding *one = find(&set, &t, SR_TIDY_NEAR_COPY, name);
        CHECK(one && last && one->other == last->other && one->value == 0);
    }
    CHECK(!find(&set, &t, SR_TIDY_NEAR_COPY, "zz-first.png"));
    sr_tidy_deinit(&t);
    sr_image_set_close(&set);
    temp_dir_remove(f.dir);
}

TEST(test_faults_of_files) {
    Fixture f;
    SrImageSet set;
    SrTidy t;
    uint8_t rgb[SIDE * SIDE * 3];
    SrText jpeg = SR_TEXT_INIT;
    begin(&f);
    draw(rgb, SIDE, SIDE, 100);
    sr_jpeg_encode(rgb, SIDE, SIDE, 95, &jpeg);
    save(&f, "named.png", jpeg.s, jpeg.len);
    jpeg.len = 0;
    draw(rgb, SIDE, SIDE, 101);
    sr_jpeg_encode(rgb, SIDE, SIDE, 95, &jpeg);
    save(&f, "cut.jpg", jpeg.s, jpeg.len * 3 / 4);
    sr_text_deinit(&jpeg);
    save(&f, "text.jpg", "hello", 5);
    save(&f, "empty.png", "", 0);
    draw(rgb, SIDE, SIDE, 102);
    save_rotated(&f, rgb, "turned.jpg", false);
    draw(rgb, SIDE, SIDE, 103);
    save_rotated(&f, rgb, "turned-too.jpg", true);
    draw(rgb, SIDE, SIDE, 0);
    save_pixels(&f, "z-same.png", rgb, SIDE, SIDE);
    SrText png = SR_TEXT_INIT;
    sr_png_encode(rgb, SIDE, SIDE, &png);
    sr_text_addn(&png, "more", 4); // the same pixels in other bytes
    save(&f, "z-pixels.png", png.s, png.len);
    sr_text_deinit(&png);
    draw(rgb, SIDE, SIDE, 3);
    save_pixels(&f, "z-near.jpg", rgb, SIDE, SIDE);
    look(&f, &set, &t);
    check_only(&set, &t, SR_TIDY_EXTENSION, "named.png");
    check_only(&set, &t, SR_TIDY_UNREADABLE, "cut.jpg");
    check_only(&set, &t, SR_TIDY_UNREADABLE, "text.jpg");
    check_only(&set, &t, SR_TIDY_UNREADABLE, "empty.png");
    CHECK(t.reasons.n == t.count[SR_TIDY_UNREADABLE]);
    check_only(&set, &t, SR_TIDY_ROTATED, "turned.jpg");
    check_only(&set, &t, SR_TIDY_ROTATED, "turned-too.jpg");
    CHECK_NEAR(find(&set, &t, SR_TIDY_ROTATED, "turned-too.jpg")->value, 6, 0);
    check_only(&set, &t, SR_TIDY_SAME_FILE, "z-same.png");
    check_only(&set, &t, SR_TIDY_SAME_PIXELS, "z-pixels.png");
    check_only(&set, &t, SR_TIDY_NEAR_COPY, "z-near.jpg");
    sr_tidy_deinit(&t);
    sr_image_set_close(&set);
    temp_dir_remove(f.dir);
}

TEST(test_odd_pictures) {
    Fixture f;
    SrImageSet set;
    SrTidy t;
    enum { LARGE = 1024 };
    uint8_t *rgb = sr_alloc(LARGE * LARGE * 3);
    begin(&f);
    draw(rgb, SIDE, SIDE, 200);
    for (int i = 0; i < SIDE * SIDE * 3; i++)
        rgb[i] /= 4;
    save_pixels(&f, "dark.png", rgb, SIDE, SIDE);
    draw(rgb, SIDE, SIDE, 201);
    for (int i = 0; i < SIDE * SIDE * 3; i++)
        rgb[i] = (uint8_t)(248 + rgb[i] % 8);
    save_pixels(&f, "bright.png", rgb, SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++) { // a slope has levels and no detail
        rgb[3 * i] = (uint8_t)(40 + i % SIDE * 3);
        rgb[3 * i + 1] = (uint8_t)(60 + i / SIDE * 2);
        rgb[3 * i + 2] = (uint8_t)(200 - i % SIDE);
    }
    save_pixels(&f, "blurry.png", rgb, SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE * 3; i++)
        rgb[i] = (uint8_t)(i % 3 ? 100 : 140);
    save_pixels(&f, "flat.png", rgb, SIDE, SIDE);
    draw(rgb, SIDE, SIDE, 204);
    for (int i = 0; i < SIDE * SIDE; i++)
        rgb[3 * i + 1] = rgb[3 * i + 2] = rgb[3 * i];
    save_pixels(&f, "grey.png", rgb, SIDE, SIDE);
    draw(rgb, LARGE, LARGE, 205);
    save_pixels(&f, "large.png", rgb, LARGE, LARGE);
    draw(rgb, 32, 128, 206);
    save_pixels(&f, "wide.png", rgb, 32, 128);
    look(&f, &set, &t);
    check_only(&set, &t, SR_TIDY_DARK, "dark.png");
    CHECK(find(&set, &t, SR_TIDY_BRIGHT, "bright.png"));
    check_only(&set, &t, SR_TIDY_BLURRY, "blurry.png");
    CHECK(find(&set, &t, SR_TIDY_LOW_INFORMATION, "flat.png"));
    check_only(&set, &t, SR_TIDY_GREY, "grey.png");
    check_only(&set, &t, SR_TIDY_ODD_SIZE, "large.png");
    check_only(&set, &t, SR_TIDY_ODD_ASPECT, "wide.png");
    for (int64_t i = 1; i < t.n_findings; i++)
        CHECK(t.finding[i].issue >= t.finding[i - 1].issue);
    sr_tidy_deinit(&t);
    sr_image_set_close(&set);
    sr_free(rgb);
    temp_dir_remove(f.dir);
}

// The list and the script hold every file once; a script that is run moves the dropped ones.
TEST(test_lists) {
    Fixture f;
    SrImageSet set, kept;
    SrTidy t;
    char keep[128], script[128], labels[128], command[512], *text;
    size_t n;
    uint8_t rgb[SIDE * SIDE * 3];
    bool issues[SR_TIDY_ISSUES] = {[SR_TIDY_UNREADABLE] = true, [SR_TIDY_SAME_FILE] = true};
    begin(&f);
    draw(rgb, SIDE, SIDE, 0);
    save_pixels(&f, "it's a copy.png", rgb, SIDE, SIDE); // before good-00 and after in no order
    save(&f, "z bad.jpg", "hello", 5);
    draw(rgb, SIDE, SIDE, 300);
    save_pixels(&f, "two\nlines.png", rgb, SIDE, SIDE);
    snprintf(keep, sizeof keep, "%s/keep.txt", f.dir);
    snprintf(script, sizeof script, "%s/aside.sh", f.dir);
    look(&f, &set, &t);
    snprintf(labels, sizeof labels, "%s/labels.txt", f.dir);
    SrTidyLists lists = {.keep = keep, .script = script, .labels = labels};
    CHECK_OK(sr_tidy_write_lists(&set, &t, issues, &lists));
    CHECK_INT(lists.kept, GOOD);
    CHECK_INT(lists.dropped, 2);
    CHECK_INT(lists.unnamed, 1);
    sr_tidy_deinit(&t);
    sr_image_set_close(&set);
    CHECK_OK(sr_image_set_open(keep, &kept));
    CHECK_INT(kept.n, GOOD);
    sr_image_set_close(&kept);
    CHECK_OK(sr_file_read(labels, 1 << 20, &text, &n));
    CHECK_INT(n, GOOD); // empty lines: a flat folder has no classes
    sr_free(text);
    CHECK_OK(sr_file_read(script, 1 << 20, &text, &n));
    CHECK(strstr(text, "z bad.jpg") && strstr(text, "mv -n -- ") && !strstr(text, "rm "));
    sr_free(text);
    snprintf(
        command, sizeof command,
        "cd '%s' && sh aside.sh && [ $(ls images | wc -l) -ge %d ] && [ $(find tidy-aside -type f "
        "| wc -l) = 2 ]",
        f.dir, GOOD);
    CHECK_INT(system(command), 0);
    temp_dir_remove(f.dir);
}

SR_TESTS(tidy, unit(test_good_pictures), unit(test_faults_of_files), unit(test_frames),
         unit(test_odd_pictures), unit(test_lists))
