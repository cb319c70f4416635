// Tests pages of sslrun web in a real browser.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/browser.h"
#include "tests/check.h"
#include "tests/cli/web.h"
#include "tests/data/fixture.h"
#include "tests/program.h"

static void begin(Web *w, Browser *b) {
    web_need();
    browser_need();
    web_begin(w);
    browser_start(b);
}

// Fails the test if a page reported an error.
static void end(Web *w, Browser *b) {
    CHECK_STR(b->errors, "");
    browser_stop(b);
    web_end(w);
}

static void write_curve(const Web *w) {
    char lines[1024] = "";
    for (int i = 0; i < 4; i++) {
        size_t used = strlen(lines);
        snprintf(lines + used, sizeof lines - used, WEB_RUN_LINE, i, 2.0 - i / 4.0);
    }
    fixture_write(w->runs, "one/stdout.json", lines, strlen(lines));
}

static void open_index(Browser *b, const Web *w, int width, bool script) {
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/?token=" WEB_TOKEN, w->port);
    browser_open(b, url, width, script);
}

// Checks the pages at one width: wide tables scroll inside their frame, the page itself never
// does.
static void look_at_pages(Browser *b, const Web *w, int width, bool script) {
    char text[32], url[128];
    open_index(b, w, width, script);
    CHECK(browser_becomes(b, "document.querySelector('button').innerText == 'continue'", 20));
    // A script makes the element, some time after the page has come.
    CHECK(browser_becomes(b,
                          script ? "document.querySelectorAll('#tip').length == 1"
                                 : "document.querySelectorAll('#tip').length == 0",
                          20));
    browser_ask(b, "document.documentElement.scrollWidth == innerWidth", text, sizeof text);
    CHECK_STR(text, "true");
    snprintf(url, sizeof url, "http://127.0.0.1:%d/run?id=one", w->port);
    browser_open(b, url, width, script);
    CHECK(browser_becomes(
        b, "document.querySelector('path.curve').getBoundingClientRect().width > 100", 20));
    browser_ask(b, "document.documentElement.scrollWidth == innerWidth", text, sizeof text);
    CHECK_STR(text, "true");
    if (*b->errors)
        fail_msg("at %d pixels: %s", width, b->errors);
}

// The pages work at two widths, with and without script. With script changes appear at once,
// without it the page reloads itself.
TEST(test_pages_in_a_browser) {
    static const int widths[] = {400, 1600};
    Web w;
    Browser b;
    begin(&w, &b);
    write_curve(&w);
    for (int i = 0; i < 2 * SR_COUNT(widths); i++)
        look_at_pages(&b, &w, widths[i / 2], i % 2);
    for (int script = 0; script < 2; script++) {
        web_write_run(w.runs, "one", 3, 1.25);
        open_index(&b, &w, 800, script);
        CHECK(browser_becomes(&b, "document.body.innerText.includes('1.2500')", 20));
        browser_ask(&b, "window.before = 1", web_answer, sizeof web_answer);
        web_write_run(w.runs, "one", 4, 77.5 + script);
        CHECK(browser_becomes(&b,
                              script ? "document.body.innerText.includes('78.5000')"
                                     : "document.body.innerText.includes('77.5000')",
                              20));
        browser_ask(&b, "window.before", web_answer, sizeof web_answer);
        CHECK_STR(web_answer, script ? "1" : "undefined");
        CHECK_STR(b.errors, "");
    }
    end(&w, &b);
}

// The row of a sweep opens by its summary and stays open when new figures arrive; the filter and
// the order of the list reach it.
TEST(test_sweep_in_a_browser) {
    static const char first[] = "document.querySelector('.run').dataset.name";
    char text[64];
    Web w;
    Browser b;
    begin(&w, &b);
    web_write_run(w.runs, "photos/seed0", 3, 1);
    web_write_run(w.runs, "photos/seed1", 3, 2);
    web_write_run(w.runs, "alone", 3, 9);
    open_index(&b, &w, 390, true);
    // The click must not come before all rows have their place.
    CHECK(browser_becomes(&b,
                          "document.querySelector('.sweep summary') && "
                          "document.querySelector('.run').dataset.name == 'alone'",
                          20));
    browser_click(&b, ".sweep summary");
    CHECK(browser_becomes(&b, "document.querySelector('details').open", 20));
    web_write_run(w.runs, "photos/seed1", 4, 3);
    CHECK(browser_becomes(&b, "document.body.innerText.includes('2.0000')", 20));
    CHECK(browser_becomes(&b, "document.querySelector('details').open", 20));
    browser_ask(&b, "document.documentElement.scrollWidth == innerWidth", text, sizeof text);
    CHECK_STR(text, "true");
    browser_ask(&b, first, text, sizeof text);
    CHECK_STR(text, "alone");
    browser_ask(&b,
                "(s => { s.value = 'lowest loss first'; s.dispatchEvent(new Event('change')); })"
                "(document.querySelector('select'))",
                text, sizeof text);
    browser_ask(&b, first, text, sizeof text);
    CHECK_STR(text, "photos");
    browser_ask(&b,
                "(i => { i.value = 'alone'; i.dispatchEvent(new Event('input')); })"
                "(document.querySelector('input'))",
                text, sizeof text);
    CHECK(browser_becomes(&b, "document.querySelector('.sweep').hidden", 20));
    end(&w, &b);
}

