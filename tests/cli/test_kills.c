// Kills runs of every loss by SIGKILL at random moments. Each resumes with another number of
// threads and ranks, and ends in the bits of a run that nobody disturbed.
//
// SSLRUN_KILLS=n kills n times (make kills); SSLRUN_KILLS_SEED=n draws other moments. With
// SSLRUN_KILLS_RANKS=1 half of the last starts have two ranks.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "base/text/text.h"
#include "losses/loss.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/cli/loss_run.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum { MOST = 4 }; // kills of one run
#define FINAL "model_final_checkpoint_phase0.safetensors"

// One loss: its configuration, a finished run, and how long that took.
typedef struct {
    const SrLoss *loss;
    char home[64], config[96], whole[64];
    double length;
} Method;

static int setting(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static pid_t begin(const Method *m, const char *dir, int ranks, int threads) {
    char key[160];
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    // --random: a teacher of a distillation has random weights
    const char *args[] = {m->config, key, "--random", NULL};
    return program_start_ranks(dir, ranks, threads, args);
}

static void fail_with_log(const Method *m, const char *dir, int code) {
    char err[1 << 12];
    program_read(dir, "err", err, sizeof err);
    fail_msg("%s, exit code %d: %s", m->loss->name, code, err);
}

static void prepare(Method *m, const SrLoss *loss) {
    m->loss = loss;
    temp_dir_make(m->home);
    snprintf(m->config, sizeof m->config, "%s/toy.yaml", m->home);
    temp_dir_make(m->whole);
    loss_run_config(m->config, loss, &loss->examples[0], (LossRun){8, 2, 4});
    double began = program_now_ms();
    int code = program_wait(begin(m, m->whole, 0, 1), NULL);
    m->length = program_now_ms() - began;
    if (code != 0)
        fail_with_log(m, m->whole, code);
}

static void check_nothing_left(const Method *m, const char *dir) {
    DIR *d = opendir(dir);
    CHECK(d != NULL);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, ".tmp"))
            fail_msg("%s: %s/%s was left", m->loss->name, dir, e->d_name);
    closedir(d);
}

// Starts a run until it ends by itself, and kills it at most `kills` times. Returns how often it
// was killed. A whole run that ends before its kill makes the next kills come earlier: the run that
// was timed had met a busy machine.
static int one_history(Method *m, SrRng *rng, bool ranks, int kills) {
    char dir[64], a[128], b[160];
    int killed = 0;
    temp_dir_make(dir);
    for (bool ended = false; !ended;) {
        int threads = 1 + (int)sr_rng_below(rng, 4);
        // Ranks outlive a mpirun that is killed, so only runs that are not killed have ranks.
        bool kill_it = killed < kills;
        int n = ranks && !kill_it ? 2 * (int)sr_rng_below(rng, 2) : 0;
        pid_t pid = begin(m, dir, n, n ? 1 : threads);
        if (kill_it) {
            program_sleep_ms(sr_rng_range(rng, 0.05, 1.1) * m->length);
            kill(pid, SIGKILL);
        }
        int code = program_wait(pid, NULL);
        killed += code == 128 + SIGKILL;
        ended = code == 0;
        if (ended && kill_it && killed == 0)
            m->length *= 0.7;
        if (!ended && code != 128 + SIGKILL)
            fail_with_log(m, dir, code);
    }
    snprintf(a, sizeof a, "%s/" FINAL, m->whole);
    snprintf(b, sizeof b, "%s/" FINAL, dir);
    check_same_checkpoint(a, b, 50);
    check_nothing_left(m, dir);
    temp_dir_remove(dir);
    return killed;
}

// Losses take turns; in a short run the first is drawn by the seed.
TEST(test_every_loss) {
    int kills = setting("SSLRUN_KILLS", 4), killed = 0, runs = 0, n = 0;
    int seed = setting("SSLRUN_KILLS_SEED", 1);
    SrRng rng = sr_rng((uint64_t)seed, SR_RNG_TEST, 0, 0, 0, 0);
    bool ranks = setting("SSLRUN_KILLS_RANKS", 0) != 0;
    while (sr_loss_at(n))
        n++;
    Method *methods = calloc((size_t)n, sizeof *methods);
    CHECK(methods != NULL);
    if (ranks)
        program_need_ranks();
    for (int i = (int)sr_rng_below(&rng, (uint32_t)n); killed < kills; i = (i + 1) % n) {
        if (!methods[i].loss)
            prepare(&methods[i], sr_loss_at(i));
        int most = 1 + (int)sr_rng_below(&rng, MOST);
        killed += one_history(&methods[i], &rng, ranks, SR_MIN(most, kills - killed));
        runs++;
    }
    print_message("    seed %d: %d kills in %d runs\n", seed, killed, runs);
    for (int i = 0; i < n; i++)
        if (methods[i].loss) {
            temp_dir_remove(methods[i].home);
            temp_dir_remove(methods[i].whole);
        }
    free(methods);
}

SR_TESTS(kills, unit(test_every_loss))
