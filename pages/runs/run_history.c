// Reads the files that a run has written about itself; skips damaged lines.
#include "pages/runs/run_history.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/lines.h"
#include "base/text/yaml_edit.h"

// The memory of a history does not grow with the length of the run: a training run reads its own
// for its page.
//
// MAX_BYTES: only this much of the end of a longer file is read.  The first line may then be
// incomplete, and is skipped because it is no JSON.  MAX_STEPS: a curve has 300 points.
enum { MAX_BYTES = 1 << 28, MAX_STEPS = 4000, MAX_EPOCHS = 100000 };

// Lines of metrics.json of which the last one is kept whole.
enum { KNN, LAYERS, CHANGE, EMBEDDINGS, KEPT };

typedef struct {
    SrHistory *h;
    int step_cap, epoch_cap;
    int64_t lines, every; // lines of stdout.json so far; one of `every` lines is kept
    char *kept[KEPT];     // texts of the lines; NULL: none
} Reader;

static SrStatus out_of_memory(void) { return sr_out_of_memory("the history of a run"); }

// ---- lines --------------------------------------------------------------------------------------

typedef SrStatus (*LineFn)(Reader *r, const SrYaml *line, const char *text);

// Parses a line; skips it if it is no JSON object.
static SrStatus parse_line(Reader *r, const char *text, size_t n, LineFn fn) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *line = NULL;
    if (n == 0)
        return SR_OK;
    SrStatus status = sr_json_parse(&arena, text, n, "line", &line);
    if (status == SR_OK && line->type == SR_YAML_MAP)
        status = fn(r, line, text);
    else if (status != SR_ERR_MEMORY)
        status = SR_OK;
    sr_arena_deinit(&arena);
    return status;
}

static SrStatus read_lines(Reader *r, const char *run, const char *name, LineFn fn) {
    char path[4096], *text;
    struct stat st;
    SrLines lines;
    size_t n;
    SR_TRY(sr_file_join(path, sizeof path, run, name));
    if (!sr_file_exists(path))
        return SR_OK;
    SR_TRY(sr_lines_open(&lines, path, MAX_BYTES));
    if (stat(path, &st) != 0)
        st.st_mtime = 0;
    r->h->mtime = SR_MAX(r->h->mtime, (int64_t)st.st_mtime);
    r->lines = 0;
    SrStatus status = sr_lines_next(&lines, &text, &n);
    for (; status == SR_OK && text; r->lines++) {
        if (r->lines % r->every == 0)
            status = parse_line(r, text, n, fn);
        if (status == SR_OK)
            status = sr_lines_next(&lines, &text, &n);
    }
    sr_lines_close(&lines);
    return status;
}

// ---- steps --------------------------------------------------------------------------------------

// Makes room for `cap` elements.
static SrStatus resize(void *at, int cap, size_t bytes) {
    void **p = at, *more = sr_realloc(*p, (size_t)cap * bytes);
    if (!more)
        return out_of_memory();
    *p = more;
    return SR_OK;
}

// Drops every second step, and reads every second of the lines that follow.
static void thin_out(Reader *r) {
    SrHistory *h = r->h;
    int n = 0;
    for (int i = 0; i < h->n_steps; i += 2, n++) {
        h->iteration[n] = h->iteration[i];
        h->time_s[n] = h->time_s[i];
        for (int s = 0; s < h->n_series; s++)
            h->series[s].y[n] = h->series[s].y[i];
    }
    h->n_steps = n;
    r->every *= 2;
}

// Grows all arrays together: they have one size.
static SrStatus grow_steps(Reader *r) {
    SrHistory *h = r->h;
    int cap = 2 * r->step_cap + 64;
    if (h->n_steps < r->step_cap)
        return SR_OK;
    SR_TRY(resize(&h->iteration, cap, sizeof(double)));
    SR_TRY(resize(&h->time_s, cap, sizeof(double)));
    for (int s = 0; s < h->n_series; s++)
        SR_TRY(resize(&h->series[s].y, cap, sizeof(double)));
    r->step_cap = cap;
    return SR_OK;
}

