// Starts one process per seed and collects the figures of their runs.
#include "cli/sweep.h"

#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/json.h"
#include "base/text/yaml.h"
#include "base/text/yaml_print.h"
#include "cli/interrupt.h"
#include "cli/next.h"
#include "measure/mean_deviation.h"
#include "pages/runs/run_verdict.h"

extern char **environ;

#define FOLDER_KEY "CHECKPOINT.DIR="

enum { PATH_BYTES = 4096, FLAGS_MOST = 4 };

// Figures of one run; NaN: not measured.
typedef struct {
    double loss, knn, probe;
} Row;

// ---- seeds --------------------------------------------------------------------------------------

static SrStatus parse_list(const char *override, const char *list, SrSweep *out) {
    const char *at = list;
    for (char *end; *at; at = *end ? end + 1 : end) {
        long long seed = strtoll(at, &end, 10);
        if (end == at || (*end && *end != ',') || seed < 0 || out->n == SR_SWEEP_MAX)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: expected at most %d seeds from 0 on, as in SEED_VALUE=0,1,2", override,
                    SR_SWEEP_MAX);
        out->seed[out->n++] = seed;
    }
    out->given = true;
    return SR_OK;
}

SrStatus sr_sweep_parse(SrArgs *args, int seeds, SrSweep *out) {
    int kept = 0;
    *out = (SrSweep){.n = 0};
    for (int i = 0; i < args->n_overrides; i++) {
        const char *text = args->overrides[i];
        const char *key = sr_text_starts(text, "config.") ? text + strlen("config.") : text;
        const char *list = sr_text_starts(key, "SEED_VALUE=") ? key + strlen("SEED_VALUE=") : NULL;
        if (list && strchr(list, ',') && *list != '[')
            SR_TRY(parse_list(text, list, out));
        else
            args->overrides[kept++] = text;
    }
    args->n_overrides = kept;
    if (seeds > SR_SWEEP_MAX || (seeds && out->given))
        SR_FAIL(SR_ERR_CONFIG, "--seeds %d: expected at most %d, without a list in SEED_VALUE",
                seeds, SR_SWEEP_MAX);
    out->n = out->given ? out->n : seeds;
    return SR_OK;
}

// ---- runs ---------------------------------------------------------------------------------------

// Waits for the run.  A signal that reached this process alone is passed on; Ctrl-C reaches both.
static int wait_for(pid_t pid) {
    int code = 0;
    bool passed = false;
    while (waitpid(pid, &code, WNOHANG) == 0) {
        int number = sr_interrupt_signal();
        usleep(50000);
        if (number && number != SIGINT && !passed) {
            kill(pid, number);
            passed = true;
        }
    }
    return WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
}

// Collects the words of a run's command: those of the sweep, but with a folder and a seed of its
// own.  Returns their number.
static int add_words(const SrArgs *args, const char *const *flags, const char **words) {
    SrLogLevel level = sr_log_level();
    int n = 0;
    words[n++] = sr_args_program();
    words[n++] = "train";
    for (int i = 0; i < args->n_names; i++)
        words[n++] = args->names[i];
    for (int i = 0; i < args->n_overrides; i++)
        if (!sr_text_starts(args->overrides[i], FOLDER_KEY) &&
            !sr_text_starts(args->overrides[i], "config." FOLDER_KEY))
            words[n++] = args->overrides[i];
    for (int i = 0; i < FLAGS_MOST && flags[i]; i++)
        words[n++] = flags[i];
    if (level != SR_LOG_INFO)
        words[n++] = level == SR_LOG_DEBUG ? "-v" : "-q";
    return n;
}

static SrStatus run_seed(const SrArgs *args, const char *dir, int64_t seed,
                         const char *const *flags) {
    const char *words[2 * SR_ARGS_MAX + FLAGS_MOST + 6] = {NULL};
    char seed_word[64];
    SrText dir_word = SR_TEXT_INIT;
    int n = add_words(args, flags, words);
    pid_t pid;
    snprintf(seed_word, sizeof seed_word, "SEED_VALUE=%lld", (long long)seed);
    sr_text_add(&dir_word, FOLDER_KEY);
    sr_yaml_print_flow(&(SrYaml){.type = SR_YAML_STRING, .text = dir}, &dir_word);
    words[n++] = seed_word;
    words[n++] = dir_word.s ? dir_word.s : "";
    sr_info("seed %lld, in %s", (long long)seed, dir);
    bool started =
        posix_spawn(&pid, "/proc/self/exe", NULL, NULL, (char *const *)words, environ) == 0;
    sr_text_deinit(&dir_word);
    if (!started)
        SR_FAIL(SR_ERR_RUN, "cannot start the run of seed %lld", (long long)seed);
    int code = wait_for(pid);
    if (code > 128 && sr_interrupt_signal())
        SR_FAIL(SR_ERR_INTERRUPT, "stopped in the run of seed %lld; the same command resumes it",
                (long long)seed);
    if (code > 128)
        SR_FAIL(SR_ERR_RUN,
                "the run of seed %lld was ended by signal %d; the same command resumes it",
                (long long)seed, code - 128);
    if (code != 0)
        SR_FAIL(code == 2 ? SR_ERR_CONFIG : SR_ERR_RUN, "the run of seed %lld failed",
                (long long)seed);
    return SR_OK;
}

