// Tests pages of photos in a real browser: the filter, pages of photos, keys, and both widths.
#include "pages/photos/photo_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "tests/browser.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

enum { FIRST = 20, PHOTOS = 300, FILES = 7, SIDE = 24, ON_A_PAGE = 120 };

#define SEEN "Array.from(document.querySelectorAll('.thumbs > span')).filter(e => e.offsetParent)"
#define FOCUSED "document.activeElement"

typedef struct {
    char dir[64], page[96], url[128];
    Browser b;
} Fixture;

static void write_images(const Fixture *f) {
    uint8_t pixels[SIDE * SIDE * 3];
    size_t bytes;
    for (int i = 0; i < FILES; i++) {
        char name[32];
        fixture_noise(pixels, sizeof pixels, (uint64_t)i);
        void *png = fixture_png(pixels, SIDE, SIDE, 3, &bytes);
        snprintf(name, sizeof name, "photo%d.png", i);
        fixture_write(f->dir, name, png, bytes);
        sr_free(png);
    }
}

static void begin(Fixture *f) {
    browser_need();
    temp_dir_make(f->dir);
    snprintf(f->page, sizeof f->page, "%s/page.html", f->dir);
    snprintf(f->url, sizeof f->url, "file://%s", f->page);
    write_images(f);
    browser_start(&f->b);
}

static void end(Fixture *f) {
    browser_stop(&f->b);
    temp_dir_remove(f->dir);
}

// A list in two sections, as `outliers --all` makes it.
static void write_list(const Fixture *f) {
    static SrPhoto photo[PHOTOS];
    static char file[PHOTOS][128], caption[PHOTOS][16];
    for (int i = 0; i < PHOTOS; i++) {
        snprintf(file[i], sizeof file[i], "%s/photo%d.png", f->dir, i % FILES);
        snprintf(caption[i], sizeof caption[i], "number %d", i);
        photo[i] = (SrPhoto){file[i], caption[i], i < FIRST ? "Outliers" : "Next in the ranking"};
    }
    CHECK_OK(sr_photo_page_list(f->page, "Photos", "All of them.", photo, PHOTOS, 40));
}

// Checks that an expression has that value.
static void check_is(Fixture *f, const char *expression, const char *value) {
    char text[256];
    browser_ask(&f->b, expression, text, sizeof text);
    if (strcmp(text, value) != 0)
        fail_msg("%s is '%s', expected '%s'", expression, text, value);
}

static void check_seen(Fixture *f, int n, const char *first) {
    char text[32];
    snprintf(text, sizeof text, "%d", n);
    check_is(f, SEEN ".length", text);
    check_is(f, SEEN "[0].innerText.trim()", first);
}

// Pages of 120 photos follow each other; headings without photos are hidden.
TEST(test_paging) {
    Fixture f;
    begin(&f);
    write_list(&f);
    for (int width = 390; width <= 1280; width += 890) {
        browser_open(&f.b, f.url, width, true);
        check_seen(&f, ON_A_PAGE, "number 0");
        check_is(&f, "document.querySelector('#photo-tools span').innerText",
                 "1 to 120 of 300 photos");
        check_is(&f, "document.querySelectorAll('section:not([hidden]) h2').length", "2");
        browser_click(&f.b, "#photo-tools button:last-of-type");
        check_seen(&f, ON_A_PAGE, "number 120");
        check_is(&f, "document.querySelector('section:not([hidden]) h2').innerText",
                 "Next in the ranking");
        browser_click(&f.b, "#photo-tools button:last-of-type");
        check_seen(&f, PHOTOS - 2 * ON_A_PAGE, "number 240");
        check_is(&f, "document.querySelector('#photo-tools button:last-of-type').disabled", "true");
        browser_click(&f.b, "#photo-tools button");
        check_seen(&f, ON_A_PAGE, "number 120");
        check_is(&f, "document.documentElement.scrollWidth == innerWidth", "true");
        check_is(&f, "document.body.innerText.includes('40 more are not shown')", "true");
        CHECK_STR(f.b.errors, "");
    }
    end(&f);
}

// Every word of the filter must fit: to a heading, a caption or a path.
TEST(test_filter) {
    Fixture f;
    begin(&f);
    write_list(&f);
    browser_open(&f.b, f.url, 1280, true);
    browser_key(&f.b, "/");
    check_is(&f, FOCUSED ".type", "search");
    browser_type(&f.b, "outliers");
    check_seen(&f, FIRST, "number 0");
    check_is(&f, "document.querySelector('#photo-tools span').innerText", "20 photos");
    browser_type(&f.b, " PHOTO3.png");
    check_seen(&f, 3, "number 3"); // 3, 10, 17
    browser_type(&f.b, " nowhere");
    check_is(&f, SEEN ".length", "0");
    check_is(&f, "document.querySelector('#photo-tools span').innerText", "nothing fits");
    browser_key(&f.b, "Escape");
    check_seen(&f, ON_A_PAGE, "number 0");
    CHECK_STR(f.b.errors, "");
    end(&f);
}

