// sslrun web shows runs, and stops and resumes them for readers with the token. Other suites hold
// strangers (test_web_requests.c), changing pages (test_web_events.c) and a browser
// (test_web_browser.c).
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "tests/check.h"
#include "tests/cli/web.h"
#include "tests/data/fixture.h"
#include "tests/program.h"

TEST(test_pages) {
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
    web_has("</html>"); // the page is whole, with the script that renews it
    web_has("<script");
    web_has("Content-Security-Policy: default-src 'none'");
    CHECK(!strstr(web_answer, "<button>")); // no token was given
    CHECK_INT(web_get(&w, "/?token=" WEB_TOKEN), 200);
    web_has("<button>continue</button>");
    CHECK_INT(web_get(&w, "/run?id=deep%2Fbelow%2Fone"), 200);
    web_has("<path class=\"curve\"");
    web_has("</html>");
    CHECK_INT(web_get(&w, "/report?id=%3Cb%3Etwo"), 200);
    web_has("the report");
    CHECK_INT(web_get(&w, "/report?id=deep%2Fbelow%2Fone"), 404);
    web_end(&w);
}

// A run that has trained all its epochs has nothing to continue.
TEST(test_buttons) {
    static const char config[] = "config:\n  OPTIMIZER:\n    num_epochs: 1\n";
    static const char epoch[] = "{\"iteration\": 9, \"train_phase_idx\": 0, \"train_loss\": 1.5}\n";
    Web w;
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "stopped", 3, 1.25);
    web_write_run(w.runs, "whole", 3, 1.25);
    fixture_write(w.runs, "whole/train_config.yaml", config, strlen(config));
    fixture_write(w.runs, "whole/metrics.json", epoch, strlen(epoch));
    CHECK_INT(web_get(&w, "/run?id=stopped&token=" WEB_TOKEN), 200);
    web_has("<button>continue</button>");
    CHECK_INT(web_get(&w, "/run?id=whole&token=" WEB_TOKEN), 200);
    web_has(">finished<");
    CHECK(!strstr(web_answer, "<button>"));
    web_end(&w);
}

// Seeds of one sweep are one row with their mean, which holds the rows of the seeds.
TEST(test_sweep_is_one_row) {
    Web w;
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "photos/seed0", 3, 1);
    web_write_run(w.runs, "photos/seed1", 3, 2);
    web_write_run(w.runs, "photos/seed12", 3, 3);
    web_write_run(w.runs, "photos/seedling", 3, 9);
    web_write_run(w.runs, "seed3", 3, 7); // alone
    CHECK_INT(web_get(&w, "/?token=" WEB_TOKEN), 200);
    web_has("<li class=\"run sweep\" data-state=\"stopped\" data-knn=\"nan\" "
            "data-minusloss=\"-2.000000\" data-name=\"photos\">");
    web_has("loss, mean of 3 &plusmn; 1.0000</small>");
    web_has("<details><summary>3 seeds</summary>");
    web_has("5 runs");
    const char *sweep = strstr(web_answer, "run sweep"), *end = strstr(web_answer, "</details>");
    const char *seed = strstr(web_answer, "data-name=\"photos/seed12\"");
    CHECK(sweep < seed && seed < end);
    CHECK(strstr(web_answer, "data-name=\"photos/seedling\"") > end);
    CHECK(!strstr(end, "run sweep"));
    web_end(&w);
}

// A report may come from a stranger: it is shown in a sandbox, and neither its address nor a link
// to it contains the token.
TEST(test_report_without_token) {
    Web w;
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "one", 3, 1.25);
    fixture_write(w.runs, "one/report.html", "the report", 10);
    CHECK_INT(web_get(&w, "/run?id=one&token=" WEB_TOKEN), 200);
    web_has("href=\"/report?id=one\"");
    CHECK(!strstr(web_answer, "sandbox"));
    CHECK_INT(web_get(&w, "/report?id=one"), 200);
    web_has("Content-Security-Policy: sandbox allow-scripts; default-src 'none';");
    web_has("Referrer-Policy: no-referrer");
    web_has("X-Frame-Options: DENY");
    CHECK_INT(web_get(&w, "/report?id=one&token=" WEB_TOKEN), 303);
    web_has("Location: /report?id=one\r\n");
    web_end(&w);
}