static SrStatus read_row(const char *dir, Row *out) {
    SrHistory history;
    SrRunScores scores;
    *out = (Row){NAN, NAN, NAN};
    SR_TRY(sr_history_read(dir, &history));
    for (int i = 0; i < history.n_epochs; i++)
        if (isfinite(history.epoch[i].loss))
            out->loss = history.epoch[i].loss;
    if (sr_run_scores(&history, &scores)) {
        out->knn = scores.knn.trained;
        out->probe = scores.by_probe ? scores.probe.trained : NAN;
    }
    sr_history_deinit(&history);
    return SR_OK;
}

// ---- the table ----------------------------------------------------------------------------------

static const struct {
    const char *name;
    size_t offset;
    int digits;
} columns[] = {{"loss", offsetof(Row, loss), 4},
               {"knn", offsetof(Row, knn), 2},
               {"probe", offsetof(Row, probe), 2}};

static double figure_of(const Row *row, int column) {
    return *(const double *)((const char *)row + columns[column].offset);
}

static SrMeanDeviation over_seeds(const Row *rows, int n, int column) {
    double value[SR_SWEEP_MAX];
    for (int i = 0; i < n; i++)
        value[i] = figure_of(&rows[i], column);
    return sr_mean_deviation(value, n);
}

static void add_value(double value, int digits, SrText *out) {
    if (isfinite(value))
        sr_text_printf(out, "  %8.*f", digits, value);
    else
        sr_text_add(out, "         -");
}

static void add_table(const SrSweep *sweep, const Row *rows, const char *dir, SrText *out) {
    sr_text_printf(out, "%d seeds in %s, last epoch's loss, best layer's kNN and probe\n", sweep->n,
                   dir);
    sr_text_add(out, "  seed            loss       kNN     probe\n");
    for (int i = 0; i < sweep->n; i++) {
        sr_text_printf(out, "  %-10lld", (long long)sweep->seed[i]);
        for (int c = 0; c < SR_COUNT(columns); c++)
            add_value(figure_of(&rows[i], c), columns[c].digits, out);
        sr_text_add(out, "\n");
    }
    for (int line = 0; line < 2; line++) {
        sr_text_printf(out, "  %-10s", line ? "deviation" : "mean");
        for (int c = 0; c < SR_COUNT(columns); c++) {
            SrMeanDeviation s = over_seeds(rows, sweep->n, c);
            add_value(line ? s.deviation : s.mean, columns[c].digits, out);
        }
        sr_text_add(out, "\n");
    }
}

static void add_json(const SrSweep *sweep, const Row *rows, const char *dir, SrText *out) {
    char key[32];
    sr_json_begin(out);
    sr_json_string(out, "sweep", dir);
    sr_json_int(out, "seeds", sweep->n);
    for (int c = 0; c < SR_COUNT(columns); c++) {
        SrMeanDeviation s = over_seeds(rows, sweep->n, c);
        snprintf(key, sizeof key, "%s_mean", columns[c].name);
        sr_json_float(out, key, s.mean);
        snprintf(key, sizeof key, "%s_deviation", columns[c].name);
        sr_json_float(out, key, s.deviation);
    }
    sr_json_end(out);
}

static void say_next(const SrSweep *sweep, char dirs[][PATH_BYTES], const char *page) {
    const char *words[SR_SWEEP_MAX + 4] = {"report"};
    SrText next = SR_TEXT_INIT;
    int n = 1;
    for (int i = 0; i < sweep->n; i++)
        words[n++] = dirs[i];
    words[n++] = "--out";
    words[n++] = page;
    sr_next_add(&next, "compares the runs on one page", words);
    sr_next_add_web(&next, dirs[0]);
    sr_next_say(&next);
}

static SrStatus run_all(const SrArgs *args, const SrSweep *sweep, const char *dir,
                        const char *const *flags, bool json) {
    static char dirs[SR_SWEEP_MAX][PATH_BYTES];
    Row rows[SR_SWEEP_MAX];
    char name[64], page[PATH_BYTES];
    SrText out = SR_TEXT_INIT;
    sr_interrupt_at_once("");
    sr_interrupt_remember(); // from now on a signal ends the run, which saves, and then the sweep
    for (int i = 0; i < sweep->n; i++) {
        snprintf(name, sizeof name, "seed%lld", (long long)sweep->seed[i]);
        SR_TRY(sr_file_join(dirs[i], PATH_BYTES, dir, name));
        SR_TRY(run_seed(args, dirs[i], sweep->seed[i], flags));
        SR_TRY(read_row(dirs[i], &rows[i]));
    }
    sr_interrupt_uninstall();
    SR_TRY(sr_file_join(page, sizeof page, dir, "compared.html"));
    (json ? add_json : add_table)(sweep, rows, dir, &out);
    SR_TRY(sr_args_print(&out));
    if (!json)
        say_next(sweep, dirs, page);
    return SR_OK;
}

SrStatus sr_sweep_run(const SrArgs *args, SrSweep *sweep, const char *const *flags, bool json) {
    SrConfig *config;
    if (sr_comm_size() > 1)
        SR_FAIL(SR_ERR_CONFIG, "several seeds need one process: start `sslrun` without mpirun");
    SR_TRY(sr_args_load_config(args, "train", &config));
    if (config->optimizer.minutes > 0) {
        sr_config_free(config);
        SR_FAIL(SR_ERR_CONFIG, "OPTIMIZER.MINUTES measures one run: several seeds need the same "
                               "number of epochs, OPTIMIZER.MINUTES=0 OPTIMIZER.num_epochs=N");
    }
    for (int i = 0; i < sweep->n && !sweep->given; i++)
        sweep->seed[i] = (int64_t)config->seed + i;
    SrStatus status = run_all(args, sweep, config->checkpoint.dir, flags, json);
    sr_config_free(config);
    return status;
}