// New figures wait while a button is held, so that it is clicked when it is released, and the focus
// stays on the button of the same run.
TEST(test_figures_wait_for_a_click) {
    static const char count[] =
        "(() => { window.seen = window.clicks = 0;"
        "addEventListener('submit', e => { e.preventDefault(); window.clicks++; });"
        "new EventSource(document.getElementById('live').dataset.events).onmessage ="
        "() => window.seen++; })()";
    char text[64];
    Web w;
    Browser b;
    begin(&w, &b);
    web_write_run(w.runs, "one", 3, 1.25);
    web_write_run(w.runs, "two", 3, 1.5);
    open_index(&b, &w, 800, true);
    browser_ask(&b, count, text, sizeof text);
    CHECK(browser_becomes(&b, "window.seen == 1", 20));
    browser_press(&b, "[data-name=two] button");
    web_write_run(w.runs, "one", 4, 77.5);
    CHECK(browser_becomes(&b, "window.seen == 2", 20));
    browser_ask(&b, "document.body.innerText.includes('77.5000')", text, sizeof text);
    CHECK_STR(text, "false");
    browser_release(&b);
    CHECK(browser_becomes(&b, "document.body.innerText.includes('77.5000')", 20));
    browser_ask(&b, "window.clicks", text, sizeof text);
    CHECK_STR(text, "1");
    browser_ask(&b, "document.activeElement.closest('[data-name]').dataset.name", text,
                sizeof text);
    CHECK_STR(text, "two");
    end(&w, &b);
}

// Saves a picture for the documents into the folder SSLRUN_PICTURES, if that is set.
static void keep_picture(Browser *b, const Web *w) {
    const char *folder = getenv("SSLRUN_PICTURES");
    char path[512], url[128];
    if (!folder)
        return;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/run?id=long&token=" WEB_TOKEN, w->port);
    browser_open(b, url, 1100, true);
    CHECK(browser_becomes(b, "document.getElementById('live').dataset.updates > 3", 60));
    snprintf(path, sizeof path, "%s/web.png", folder);
    browser_picture(b, path);
}

// Figures of a running training arrive, and the buttons stop and resume it.
TEST(test_training_in_a_browser) {
    static const char number[] = "parseFloat(document.querySelector('.bar').nextSibling.data)";
    Web w;
    Browser b;
    char key[160], expression[256];
    begin(&w, &b);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s/long", w.runs);
    pid_t run = program_start(w.dir, 1,
                              (const char *const[]){"tests/cli/tiny.yaml", key,
                                                    "OPTIMIZER.num_epochs=400000",
                                                    "LOG_FREQUENCY=1", NULL});
    CHECK(web_becomes(&w, "<button>stop</button>"));
    open_index(&b, &w, 1600, true);
    CHECK(browser_becomes(&b, "document.querySelector('.bar')", 60));
    snprintf(expression, sizeof expression, "(window.first = window.first || %s) && %s > first",
             number, number);
    CHECK(browser_becomes(&b, expression, 60)); // epochs pass
    CHECK(browser_becomes(&b, "document.getElementById('live').dataset.updates > 1", 60));
    keep_picture(&b, &w);
    open_index(&b, &w, 1600, true);
    browser_click(&b, "button");
    CHECK(browser_becomes(&b, "document.querySelector('button').innerText == 'continue'", 60));
    CHECK_INT(program_wait(run, NULL), 143);
    browser_click(&b, "button");
    CHECK(browser_becomes(&b, "document.querySelector('button').innerText == 'stop'", 60));
    snprintf(expression, sizeof expression, "(window.first = window.first || %s) && %s > first",
             number, number);
    CHECK(browser_becomes(&b, expression, 60));
    browser_click(&b, "button");
    CHECK(browser_becomes(&b, "document.querySelector('button').innerText == 'continue'", 60));
    end(&w, &b);
}

SR_TESTS(web_browser, unit(test_pages_in_a_browser), unit(test_sweep_in_a_browser),
         unit(test_figures_wait_for_a_click), unit(test_training_in_a_browser))