// Other machines can read nothing without the token. A report opens by a cookie that scripts
// cannot read.
TEST(test_readers_from_elsewhere) {
    Web w;
    char cookie[64], request[256];
    web_need();
    web_begin_at(&w, "127.0.0.2");
    web_write_run(w.runs, "one", 3, 1.25);
    fixture_write(w.runs, "one/report.html", "the report", 10);
    CHECK_INT(web_get(&w, "/"), 403);
    CHECK_INT(web_get(&w, "/report?id=one"), 403);
    CHECK_INT(web_get(&w, "/run?id=one&token=" WEB_TOKEN), 200);
    const char *set = strstr(web_answer, "Set-Cookie: ");
    CHECK(set && strstr(set, "; Path=/report; HttpOnly; SameSite=Strict\r\n"));
    CHECK(sscanf(set, "Set-Cookie: %63[^;]", cookie) == 1);
    const char *const paths[] = {"/report?id=one", "/report?id=one&token=" WEB_TOKEN, "/",
                                 "/stop?id=one"};
    const int answers[] = {200, 303, 403, 403};
    for (int i = 0; i < SR_COUNT(paths); i++) {
        snprintf(request, sizeof request,
                 "%s %s HTTP/1.1\r\nHost: any\r\nCookie: %s\r\nConnection: close\r\n\r\n",
                 i == 3 ? "POST" : "GET", paths[i], cookie);
        CHECK_INT(web_send(&w, request), answers[i]);
    }
    CHECK_INT(web_send(&w, "GET /report?id=one HTTP/1.1\r\nHost: any\r\nConnection: close\r\n"
                           "Cookie: sslrun_reports=00000000000000000000000000000000\r\n\r\n"),
              403);
    web_end(&w);
}

// A command for several processes is not resumed with one, and a name that a configuration would
// replace is refused.
TEST(test_runs_that_cannot_be_continued) {
    Web w;
    web_need();
    web_begin(&w);
    static const char ranks[] =
        "{\"words\": [\"sslrun\", \"x.yaml\"], \"folder\": \"/\", \"ranks\": 2}";
    static const char one[] = "{\"words\": [\"sslrun\", \"x.yaml\"], \"folder\": \"/\"}";
    web_write_run(w.runs, "ranks", 3, 1.25);
    web_write_run(w.runs, "${env:HOME}", 3, 1.25);
    fixture_write(w.runs, "ranks/run.json", ranks, sizeof ranks - 1);
    fixture_write(w.runs, "${env:HOME}/run.json", one, sizeof one - 1);
    CHECK_INT(web_post(&w, "/continue?id=ranks&token=" WEB_TOKEN, ""), 409);
    web_has("2 processes trained this run");
    CHECK_INT(web_post(&w, "/continue?id=$%7Benv:HOME%7D&token=" WEB_TOKEN, ""), 409);
    web_has("contains ${");
    web_end(&w);
}

// The name holds characters that could end a quoted string.
#define LONG "lo%22ng%5C"

// A run is stopped from the page, which saves its state, and resumed in the same folder.
TEST(test_stop_and_continue) {
    Web w;
    char key[160], folder[160], log[1 << 16] = "";
    web_need();
    web_begin(&w);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s/lo\"ng\\", w.runs);
    pid_t run =
        program_start(w.dir, 1,
                      (const char *const[]){"tests/cli/tiny.yaml", key, "OPTIMIZER.num_epochs=400",
                                            "LOG_FREQUENCY=1", NULL});
    CHECK(web_becomes(&w, "<button>stop</button>"));
    snprintf(folder, sizeof folder, "%s/lo\"ng\\", w.runs);
    for (int i = 0; i < 600 && !strstr(log, "\"iter\": 3");
         i++) { // until there is something to resume
        program_read(folder, "stdout.json", log, sizeof log);
        program_sleep_ms(100);
    }
    // The run is still training.
    CHECK_INT(web_post(&w, "/continue?id=" LONG "&token=" WEB_TOKEN, ""), 409);
    CHECK_INT(web_post(&w, "/stop?id=" LONG "&token=" WEB_TOKEN, ""), 303);
    CHECK_INT(program_wait(run, NULL), 143);
    CHECK(web_becomes(&w, "<button>continue</button>"));
    CHECK_INT(web_post(&w, "/continue?id=" LONG "&token=" WEB_TOKEN, ""), 303);
    log[0] = '\0';
    for (int i = 0; i < 600 && !strstr(log, "resuming from "); i++) {
        program_read(folder, "log.txt", log, sizeof log);
        program_sleep_ms(100);
    }
    CHECK(strstr(log, "resuming from "));
    CHECK_INT(web_post(&w, "/stop?id=" LONG "&token=" WEB_TOKEN, ""), 303);
    CHECK(web_becomes(&w, "<button>continue</button>"));
    web_end(&w);
}

// A run whose files cannot be read stays in the list, with the reason; the others are shown.
TEST(test_unreadable_run) {
    Web w;
    char path[160];
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "good", 3, 1.5);
    web_write_run(w.runs, "sick", 3, 1.5);
    snprintf(path, sizeof path, "%s/sick/run.json", w.runs);
    CHECK_OK(sr_file_write(path, "{}", 2));
    CHECK(truncate(path, 1 << 22) == 0); // more than is read
    CHECK_INT(web_get(&w, "/"), 200);
    web_has(">good</a>");
    web_has("sick</h2><p>cannot be read: ");
    web_end(&w);
}

SR_TESTS(web_verb, unit(test_unreadable_run), unit(test_buttons), unit(test_pages),
         unit(test_sweep_is_one_row), unit(test_report_without_token),
         unit(test_readers_from_elsewhere), unit(test_runs_that_cannot_be_continued),
         unit(test_stop_and_continue))
