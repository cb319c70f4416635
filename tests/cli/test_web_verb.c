// sslrun web: shows runs, stops and continues them for whom the token was shown to.  Strangers are test_web_requests.c's,
// readers of a page that changes test_web_events.c's, a browser test_web_browser.c's.
#include <stdio.h>

#include "tests/check.h"
#include "tests/cli/web.h"
#include "tests/data/fixture.h"
#include "tests/program.h"

static void test_pages(void **state) {
    (void)state;
    Web w;
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "deep/below/one", 3, 1.25);
    web_write_run(w.runs, "<b>two", 3, 2.5);
    fixture_write(w.runs, "<b>two/report.html", "the report", 10);
    CHECK_INT(web_get(&w, "/"), 200);
    web_has("deep/below/one");
    web_has("1.2500");
    web_has("&lt;b&gt;two");
    web_has("2 runs");
    web_has("Content-Security-Policy: default-src 'none'");
    CHECK(!strstr(web_answer, "<button>")); // no token was shown
    CHECK_INT(web_get(&w, "/?token=" WEB_TOKEN), 200);
    web_has("<button>continue</button>");
    CHECK_INT(web_get(&w, "/run?id=deep%2Fbelow%2Fone"), 200);
    web_has("<path class=\"curve\"");
    CHECK_INT(web_get(&w, "/report?id=%3Cb%3Etwo"), 200);
    web_has("the report");
    CHECK_INT(web_get(&w, "/report?id=deep%2Fbelow%2Fone"), 404);
    web_end(&w);
}

// A run is stopped from the page, its state saved, and continued into the same folder.
static void test_stop_and_continue(void **state) {
    (void)state;
    Web w;
    char key[160], folder[160], log[1 << 16] = "";
    web_need();
    web_begin(&w);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s/long", w.runs);
    pid_t run =
        program_start(w.dir, 1,
                      (const char *const[]){"tests/cli/tiny.yaml", key, "OPTIMIZER.num_epochs=400",
                                            "LOG_FREQUENCY=1", NULL});
    CHECK(web_becomes(&w, "<button>stop</button>"));
    snprintf(folder, sizeof folder, "%s/long", w.runs);
    for (int i = 0; i < 600 && !strstr(log, "\"iter\": 3");
         i++) { // there is something to go on from
        program_read(folder, "stdout.json", log, sizeof log);
        program_sleep_ms(100);
    }
    CHECK_INT(web_post(&w, "/continue", "id=long&token=" WEB_TOKEN), 409); // it trains already
    CHECK_INT(web_post(&w, "/stop", "id=long&token=" WEB_TOKEN), 303);
    CHECK_INT(program_wait(run, NULL), 143);
    CHECK(web_becomes(&w, "<button>continue</button>"));
    CHECK_INT(web_post(&w, "/continue", "id=long&token=" WEB_TOKEN), 303);
    log[0] = '\0';
    for (int i = 0; i < 600 && !strstr(log, "going on from "); i++) {
        program_read(folder, "log.txt", log, sizeof log);
        program_sleep_ms(100);
    }
    CHECK(strstr(log, "going on from "));
    CHECK_INT(web_post(&w, "/stop", "id=long&token=" WEB_TOKEN), 303);
    CHECK(web_becomes(&w, "<button>continue</button>"));
    web_end(&w);
}

SR_TESTS(web_verb, unit(test_pages), unit(test_stop_and_continue))
