// Trains every loss for many updates in f32 and in bf16, and watches from outside that memory,
// descriptors and threads stay what they were after the first tenth.
//
// SSLRUN_STEPS=n makes about n updates of every loss (make long-runs); SSLRUN_LOSSES="a b" only of
// these. Without SSLRUN_STEPS two losses make a few hundred.
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "losses/loss.h"
#include "tests/check.h"
#include "tests/cli/loss_run.h"
#include "tests/cli/watched_run.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum {
    EPOCH = 25,    // updates of an epoch: its end allocates, so there are many
    FIRST = 100,   // updates in which a run still touches memory for the first time
    SAVES = 20,    // checkpoints of a run
    SHORT = 500,   // updates without SSLRUN_STEPS
    SLACK = 256,   // KiB: the C library returns memory in pieces of 128 KiB (M_TRIM_THRESHOLD)
    BRIEF = 512,   // KiB in a short run, whose parts may each lie between two pages
    PAGE = 1024,   // KiB of the largest size: a page holds up to 4,000 updates, once they are there
    PERCENT = 100, // growth of 1 / PERCENT is allowed
};

// Least of the samples of a part of a run, so that a page or a checkpoint that is being written
// does not count, and the largest size at its end.
typedef struct {
    int64_t kib, peak_kib;
    int descriptors, threads;
    int seen; // samples
} Level;

// Summarises the samples from update `from` until update `to`.
static Level level(const Watch *w, int64_t from, int64_t to) {
    Level l = {.kib = INT64_MAX, .descriptors = INT_MAX, .threads = INT_MAX};
    for (int i = 0; i < w->n; i++) {
        const WatchSample *s = &w->sample[i];
        if (s->updates < from || s->updates >= to)
            continue;
        l.seen++;
        l.kib = SR_MIN(l.kib, s->kib);
        l.peak_kib = s->peak_kib;
        l.descriptors = SR_MIN(l.descriptors, s->descriptors);
        l.threads = SR_MIN(l.threads, s->threads);
    }
    return l;
}

// Returns the updates per second of the processor, which other programs do not slow down, between
// two updates; NaN: too few samples.
static double speed(const Watch *w, int64_t from, int64_t to) {
    const WatchSample *a = NULL, *b = NULL;
    for (int i = 0; i < w->n; i++) {
        const WatchSample *s = &w->sample[i];
        if (s->updates < from || s->updates > to)
            continue;
        a = a ? a : s;
        b = s;
    }
    return a && b->ms > a->ms ? 1e3 * (double)(b->updates - a->updates) / (b->ms - a->ms) : NAN;
}

static bool grew(int64_t before, int64_t after, int64_t slack) {
    return after > before + before / PERCENT + slack;
}

// Compares the end of a run with the tenth that follows its first one, and prints a line. Returns
// 1 if the run is not flat.
static int judge(const char *name, const char *type, const Watch *w, int64_t updates) {
    int64_t warm = SR_MAX(updates / 10, FIRST), tenth = SR_MAX(updates / 10, EPOCH);
    // After the last update the run closes its files and writes its page.
    Level a = level(w, warm, warm + tenth), b = level(w, updates - tenth, updates);
    double first = speed(w, 1, updates / 4), last = speed(w, updates - updates / 4, updates);
    bool bad = a.seen == 0 || b.seen == 0 ||
               grew(a.kib, b.kib, updates > 2 * SHORT ? SLACK : BRIEF) ||
               grew(a.peak_kib, b.peak_kib, PAGE) || b.descriptors > a.descriptors ||
               b.threads > a.threads;
    print_message("    %-46s %-4s %6lld %7.0f %7.0f %5.2f  %8lld %8lld  %8lld %8lld  %3d %3d  "
                  "%d %d%s\n",
                  name, type, (long long)updates, first, last, last / first, (long long)a.kib,
                  (long long)b.kib, (long long)a.peak_kib, (long long)b.peak_kib, a.descriptors,
                  b.descriptors, a.threads, b.threads, bad ? " NOT FLAT" : "");
    return bad;
}

static void heading(void) {
    print_message("    %-46s %-4s %6s %15s %5s  %17s  %17s  %7s  %s\n", "loss", "type", "steps",
                  "updates per s", "ratio", "memory in KiB", "largest in KiB", "files", "threads");
}

// Trains an example for about `steps` updates, with further overrides (NULL-terminated). Returns 1
// if the run is not flat.
static int watch(const char *name, const char *config, const char *type, int steps,
                 const char *const *more) {
    char dir[64], key[4][96];
    const char *args[16] = {config, "--random"};
    Watch w;
    int n = 2, epochs = SR_MAX(steps / EPOCH, 2);
    temp_dir_make(dir);
    snprintf(key[0], sizeof key[0], "CHECKPOINT.DIR=%s", dir);
    snprintf(key[1], sizeof key[1], "OPTIMIZER.num_epochs=%d", epochs);
    snprintf(key[2], sizeof key[2], "CHECKPOINT.CHECKPOINT_FREQUENCY=%d",
             SR_MAX(2 * epochs / SAVES, 1));
    snprintf(key[3], sizeof key[3], "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=%d",
             SR_MAX(2 * steps / SAVES, 1));
    for (int i = 0; i < SR_COUNT(key); i++)
        args[n++] = key[i];
    if (strcmp(type, "bf16") == 0)
        args[n++] = "MODEL.AMP_PARAMS.USE_AMP=True";
    for (int i = 0; more && more[i]; i++)
        args[n++] = more[i];
    watch_without_huge_pages(true);
    pid_t pid = program_start(dir, 1, args);
    watch_without_huge_pages(false);
    watch_run(&w, pid, dir, steps > SHORT ? 20 : 3);
    if (w.code != 0) {
        char err[1 << 12];
        program_read(dir, "err", err, sizeof err);
        fail_msg("%s in %s, exit code %d: %s", name, type, w.code, err);
    }
    int bad = judge(name, type, &w, loss_run_check_numbers(dir));
    watch_free(&w);
    temp_dir_remove(dir);
    return bad;
}

static bool has_word(const char *words, const char *word) {
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

static bool wanted(const char *name, bool all) {
    const char *only = getenv("SSLRUN_LOSSES");
    if (only && *only)
        return has_word(only, name);
    return all || has_word("deepclusterv2_loss swav_loss", name);
}

// In a short run one loss has f32 and the other bf16.
TEST(test_every_loss) {
    const char *steps = getenv("SSLRUN_STEPS");
    char dir[64], config[96];
    const SrLoss *loss;
    int bad = 0;
    if (PROGRAM_SANITIZED)
        SKIP(PROGRAM_SANITIZED_REASON, NULL);
    temp_dir_make(dir);
    snprintf(config, sizeof config, "%s/toy.yaml", dir);
    heading();
    for (int i = 0; (loss = sr_loss_at(i)); i++) {
        if (!wanted(loss->name, steps != NULL))
            continue;
        bool whitens = strcmp(loss->name, "wmse_loss") == 0; // more images than its features
        loss_run_config(config, loss, &loss->examples[0], (LossRun){EPOCH, 1, whitens ? 10 : 4});
        int n = steps ? atoi(steps) : SHORT;
        if (steps || strcmp(loss->name, "swav_loss") == 0)
            bad += watch(loss->name, config, "f32", n, NULL);
        if (steps || strcmp(loss->name, "swav_loss") != 0)
            bad += watch(loss->name, config, "bf16", n, NULL);
    }
    temp_dir_remove(dir);
    CHECK_INT(bad, 0);
}

SR_TESTS(long_runs, unit(test_every_loss))