// Makes a series for a key that comes for the first time.  Keys beyond SR_HISTORY_SERIES get none.
static SrStatus need_series(Reader *r, const char *key) {
    SrHistory *h = r->h;
    for (int s = 0; s < h->n_series; s++)
        if (strcmp(h->series[s].key, key) == 0)
            return SR_OK;
    if (h->n_series == SR_HISTORY_SERIES)
        return SR_OK;
    SrSeries *new = &h->series[h->n_series];
    new->key = sr_arena_strdup(&h->arena, key);
    new->y = sr_alloc((size_t)r->step_cap * sizeof *new->y);
    if (!new->key || !new->y) {
        sr_free(new->y);
        return out_of_memory();
    }
    h->n_series++;
    for (int i = 0; i < h->n_steps; i++)
        new->y[i] = NAN;
    return SR_OK;
}

// Drops steps from `iteration` on: after a resume or restart, the later lines of an iteration
// count.
static void forget_from(SrHistory *h, double iteration) {
    while (h->n_steps > 0 && h->iteration[h->n_steps - 1] >= iteration)
        h->n_steps--;
}

static SrStatus add_step(Reader *r, const SrYaml *line, const char *text) {
    SrHistory *h = r->h;
    (void)text;
    const SrYaml *iter = sr_yaml_find(line, "iter"), *btime = sr_yaml_find(line, "btime(ms)");
    if (!iter || iter->type != SR_YAML_INT)
        return SR_OK;
    forget_from(h, iter->f);
    if (h->n_steps == MAX_STEPS)
        thin_out(r);
    SR_TRY(grow_steps(r));
    int at = h->n_steps;
    double before = at ? h->iteration[at - 1] : -1, spent = at ? h->time_s[at - 1] : 0;
    for (int i = 0; i < line->n; i++) {
        const SrYaml *v = line->items[i];
        if (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT)
            SR_TRY(need_series(r, line->keys[i]));
    }
    for (int s = 0; s < h->n_series; s++) {
        const SrYaml *v = sr_yaml_find(line, h->series[s].key);
        h->series[s].y[at] = v && (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT) ? v->f : NAN;
    }
    h->iteration[at] = iter->f;
    h->time_s[at] = spent + (iter->f - before) * (btime ? btime->f : 0) / 1000;
    h->n_steps++;
    return SR_OK;
}

// ---- epochs and reports -------------------------------------------------------------------------

static double number(const SrYaml *line, const char *key) {
    const SrYaml *v = sr_yaml_find(line, key);
    return v && (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT) ? v->f : NAN;
}

// Returns the first number below a "top_1", as in VISSL's
// "test_accuracy_list_meter": {"top_1": {"0": 45.1}}.
static double first_top1(const SrYaml *node, bool below) {
    if (!node)
        return NAN;
    if (below && (node->type == SR_YAML_FLOAT || node->type == SR_YAML_INT))
        return node->f;
    for (int i = 0; node->type == SR_YAML_MAP && i < node->n; i++) {
        double v = first_top1(node->items[i], below || strcmp(node->keys[i], "top_1") == 0);
        if (!isnan(v))
            return v;
    }
    for (int i = 0; node->type == SR_YAML_LIST && i < node->n; i++) {
        double v = first_top1(node->items[i], below);
        if (!isnan(v))
            return v;
    }
    return NAN;
}

static double phase_top1(const SrYaml *line, const char *phase) {
    for (int i = 0; i < line->n; i++)
        if (sr_text_starts(line->keys[i], phase) && line->items[i]->type == SR_YAML_MAP)
            return first_top1(line->items[i], false);
    return NAN;
}

static SrStatus keep(Reader *r, int which, const char *text) {
    sr_free(r->kept[which]);
    r->kept[which] = sr_strdup(text);
    return r->kept[which] ? SR_OK : out_of_memory();
}

