// Runs and judges one history (history.h).
#include "tests/histories/history.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/hash.h"
#include "tests/check.h"
#include "tests/histories/results.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum { ERR_BYTES = 1 << 13 };

// ---- folders

// A file system in memory: a sync costs nothing, and the power is not cut here (make power).
void laboratory_open(Laboratory *lab) {
    *lab = (Laboratory){0};
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(lab->scratch, sizeof lab->scratch, "%s/sslrun-histories-XXXXXX", base);
    CHECK(mkdtemp(lab->scratch) != NULL);
    methods_prepare(lab->scratch);
}

void laboratory_close(Laboratory *lab) { temp_dir_remove(lab->scratch); }

static void fresh_folder(const Laboratory *lab, const char *name, char path[METHOD_PATH]) {
    snprintf(path, METHOD_PATH, "%.200s/%s", lab->scratch, name);
    if (sr_file_exists(path))
        temp_dir_remove(path);
    CHECK_OK(sr_file_mkdirs(path));
}

// Starts the command of a method, whose results go to DIR/out and lines to DIR/err.N.
static void start_in(const Laboratory *lab, const Method *m, const char *dir, Start *start,
                     Outcome *out) {
    char *argv[METHOD_WORDS], room[3][METHOD_PATH], to[METHOD_PATH], err[METHOD_PATH];
    for (int r = 0; r < WIRE_RANKS; r++) {
        snprintf(err, sizeof err, "%.200s/err.%d", dir, r);
        unlink(err);
    }
    snprintf(to, sizeof to, "%.200s/out", dir);
    method_command(m, lab->scratch, to, start->ranks, argv, room);
    start->argv = argv;
    start->dir = dir;
    conduct(start, out);
}

// ---- lines of the ranks

static void read_err(const char *dir, int rank, char text[ERR_BYTES]) {
    char name[16];
    snprintf(name, sizeof name, "err.%d", rank);
    program_read(dir, name, text, ERR_BYTES);
}

// Counts the lines that begin with a word.
static int lines_with(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n'))
        n += strncmp(at, word, strlen(word)) == 0;
    return n;
}

static int clear_lines(const char *text, int rank) {
    char ours[64], error[64], library[64];
    snprintf(ours, sizeof ours, "sslrun: rank %d on ", rank);
    snprintf(error, sizeof error, "error: rank %d on ", rank);
    snprintf(library, sizeof library, "MPI: rank %d ", rank);
    return lines_with(text, ours) + lines_with(text, error) + lines_with(text, library);
}

static void say_wrong(History *h, const char *what, const char *more) {
    if (!*h->wrong)
        snprintf(h->wrong, sizeof h->wrong, "%s%s%.380s", what, *more ? ": " : "", more);
}

// ---- the judgement

static bool has(const Start *s, FaultKind kind) {
    for (int i = 0; i < s->n_faults; i++)
        if (s->faults[i].kind == kind)
            return true;
    return false;
}

static bool is_signal(const Start *s, int code) {
    for (int i = 0; i < s->n_faults; i++)
        if (s->faults[i].kind == FAULT_SIGNAL && code == 128 + s->faults[i].signal)
            return true;
    return false;
}

// True: one of the faults explains the exit code.
static bool may_end_with(const Start *s, int code) {
    bool fails =
        has(s, FAULT_CUT) || has(s, FAULT_DISK) || has(s, FAULT_FILES) || has(s, FAULT_MEMORY);
    return code == 0 || is_signal(s, code) || (code == 1 && fails) ||
           (code == 128 + SIGKILL && has(s, FAULT_KILL));
}

// Each rank that ended by itself with a failure has one line.  A request to stop is answered by
// rank 0 alone.
static void judge_lines(const Start *s, const Outcome *out, const char *dir, History *h) {
    char text[ERR_BYTES], more[ERR_BYTES + 64];
    for (int r = 0; r < s->ranks; r++) {
        read_err(dir, r, text);
        h->hash = sr_hash_more(h->hash, &out->exit[r], sizeof out->exit[r]);
        int lines = clear_lines(text, r), code = out->exit[r];
        bool failed = out->self[r] && code != 0 && code < 128;
        snprintf(more, sizeof more, "rank %d, exit code %d: %s", r, code, text);
        if (failed && lines != 1)
            say_wrong(h, "not one clear line", more);
        if (!failed && out->self[r] && code < 128 && lines > 0)
            say_wrong(h, "an error without a failure", more);
        if (strstr(text, "Sanitizer") || strstr(text, "runtime error") || strstr(text, "Assert"))
            say_wrong(h, "a crash", more);
        if (out->exit[r] == 128 + SIGSEGV || out->exit[r] == 128 + SIGABRT)
            say_wrong(h, "a crash", more);
    }
}

static Ending ending_of(int code) {
    return code == 0               ? ENDED_RIGHT
           : code == 128 + SIGKILL ? ENDED_KILLED
           : code >= 128           ? ENDED_STOPPED
                                   : ENDED_FAILED;
}

static void judge_results(const Method *m, const char *to, const Results *right, History *h) {
    char why[256] = "";
    Results results;
    bool read = results_read(to, m->config != NULL, &results, why);
    h->hash = sr_hash_more(h->hash, &results, sizeof results);
    if (!read || !results_equal(&results, right, !h->may_lack))
        say_wrong(h, "other results than the undisturbed run's", why);
}