// Arrow keys walk over photos and on to the next page; the words of the photo appear.
TEST(test_keys) {
    Fixture f;
    begin(&f);
    write_list(&f);
    browser_open(&f.b, f.url, 1280, true);
    check_is(&f, "document.querySelectorAll('.t[tabindex=\"0\"]').length", "1");
    browser_ask(&f.b, "document.querySelector('.t[tabindex=\"0\"]').focus()", (char[32]){0}, 32);
    browser_key(&f.b, "ArrowRight");
    check_is(&f, FOCUSED ".parentNode.innerText.trim()", "number 1");
    CHECK(browser_becomes(&f.b, "document.getElementById('tip').innerText.includes('photo1.png')",
                          5));
    browser_key(&f.b, "ArrowDown"); // the row below, at the same place
    check_is(&f,
             "Math.abs(" FOCUSED ".getBoundingClientRect().left - "
             "document.querySelectorAll('.t')[1].getBoundingClientRect().left) < 2 && " FOCUSED
             " != document.querySelectorAll('.t')[1]",
             "true");
    browser_key(&f.b, "ArrowUp");
    check_is(&f, FOCUSED ".parentNode.innerText.trim()", "number 1");
    browser_key(&f.b, "End");
    check_is(&f, FOCUSED ".parentNode.innerText.trim()", "number 119");
    browser_key(&f.b, "ArrowRight");
    check_is(&f, FOCUSED ".parentNode.innerText.trim()", "number 120");
    browser_key(&f.b, "PageDown");
    check_is(&f, FOCUSED ".parentNode.innerText.trim()", "number 240");
    browser_key(&f.b, "PageUp");
    check_is(&f, FOCUSED ".parentNode.innerText.trim()", "number 239");
    browser_key(&f.b, "Home");
    browser_key(&f.b, "ArrowLeft");
    check_is(&f, FOCUSED ".parentNode.innerText.trim()", "number 119");
    CHECK_STR(f.b.errors, "");
    end(&f);
}

// Groups of copies are shown or hidden as a whole, and a page without script shows everything.
TEST(test_groups) {
    SrText lines = SR_TEXT_INIT;
    Fixture f;
    begin(&f);
    for (int g = 0; g < 130; g++)
        sr_text_printf(&lines,
                       "{\"files\": [\"%s/photo%d.png\", \"%s/photo%d.png\"], \"similarity\": [1, "
                       "0.9]}\n",
                       f.dir, g % FILES, f.dir, g == 128 ? 0 : 1 + (g + 1) % (FILES - 1));
    CHECK_OK(sr_photo_page_duplicates(&(SrPhotoFiles){.page = f.page}, &lines));
    sr_text_deinit(&lines);
    browser_open(&f.b, f.url, 390, true);
    check_seen(&f, 2 * ON_A_PAGE, "");
    check_is(&f, "document.querySelector('#photo-tools span').innerText", "1 to 120 of 130 groups");
    browser_key(&f.b, "/");
    browser_type(&f.b, "group 129:");
    check_is(&f, "document.querySelector('#photo-tools span').innerText", "nothing fits");
    browser_key(&f.b, "Escape");
    browser_type(&f.b, "group 129");
    check_is(&f, SEEN ".length", "2");
    check_is(&f, "document.documentElement.scrollWidth == innerWidth", "true");
    browser_open(&f.b, f.url, 390, false);
    check_is(&f, SEEN ".length", "260");
    CHECK_STR(f.b.errors, "");
    end(&f);
}

// Lines that memory was short for replace no older page.
TEST(test_part_of_the_lines) {
    char dir[64], page[128], *text;
    size_t bytes;
    SrText lines = {.failed = true};
    temp_dir_make(dir);
    snprintf(page, sizeof page, "%s/page.html", dir);
    CHECK_OK(sr_file_write(page, "older", 5));
    CHECK_INT(sr_photo_page_duplicates(&(SrPhotoFiles){.page = page}, &lines), SR_ERR_MEMORY);
    CHECK_OK(sr_file_read(page, 100, &text, &bytes));
    CHECK_STR(text, "older");
    sr_free(text);
    temp_dir_remove(dir);
}

SR_TESTS(photo_page, unit(test_paging), unit(test_filter), unit(test_keys), unit(test_groups),
         unit(test_part_of_the_lines))