// Parses a line that was kept, into memory of the history.
static SrStatus parse_kept(const Reader *r, int which, const SrYaml **out) {
    const char *text = r->kept[which];
    SrYaml *line = NULL;
    if (!text)
        return SR_OK;
    SR_TRY(sr_json_parse(&r->h->arena, text, strlen(text), "line", &line));
    *out = line;
    return SR_OK;
}

static SrStatus add_epoch(Reader *r, const SrYaml *line, const char *text) {
    SrHistory *h = r->h;
    SrHistoryEpoch e = {.epoch = number(line, "train_phase_idx"),
                        .loss = number(line, "train_loss"),
                        .seconds = number(line, "seconds"),
                        .knn = number(line, "probe_knn_top1"),
                        .linear = number(line, "probe_linear_top1"),
                        .test = phase_top1(line, "test_"),
                        .train_top = phase_top1(line, "train_")};
    if (sr_yaml_find(line, "layer_test_images"))
        SR_TRY(keep(r, LAYERS, text));
    else if (sr_yaml_find(line, "labels"))
        SR_TRY(keep(r, KNN, text));
    if (sr_tree_bool(line, "before_after", false))
        SR_TRY(keep(r, CHANGE, text));
    if (sr_yaml_find(line, "effective_rank"))
        SR_TRY(keep(r, EMBEDDINGS, text));
    if (isnan(e.epoch) || h->n_epochs == MAX_EPOCHS)
        return SR_OK;
    if (!isnan(e.loss)) // first line of an epoch
        while (h->n_epochs > 0 && h->epoch[h->n_epochs - 1].epoch >= e.epoch)
            h->n_epochs--;
    if (h->n_epochs == r->epoch_cap) {
        SR_TRY(resize(&h->epoch, 2 * r->epoch_cap + 64, sizeof *h->epoch));
        r->epoch_cap = 2 * r->epoch_cap + 64;
    }
    h->epoch[h->n_epochs++] = e;
    return SR_OK;
}

// ---- warnings -----------------------------------------------------------------------------------

#define FINISHED ": training has finished (" // the log's line of a start that has nothing to train

// Different warnings of one start, with the number of times that each came.
typedef struct {
    int n;
    char *said[SR_HISTORY_WARNINGS];
    int times[SR_HISTORY_WARNINGS];
} Warnings;

static void forget_warnings(Warnings *w) {
    for (int i = 0; i < w->n; i++)
        sr_free(w->said[i]);
    *w = (Warnings){.n = 0};
}

static SrStatus add_warning(Warnings *w, const char *said) {
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->said[i], said) == 0) {
            w->times[i]++;
            return SR_OK;
        }
    if (w->n == SR_COUNT(w->said))
        return SR_OK;
    w->said[w->n] = sr_strdup(said);
    if (!w->said[w->n])
        return out_of_memory();
    w->times[w->n++] = 1;
    return SR_OK;
}

typedef struct {
    Warnings now, before; // of the present start, and of the start before it
    bool begun;           // `before` is filled
} Starts;

// Takes a line "YYYY-MM-DD HH:MM:SS ...".  "==== command" begins a start.
static SrStatus add_log_line(Starts *s, const char *line, size_t n) {
    const char *said = line + 20;
    if (strlen(line) < 21 || n < 21) // too short, or begins with zero bytes after a power cut
        return SR_OK;
    if (strncmp(said, "====", 4) == 0) {
        forget_warnings(&s->before);
        s->before = s->now;
        s->now = (Warnings){.n = 0};
        s->begun = true;
    } else if (s->begun && strstr(said, FINISHED)) {
        forget_warnings(&s->now);
        s->now = s->before;
        s->before = (Warnings){.n = 0};
        s->begun = false;
    } else if (strncmp(said, "warning: ", 9) == 0) {
        return add_warning(&s->now, said + 9);
    }
    return SR_OK;
}