static void judge(const Method *m, const Start *s, const Outcome *out, const Results *right,
                  History *h) {
    char to[METHOD_PATH], why[256] = "";
    snprintf(to, sizeof to, "%.200s/out", s->dir);
    h->may_lack |= has(s, FAULT_FILES) || has(s, FAULT_MEMORY) || has(s, FAULT_DISK);
    h->hash = sr_hash_more(h->hash, &out->hash, sizeof out->hash);
    if (*out->defect)
        say_wrong(h, out->defect, "");
    if (!may_end_with(s, out->code)) {
        char text[ERR_BYTES], more[ERR_BYTES + 64];
        read_err(s->dir, 0, text);
        snprintf(more, sizeof more, "%d: %s", out->code, text);
        say_wrong(h, "an exit code that nothing explains", more);
    }
    judge_lines(s, out, s->dir, h);
    if (sr_file_exists(to) && !results_whole(to, why))
        say_wrong(h, "the folder is not whole", why);
    if (out->code == 0)
        judge_results(m, to, right, h);
}

// ---- references

// Runs a method undisturbed and reads its results.  Returns the moments of the run.
static int undisturbed(Laboratory *lab, const Method *m, int ranks, Results *results) {
    char dir[METHOD_PATH], to[METHOD_PATH], why[256] = "", text[ERR_BYTES];
    Start s = {.ranks = ranks, .seed = 1};
    Outcome out;
    fresh_folder(lab, "reference", dir);
    start_in(lab, m, dir, &s, &out);
    read_err(dir, 0, text);
    snprintf(to, sizeof to, "%.200s/out", dir);
    bool read = results_read(to, m->config != NULL, results, why);
    if (out.code != 0 || *out.defect || !read)
        fail_msg("%s on %d ranks: %s%s, exit code %d: %s", m->name, ranks, out.defect, why,
                 out.code, text);
    return out.moments;
}

// The bits are those of one process, which needs no communication, with as many replicas.  If the
// method's last bits depend on the number of ranks, the loss is close to that of one process.
static void make_reference(Laboratory *lab, int method, int ranks) {
    const Method *m = method_at(method);
    Results results, alone;
    lab->reference[method][ranks].moments = undisturbed(lab, m, ranks, &results);
    lab->reference[method][ranks].results = results;
    lab->reference[method][ranks].known = true;
    if (ranks == 3) // one process sums the gradients of three replicas in another order
        return;
    undisturbed(lab, m, 1, &alone);
    if (m->own_bits ? !results_close(&results, &alone) : !results_equal(&results, &alone, true))
        fail_msg("%s: %d ranks give other results than one process: loss %.9g, not %.9g", m->name,
                 ranks, results.loss, alone.loss);
}

// ---- one history

// Draws ranks for the start that continues: any number of them gives the same bits if the method's
// do not depend on it.
static int draw_ranks(SrRng *rng, const Method *m, int before) {
    if (m->own_bits || before == 3)
        return before;
    return sr_rng_below(rng, 2) ? 2 : 4;
}

static void draw_faults(SrRng *rng, int moments, Start *s) {
    s->n_faults = sr_rng_below(rng, 4) ? 1 : 2;
    for (int i = 0; i < s->n_faults; i++)
        s->faults[i] = fault_draw(rng, s->ranks, moments);
}

static void describe(History *h, const Start *s, const Outcome *out) {
    char text[96];
    for (int i = 0; i <= s->n_faults; i++) {
        size_t len = strlen(h->text);
        if (i < s->n_faults)
            fault_text(&s->faults[i], text);
        else
            snprintf(text, sizeof text, "exit code %d after %d moments", out->code, out->moments);
        snprintf(h->text + len, sizeof h->text - len, "%s%s", i ? ", " : "; ", text);
    }
}

void history_run(Laboratory *lab, uint64_t seed, bool show, History *h) {
    SrRng rng = sr_rng(seed, SR_RNG_TEST, 0, 0, 0, 0);
    char dir[METHOD_PATH];
    *h = (History){.hash = SR_HASH_START};
    int method = (int)sr_rng_below(&rng, (uint32_t)methods_count());
    int ranks = 2 + (int)sr_rng_below(&rng, WIRE_RANKS - 1);
    int disturbed = sr_rng_below(&rng, 4) ? 1 : 2;
    const Method *m = method_at(method);
    fresh_folder(lab, "run", dir);
    h->method = method;
    snprintf(h->text, sizeof h->text, "%s", m->name);
    for (int i = 0; i <= disturbed && !*h->wrong; i++) {
        if (i > 0)
            ranks = draw_ranks(&rng, m, ranks);
        if (!lab->reference[method][ranks].known)
            make_reference(lab, method, ranks);
        Start s = {.ranks = ranks, .seed = seed * 16 + (uint64_t)i, .show = show};
        Outcome out;
        if (i < disturbed)
            draw_faults(&rng, lab->reference[method][ranks].moments, &s);
        size_t len = strlen(h->text);
        snprintf(h->text + len, sizeof h->text - len, "; %d ranks", ranks);
        start_in(lab, m, dir, &s, &out);
        describe(h, &s, &out);
        judge(m, &s, &out, &lab->reference[method][ranks].results, h);
        h->starts++;
        h->faults += s.n_faults;
        if (i < disturbed)
            h->endings[ending_of(out.code)]++;
    }
}
