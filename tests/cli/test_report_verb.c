// Tests the page of a run: it exists after training, can be made again, and compares runs. It is
// valid HTML without any external resource.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/run_pages.h"
#include "pages/chart.h"
#include "pages/html.h"
#include "pages/runs/run_history.h"
#include "pages/runs/run_record.h"
#include "pages/runs/run_report.h"
#include "sslrun.h"
#include "tests/browser.h"
#include "tests/check.h"
#include "tests/comma_locale.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "tests/words.h"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(code ? result.err : result.out, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

static char *page_of(const char *dir, const char *name) {
    char path[160], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK_OK(sr_file_read(path, 1 << 24, &text, &n));
    CHECK(n < 5 << 20);
    return text;
}

static void has(const char *page, const char *text) {
    if (!strstr(page, text))
        fail_msg("no \"%s\" on the page", text);
}

// Fails unless every tag is closed in the right order and no address is fetched.
static void check_html(const char *page) {
    static const char *const empty[] = {"meta", "link", "br", "wbr", "!doctype", "path", "rect"};
    char open[64][16];
    int depth = 0;
    for (const char *at = strchr(page, '<'); at; at = strchr(at + 1, '<')) {
        char name[16] = "";
        bool closes = at[1] == '/', alone = false;
        if (sscanf(at + 1 + closes, "%15[a-z0-9!]", name) != 1)
            continue;
        const char *end = strchr(at, '>');
        CHECK(end);
        for (int i = 0; i < SR_COUNT(empty); i++)
            alone = alone || strcmp(name, empty[i]) == 0;
        if (closes && strcmp(name, "path") != 0) {
            if (depth == 0 || strcmp(open[depth - 1], name) != 0)
                fail_msg("</%s> closes <%s>: %.80s", name, depth ? open[depth - 1] : "", at);
            depth--;
        } else if (!alone && !closes && end[-1] != '/') {
            CHECK(depth < 64);
            snprintf(open[depth++], 16, "%s", name);
            if (strcmp(name, "script") == 0)
                at = strstr(at, "</script>") - 1;
        }
    }
    CHECK_INT(depth, 0);
    CHECK(!strstr(page, "http://") && !strstr(page, "https://"));
    CHECK(!strstr(page, "src=\"") && !strstr(page, "@import"));
}