static SrStatus read_starts(const char *path, Starts *s) {
    SrLines lines;
    char *line;
    size_t n;
    SR_TRY(sr_lines_open(&lines, path, MAX_BYTES));
    SrStatus status = sr_lines_next(&lines, &line, &n);
    while (status == SR_OK && line) {
        status = add_log_line(s, line, n);
        if (status == SR_OK)
            status = sr_lines_next(&lines, &line, &n);
    }
    sr_lines_close(&lines);
    return status;
}

// Reads the warnings of the last start that trained.  Later starts found the run finished: they add
// warnings of an evaluation only.
static SrStatus read_warnings(SrHistory *h, const char *run) {
    char path[4096];
    Starts s = {.begun = false};
    SR_TRY(sr_file_join(path, sizeof path, run, "log.txt"));
    if (!sr_file_exists(path))
        return SR_OK;
    SrStatus status = read_starts(path, &s);
    for (int i = 0; status == SR_OK && i < s.now.n; i++) {
        h->warning[i] = sr_arena_strdup(&h->arena, s.now.said[i]);
        h->times[i] = s.now.times[i];
        h->n_warnings += h->warning[i] != NULL;
        status = h->warning[i] ? SR_OK : out_of_memory();
    }
    forget_warnings(&s.now);
    forget_warnings(&s.before);
    return status;
}

SrStatus sr_history_read(const char *run, SrHistory *out) {
    *out = (SrHistory){.n_steps = 0};
    Reader r = {.h = out, .every = 1};
    SrStatus status;
    SR_TRY_GOTO(read_lines(&r, run, "stdout.json", add_step));
    r.every = 1;
    SR_TRY_GOTO(read_lines(&r, run, "metrics.json", add_epoch));
    SR_TRY_GOTO(parse_kept(&r, KNN, &out->knn));
    SR_TRY_GOTO(parse_kept(&r, LAYERS, &out->layers));
    SR_TRY_GOTO(parse_kept(&r, CHANGE, &out->change));
    SR_TRY_GOTO(parse_kept(&r, EMBEDDINGS, &out->embeddings));
    SR_TRY_GOTO(read_warnings(out, run));
done:
    for (int i = 0; i < KEPT; i++)
        sr_free(r.kept[i]);
    if (status != SR_OK)
        sr_history_deinit(out);
    return status;
}

SrStatus sr_history_best_layer(const char *run, char *out, size_t n) {
    SrHistory history;
    SR_TRY(sr_history_read(run, &history));
    snprintf(out, n, "%s", history.layers ? sr_tree_text(history.layers, "best_layer", "") : "");
    sr_history_deinit(&history);
    return SR_OK;
}

void sr_history_deinit(SrHistory *h) {
    for (int s = 0; s < h->n_series; s++)
        sr_free(h->series[s].y);
    sr_free(h->iteration);
    sr_free(h->time_s);
    sr_free(h->epoch);
    sr_arena_deinit(&h->arena);
    *h = (SrHistory){.n_steps = 0};
}

const SrSeries *sr_history_find(const SrHistory *h, const char *key) {
    for (int s = 0; s < h->n_series; s++)
        if (strcmp(h->series[s].key, key) == 0)
            return &h->series[s];
    return NULL;
}

double sr_history_last(const SrHistory *h, const char *key) {
    const SrSeries *s = sr_history_find(h, key);
    for (int i = h->n_steps - 1; s && i >= 0; i--)
        if (!isnan(s->y[i]))
            return s->y[i];
    return NAN;
}

double sr_history_seconds(const SrHistory *h) {
    double sum = 0;
    for (int i = 0; i < h->n_epochs; i++)
        sum += isnan(h->epoch[i].seconds) ? 0 : h->epoch[i].seconds;
    return sum > 0 || h->n_steps == 0 ? sum : h->time_s[h->n_steps - 1];
}
