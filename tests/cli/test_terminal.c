// Tests output on a terminal: lines that overwrite themselves fit its width and are removed
// before a result is printed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

static void run(int columns) {
    char dir[64], folder[96];
    temp_dir_make(dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", dir);
    program_run_terminal(&result, columns,
                         (const char *const[]){CONFIG, folder, "TEST_MODEL=True", NULL});
    temp_dir_remove(dir);
    if (result.code != 0)
        fail_msg("exit code %d: %s", result.code, result.out);
}

// Calls check() for every piece of text between line ends and carriage returns.
static void each_stretch(void (*check)(char *stretch, int columns), int columns) {
    char *save = NULL;
    for (char *at = strtok_r(result.out, "\r\n", &save); at; at = strtok_r(NULL, "\r\n", &save)) {
        char *erase = strstr(at, "\033[K");
        if (strncmp(at, "\033[K", 3) == 0)
            at += 3;
        else if (erase)
            *erase = '\0';
        check(at, columns);
    }
}

static int progress_lines, with_wait, with_loss;

// Fails if a progress line is as wide as the terminal, since some terminals then wrap.
static void check_progress(char *stretch, int columns) {
    if (strncmp(stretch, "[ep: ", 5) != 0)
        return;
    progress_lines++;
    with_wait += strstr(stretch, "data wait: ") != NULL;
    with_loss += strstr(stretch, "loss: ") != NULL && strstr(stretch, "eta: ") != NULL;
    if ((int)strlen(stretch) >= columns)
        fail_msg("%d characters in %d columns: %s", (int)strlen(stretch), columns, stretch);
}

TEST(test_progress_fits) {
    static const int columns[] = {80, 200};
    for (int i = 0; i < SR_COUNT(columns); i++) {
        progress_lines = with_wait = with_loss = 0;
        run(columns[i]);
        each_stretch(check_progress, columns[i]);
        CHECK(progress_lines >= 6 && with_loss == progress_lines);
        CHECK_INT(with_wait, columns[i] == 200 ? progress_lines : 0);
    }
}

// A result starts its own line, unlike "features: 64 of 70 imageskNN: ...".
TEST(test_results_start_a_line) {
    static const char *const results[] = {"trained 24 updates", "kNN: ", "layers: "};
    run(100);
    // A progress line was drawn, so that the results below had one to remove.
    CHECK(strstr(result.out, "untrained, calibrated: layer flatten"));
    for (int i = 0; i < SR_COUNT(results); i++) {
        const char *at = strstr(result.out, results[i]);
        if (!at || at == result.out)
            fail_msg("no '%s' in:\n%s", results[i], result.out);
        CHECK(at[-1] == '\n' || (at - result.out > 4 && strncmp(at - 4, "\r\033[K", 4) == 0));
    }
}

// Errors are red on a terminal only, and not if NO_COLOR is set.
TEST(test_colors) {
    const char *const wrong[] = {"describe", "no-such-name", NULL};
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    program_run_terminal(&result, 100, wrong);
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.out, "\033[31msslrun:\033[0m "));
    program_run(&result, 1, wrong);
    CHECK(strstr(result.err, "sslrun: ") && !strstr(result.err, "\033"));
    setenv("NO_COLOR", "1", 1);
    program_run_terminal(&result, 100, wrong);
    CHECK(strstr(result.out, "sslrun: ") && !strstr(result.out, "\033[31m"));
    unsetenv("NO_COLOR");
}

// Long work shows a bar that fits the terminal and disappears before the result.
static void check_bar(char *stretch, int columns) {
    bool bar = strstr(stretch, " [#") || strstr(stretch, " [.");
    if (bar && (int)strlen(stretch) >= columns)
        fail_msg("%d characters in %d columns: %s", (int)strlen(stretch), columns, stretch);
}

static void shows_bar(int columns, const char *what, const char *const *args) {
    program_run_terminal(&result, columns, args);
    if (result.code != 0 || !strstr(result.out, what))
        fail_msg("no \"%s\" in: %s", what, result.out);
    each_stretch(check_bar, columns);
}

TEST(test_bars) {
    char dir[64], folder[96], weights[96], file[96], out[96];
    temp_dir_make(dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", dir);
    snprintf(weights, sizeof weights, "%s/checkpoint.safetensors", dir);
    snprintf(file, sizeof file, "%s/weights.pth", dir);
    snprintf(out, sizeof out, "%s/trunk.onnx", dir);
    setenv("SR_BAR_AFTER", "0", 1);
    shows_bar(80, "features of images [",
              (const char *const[]){CONFIG, folder, "TEST_MODEL=True", NULL});
    shows_bar(200, "steps of t-SNE [", (const char *const[]){"report", dir, NULL});
    shows_bar(80, "classes validated [", (const char *const[]){"svm", CONFIG, folder, NULL});
    for (int columns = 80; columns <= 200; columns += 120)
        shows_bar(columns, "neighbours of images [",
                  (const char *const[]){"knn", CONFIG, folder, NULL});
    shows_bar(80, "images retrieved [", (const char *const[]){"retrieve", CONFIG, folder, NULL});
    shows_bar(80, "tensors written [", (const char *const[]){"convert", weights, file, NULL});
    shows_bar(80, "tensors written [",
              (const char *const[]){"export", CONFIG, "--weights", weights, "--nodes", "flatten",
                                    "--out", out, NULL});
    unsetenv("SR_BAR_AFTER");
    program_run_terminal(&result, 80, (const char *const[]){"knn", CONFIG, folder, NULL});
    CHECK(!strstr(result.out, "neighbours of images ["));
    // A log has lines in place of bars: none within a minute, unless SR_BAR_EVERY says otherwise.
    static ProgramResult log;
    program_run(&log, 1, (const char *const[]){"knn", CONFIG, folder, NULL});
    CHECK(log.code == 0 && !strstr(log.err, "features of images "));
    setenv("SR_BAR_EVERY", "0", 1);
    program_run(&log, 1, (const char *const[]){"knn", CONFIG, folder, NULL});
    unsetenv("SR_BAR_EVERY");
    CHECK(strstr(log.err, "\nfeatures of images 100% 7/7"));
    CHECK(!strchr(log.err, '\r'));
    temp_dir_remove(dir);
}

SR_TESTS(terminal, unit(test_bars), unit(test_colors), unit(test_progress_fits),
         unit(test_results_start_a_line))