// Returns the number that stands before a text of the page.
static int number_before(const char *page, const char *text) {
    const char *at = strstr(page, text);
    CHECK(at != NULL);
    while (at > page && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return atoi(at);
}

// Returns the sum of all cells of the table that tells which class is taken for which.
static int confused(const char *page) {
    const char *at = strstr(page, "<table class=\"confusion\">");
    CHECK(at != NULL);
    const char *end = strstr(at, "</table>");
    int sum = 0;
    while ((at = strstr(at, "rgba(")) && at < end) {
        at = strchr(at, '>') + 1;
        sum += atoi(at);
    }
    return sum;
}

TEST(test_a_run_has_a_page) {
    char dir[64], one[96], two[96], key[128], out[128];
    temp_dir_make(dir);
    snprintf(one, sizeof one, "%s/first <run>", dir);
    snprintf(two, sizeof two, "%s/second", dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR='%s'", one);
    RUN("tests/cli/tiny.yaml", key, "TEST_MODEL=True", "HOOKS.PROBE.EVERY_NUM_EPOCHS=1");
    CHECK_INT(result.code, 0);
    if (!strstr(result.err, "/report.html shows the run"))
        fail_msg("%s", result.err);
    char *page = page_of(one, SR_REPORT_FILE);
    check_html(page);
    has(page, "first &lt;run&gt; <span class=\"pale\">finished</span>");
    has(page, "3 of 3 epochs in ");
    has(page, "<strong>Training ");
    has(page, "<figcaption>Linear probe: ");
    has(page, "<th scope=\"row\">commonest class</th>");
    has(page, "<figcaption>Which layer holds it, per cent</figcaption>");
    has(page, "How good the features are");
    has(page, "Norm of the gradient");
    has(page, "Images a second");
    has(page, "Learning rate");
    has(page, "raw pixels, kNN");
    has(page, "t-SNE");
    has(page, "principal components");
    has(page, "Nearest neighbours before and after training");
    has(page, ", the best one of the run&#39;s evaluation.");
    has(page, "What the most used prototypes hold");
    has(page, "Which class is taken for which");
    CHECK_INT(confused(page), number_before(page, " images of the gallery is given a class"));
    has(page, "HOOKS.PROBE.EVERY_NUM_EPOCHS: 0 -&gt; 1");
    has(page, "tests/cli/tiny.yaml");
    has(page, "TEST_MODEL=True");
    has(page, "data:image/jpeg;base64,/9j/");
    CHECK_INT(words_count(page, "class=\"t s"), words_count(page, "role=\"img\" title="));
    CHECK_INT(words_count(page, "<i class=\"p s") + words_count(page, "<i data-s=\"s"),
              2 * 7); // two maps
    CHECK(strstr(page, "<strong>Training ") < strstr(page, "Nearest neighbours"));
    CHECK(strstr(page, "Nearest neighbours") < strstr(page, "<h2>Curves</h2>"));
    has(page, "<details><summary><h2>Curves"); // figures of the evaluation come first
    CHECK(!strstr(page, "_top1") && !strstr(page, "trained res")); // no keys of metrics.json
    sr_free(page);

    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", two);
    RUN("tests/cli/tiny.yaml", key, "OPTIMIZER.num_epochs=2", "LOSS.swav_loss.epsilon=0.04");
    CHECK_INT(result.code, 0);
    page = page_of(two, SR_REPORT_FILE);
    CHECK(!strstr(page, "t-SNE")); // TEST_MODEL=False
    has(page, "<details open><summary><h2>Curves");
    check_html(page);
    sr_free(page);
    RUN("report", two);
    expect(0, "second/report.html");
    page = page_of(two, SR_REPORT_FILE);
    has(page, "What the most used prototypes hold");
    sr_free(page);

    snprintf(out, sizeof out, "%s/both.html", dir);
    RUN("report", one, two, "--out", out);
    expect(0, "both.html");
    page = page_of(dir, "both.html");
    check_html(page);
    has(page, "<th scope=\"col\">first &lt;run&gt;</th>");
    has(page,
        "<th scope=\"row\">LOSS.<wbr>swav_<wbr>loss.<wbr>epsilon</th><td>0.05</td><td>0.04</td>");
    has(page, "minutes of training");
    has(page, "Loss over images seen");
    CHECK(!strstr(page, "Mean and spread")); // two configurations of one run each
    CHECK(!strstr(page, "probe, linear</th>") || strstr(page, "last probe, kNN</th>"));
    CHECK(!strstr(page, "the same images"));
    CHECK(!strstr(page, "<td>CHECKPOINT.DIR</td>"));
    sr_free(page);
    RUN("report", dir);
    expect(2, "is not the folder of a run");
    RUN("report");
    expect(2, "no run is named");
    temp_dir_remove(dir);
}

// Writes a run folder whose evaluation found kNN, from a configuration with a seed and a folder of
// images.
static void write_run(const char *dir, const char *name, int seed, const char *data, double knn) {
    char text[640], path[192];
    snprintf(text, sizeof text,
             "config: {SEED_VALUE: %d, DATA: {TRAIN: {DATA_PATHS: [%s]}}, OPTIMIZER: {num_epochs: "
             "1}, CHECKPOINT: {DIR: %s}}\n",
             seed, data, name);
    snprintf(path, sizeof path, "%s/train_config.yaml", name);
    fixture_write(dir, path, text, strlen(text));
    snprintf(text, sizeof text,
             "{\"iteration\": 9, \"train_phase_idx\": 0, \"train_loss\": 1.5, "
             "\"train_accuracy_list_meter\": {\"top_1\": {\"0\": 12.5}}}\n"
             "{\"labels\": true, \"test_images\": 100, \"layer\": \"res3\", "
             "\"trained_top1_k20\": %g, \"pixels_top1_k20\": 20}\n",
             knn);
    snprintf(path, sizeof path, "%s/metrics.json", name);
    fixture_write(dir, path, text, strlen(text));
}

// Runs that differ by their seeds alone are one configuration; other images are reported.
TEST(test_runs_of_several_seeds) {
    char dir[64], run[4][96], out[96], line[160];
    temp_dir_make(dir);
    for (int i = 0; i < 4; i++) {
        snprintf(run[i], sizeof run[i], "%s/run%d", dir, i);
        snprintf(line, sizeof line, "run%d", i);
        write_run(dir, line, i, i < 3 ? "photos" : "others", 50 + 2 * i);
    }
    snprintf(out, sizeof out, "%s/all.html", dir);
    RUN("report", run[0], run[1], run[2], "--out", out);
    CHECK_INT(result.code, 0);
    char *page = page_of(dir, "all.html");
    check_html(page);
    has(page, "Mean and spread over seeds");
    has(page, "<td>3</td><td>52.00\u00a0±\u00a02.00</td>");
    has(page, "<th scope=\"row\">SEED_<wbr>VALUE</th><td>0</td><td>1</td><td>2</td>");
    CHECK(!strstr(page, "images/s</th>") && !strstr(page, "last probe")); // no run has these
    CHECK(!strstr(page, "do not have the same images"));
    sr_free(page);
    RUN("report", run[0], run[3], "--out", out);
    page = page_of(dir, "all.html");
    has(page, "do not have the same images");
    has(page, "DATA.TRAIN.DATA_PATHS differs between run0 and run3");
    CHECK(!strstr(page, "Mean and spread over seeds"));
    sr_free(page);
    RUN("report", run[0], run[3], "--csv");
    expect(0, "run,seed,epoch,key,value\n");
    snprintf(line, sizeof line, "%s,0,0,train_accuracy_list_meter.top_1.0,12.5\n", run[0]);
    expect(0, line);
    snprintf(line, sizeof line, "%s,3,,trained_top1_k20,56\n", run[3]);
    expect(0, line);
    temp_dir_remove(dir);
}

// The folder of a sweep stands for its runs, which bear its name.
TEST(test_a_sweep_is_its_runs) {
    char dir[64], sweep[96], other[96], out[96], notes[96];
    temp_dir_make(dir);
    snprintf(sweep, sizeof sweep, "%s/both", dir);
    snprintf(other, sizeof other, "%s/other", dir);
    snprintf(notes, sizeof notes, "%s/both/seeds", dir);
    snprintf(out, sizeof out, "%s/all.html", dir);
    write_run(dir, "both/seed0", 0, "photos", 50);
    write_run(dir, "both/seed1", 1, "photos", 54);
    write_run(dir, "other", 0, "others", 60);
    CHECK_OK(sr_file_mkdirs(notes));
    RUN("report", sweep, other, "--out", out);
    CHECK_INT(result.code, 0);
    char *page = page_of(dir, "all.html");
    check_html(page);
    has(page, "3 runs compared");
    has(page, "<th scope=\"row\">both/seed1</th>");
    has(page, "both</th><td>2</td><td>52.00\u00a0±\u00a02.83</td>");
    sr_free(page);
    RUN("report", dir);
    expect(2, "is not the folder of a run");
    temp_dir_remove(dir);
}

// In a locale with a decimal comma the page reads what the program wrote, and is written the
// same.
TEST(test_page_with_a_decimal_comma) {
    char dir[64], key[128];
    SrFeatureModel *m;
    temp_dir_make(dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    RUN("tests/cli/tiny.yaml", key, "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    char *before = page_of(dir, SR_REPORT_FILE);
    comma_locale_set();
    CHECK_OK((SrStatus)sr_feature_model_open(dir, 1, 0, 0, &m));
    CHECK_OK((SrStatus)sr_feature_model_tap(m, "flatten", NULL, 0));
    sr_feature_model_close(m);
    CHECK_OK(sr_run_report_write(dir));
    char *after = page_of(dir, SR_REPORT_FILE);
    CHECK_STR(after, before);
    sr_free(before);
    sr_free(after);
    temp_dir_remove(dir);
}

static void write_text(const char *dir, const char *name, const char *text) {
    fixture_write(dir, name, text, strlen(text));
}

// A killed run leaves a partial line, and a resumed one repeats updates. Lines that are not JSON
// are skipped.
TEST(test_history_of_a_rough_run) {
    char dir[64];
    SrHistory h;
    temp_dir_make(dir);
    write_text(dir, "stdout.json",
               "{\"ep\": 0, \"iter\": 0, \"loss\": 5, \"btime(ms)\": 1000}\n"
               "{\"ep\": 0, \"iter\": 4, \"loss\": 4, \"btime(ms)\": 500}\n"
               "garbage\n[1]\n{\"iter\": 8, \"loss\": 3, \"btime(ms)\": 500}\n"
               "{\"iter\": 4, \"loss\": 3.5, \"btime(ms)\": 500, \"own\": 1}\n{\"iter\": 8, \"lo");
    write_text(dir, "metrics.json",
               "{\"iteration\": 5, \"train_phase_idx\": 0, \"train_loss\": 4.5, \"seconds\": 3}\n"
               "{\"iteration\": 5, \"train_phase_idx\": 0, \"probe_knn_top1\": 20, "
               "\"probe_linear_top1\": 30}\n"
               "{\"labels\": true, \"trained_top1_k20\": 41.5, \"pixels_top1_k20\": 40}\n");
    write_text(
        dir, "log.txt",
        "2026-11-22 10:00:00 ==== a\n2026-11-22 10:00:00 warning: old\n2026-11-22 10:00:01 ==== b\n"
        "2026-11-22 10:00:02 warning: new\n2026-11-22 10:00:02 nothing\n"
        "2026-11-22 10:00:03 warning: other\n2026-11-22 10:00:03 warning: new\n");
    CHECK_OK(sr_history_read(dir, &h));
    CHECK_INT(h.n_steps, 2);
    CHECK_NEAR(h.iteration[1], 4, 0);
    CHECK_NEAR(h.time_s[1], 3, 1e-9);
    CHECK_NEAR(sr_history_last(&h, "loss"), 3.5, 0);
    CHECK(isnan(sr_history_find(&h, "own")->y[0]));
    CHECK_NEAR(sr_history_last(&h, "own"), 1, 0);
    CHECK_INT(h.n_epochs, 2);
    CHECK_NEAR(h.epoch[1].linear, 30, 0);
    CHECK(h.knn != NULL);
    CHECK_INT(h.n_warnings, 2);
    CHECK_STR(h.warning[0], "new");
    CHECK_INT(h.times[0], 2);
    CHECK_STR(h.warning[1], "other");
    sr_history_deinit(&h);
    temp_dir_remove(dir);
}

TEST(test_charts) {
    SrText out = SR_TEXT_INIT;
    const double x[4] = {0, 1, 2, 3}, y[4] = {1, NAN, 1000, 10}, none[2] = {NAN, NAN};
    SrChart chart = {"A <title>", "steps & co", " %", false, true};
    CHECK(!sr_html_chart(&chart, &(SrCurve){.name = "none", .x = x, .y = none, .n = 2}, 1, &out));
    CHECK(out.len == 0);
    SrCurve curves[2] = {{.name = "a", .x = x, .y = y, .n = 4, .dots = true},
                         {.name = "level", .y = &y[3], .level = true}};
    CHECK(sr_html_chart(&chart, curves, 2, &out));
    has(out.s, "A &lt;title&gt;");
    has(out.s, "steps &amp; co");
    has(out.s, "\"log\":1");
    has(out.s, "level 10&nbsp;%");
    has(out.s, "aria-label=\"A &lt;title&gt;, over steps &amp; co; a 10&nbsp;%; level 10&nbsp;%\"");
    CHECK(!strstr(out.s, "nan"));
    CHECK_INT(words_count(out.s, "<circle"), 3);
    sr_text_deinit(&out);
    double many[5000];
    for (int i = 0; i < 5000; i++)
        many[i] = i;
    CHECK(sr_html_chart(&chart, &(SrCurve){.name = "m", .x = many, .y = many, .n = 5000}, 1, &out));
    CHECK(out.len < 12000);
    sr_text_deinit(&out);
}

TEST(test_base64) {
    static const char *const pairs[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foobar", "Zm9vYmFy"}};
    for (int i = 0; i < SR_COUNT(pairs); i++) {
        SrText out = SR_TEXT_INIT;
        sr_html_base64(pairs[i][0], strlen(pairs[i][0]), &out);
        CHECK_STR(out.s ? out.s : "", pairs[i][1]);
        sr_text_deinit(&out);
    }
}

// ---- cost of pages

// Returns whether an epoch ends with a new page in a run of 1000 s whose pages took so long.
static bool page_is_due(const SrConfig *config, double spent) {
    SrRunPages pages = {config, NULL, 0, "", sr_clock() - 1000, spent};
    sr_run_pages_told(&pages, SR_TOLD_EPOCH);
    return pages.spent > spent;
}

// The first epoch gets a page; later ones do while pages take less than a hundredth of the run.
TEST(test_share_of_a_run) {
    char dir[64];
    temp_dir_make(dir);
    SrConfig config = {.checkpoint.dir = dir};
    CHECK(page_is_due(&config, 0));
    CHECK(page_is_due(&config, 5));
    CHECK(!page_is_due(&config, 20));
    temp_dir_remove(dir);
}

// A run of 60 epochs says what its pages took.
TEST(test_time_of_pages) {
    char dir[64], key[96];
    double seconds = -1, share = -1;
    temp_dir_make(dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    RUN("tests/cli/tiny.yaml", key, "TEST_MODEL=True", "OPTIMIZER.num_epochs=60",
        "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=-1", "-v");
    CHECK_INT(result.code, 0);
    const char *told = strstr(result.err, "pages took ");
    CHECK(told && sscanf(told, "pages took %lf s, %lf %%", &seconds, &share) == 2);
    CHECK(share > 0 && share < 100);
    sr_free(page_of(dir, SR_REPORT_FILE)); // page_of checks that it is below 5 MB
    temp_dir_remove(dir);
}

// The longest log has a line for each of 60,000 updates in 60 epochs.
TEST(test_page_of_a_long_log) {
    enum { EPOCHS = 60, STEPS = 1000 };
    char dir[64];
    SrText log = SR_TEXT_INIT;
    temp_dir_make(dir);
    for (int i = 0; i < EPOCHS * STEPS; i++)
        sr_text_printf(&log,
                       "{\"ep\": %d, \"iter\": %d, \"lr\": %g, \"loss\": %g, \"btime(ms)\": 20, "
                       "\"images_per_s\": %d, \"data_wait_pct\": 2, \"grad_norm\": %g}\n",
                       i / STEPS, i + 1, 0.3 - i * 1e-6, 5 - i * 5e-5 + i % 7 * 0.01, 400 + i % 9,
                       1 + i % 5 * 0.1);
    CHECK(!log.failed);
    fixture_write(dir, "stdout.json", log.s, log.len);
    sr_text_deinit(&log);
    CHECK_OK(sr_run_report_write(dir));
    char *page = page_of(dir, SR_REPORT_FILE);
    CHECK_INT(words_count(page, "<path class=\"curve\""), 5); // loss, rate, speed, waits, gradients
    sr_free(page);
    temp_dir_remove(dir);
}

static int number(Browser *b, const char *expression) {
    char text[32];
    browser_ask(b, expression, text, sizeof text);
    return atoi(text);
}

// Curves and thumbnails are drawn, nothing is wider than the window, and the browser reports no
// error.
static void look_at_report(Browser *b, const char *url, int width, bool script) {
    browser_open(b, url, width, script);
    CHECK_INT(number(b, "document.querySelectorAll('path.curve').length"), 6);
    CHECK(number(b, "document.querySelectorAll('.t').length") >= 7);
    CHECK(number(b, "document.querySelector('.t').getBoundingClientRect().width") > 8);
    CHECK_INT(number(b, "document.querySelectorAll('h1').length"), 1);
    CHECK_INT(number(b, "document.querySelectorAll('.map')[0].children.length"), 7);
    for (int i = 0; i < number(b, "document.querySelectorAll('details').length"); i++) {
        char open[96];
        snprintf(open, sizeof open, "(document.querySelectorAll('details')[%d].open = true) + 0",
                 i);
        CHECK_INT(number(b, open), 1);
    }
    CHECK(number(b, "document.querySelector('path.curve').getBoundingClientRect().width") > 100);
    CHECK_INT(number(b, "document.documentElement.scrollWidth"), width);
    CHECK_INT(number(b, "document.querySelectorAll('#tip').length"), script);
    if (*b->errors)
        fail_msg("at %d pixels: %s", width, b->errors);
}

// An interrupted run that is then asked for fewer epochs counts as finished everywhere, and its
// page shows later evaluations.
TEST(test_evaluated_later) {
    char dir[64], key[96], text[1 << 12] = "", shown[96];
    temp_dir_make(dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    snprintf(shown, sizeof shown, "%s/report.html shows the run", dir);
    pid_t run = program_start(dir, 1,
                              (const char *const[]){"tests/cli/tiny.yaml", key, "TEST_MODEL=True",
                                                    "OPTIMIZER.num_epochs=4000", NULL});
    for (int i = 0; i < 12000 && !strstr(text, "\"train_phase_idx\": 1,"); i++) {
        program_sleep_ms(5);
        program_read(dir, "metrics.json", text, sizeof text);
    }
    CHECK(kill(run, SIGTERM) == 0);
    CHECK_INT(program_wait(run, NULL), 128 + SIGTERM);
    RUN("tests/cli/tiny.yaml", key, "TEST_MODEL=True", "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "training has finished") && strstr(result.err, shown));
    char *page = page_of(dir, "report.html");
    has(page, ">finished<");
    has(page, "Which layer holds it");
    sr_free(page);
    RUN("knn", dir, "--json");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, shown));
    page = page_of(dir, "metrics.json");
    CHECK_INT(words_count(page, "\"trained_top1_k5\""), 2);
    sr_free(page);
    RUN("knn", dir, "NEAREST_NEIGHBOR.TOPK=[1]");
    CHECK(result.code == 0 && !strstr(result.err, shown));
    temp_dir_remove(dir);
}

// The page works in a real browser, if there is one: narrow and wide, with and without script.
TEST(test_in_a_browser) {
    char dir[64], key[96], url[128];
    static const int widths[] = {400, 1600};
    Browser b;
    browser_need();
    temp_dir_make(dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    RUN("tests/cli/tiny.yaml", key, "TEST_MODEL=True");
    CHECK_INT(result.code, 0);
    snprintf(url, sizeof url, "file://%s/report.html", dir);
    browser_start(&b);
    for (int i = 0; i < 2 * SR_COUNT(widths); i++)
        look_at_report(&b, url, widths[i / 2], i % 2);
    // A page whose script throws shows that errors would be noticed.
    browser_open(&b, "data:text/html,<script>nobody()</script>", 400, true);
    CHECK(strstr(b.errors, "nobody is not defined"));
    browser_open(&b, "data:text/html,<script>nobody()</script>", 400, false);
    CHECK_STR(b.errors, "");
    browser_stop(&b);
    temp_dir_remove(dir);
}

SR_TESTS(report_verb, unit(test_a_run_has_a_page), unit(test_runs_of_several_seeds),
         unit(test_a_sweep_is_its_runs), unit(test_page_with_a_decimal_comma),
         unit(test_history_of_a_rough_run), unit(test_charts), unit(test_base64),
         unit(test_share_of_a_run), unit(test_time_of_pages), unit(test_page_of_a_long_log),
         unit(test_evaluated_later), unit(test_in_a_browser))
