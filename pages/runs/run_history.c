// Reads the files that a run has written about itself; skips damaged lines.
#include "pages/runs/run_history.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/yaml_edit.h"

// MAX_BYTES: only this much of the end of a longer file is read.  The first line may then be
// incomplete, and is skipped because it is no JSON.
enum { MAX_BYTES = 1 << 28, MAX_LINE = 1 << 16, MAX_STEPS = 20000, MAX_EPOCHS = 100000 };

typedef struct {
    SrHistory *h;
    int step_cap, epoch_cap;
    int64_t lines, every; // lines of stdout.json so far; one of `every` lines is kept
} Reader;

static SrStatus out_of_memory(void) { return sr_out_of_memory("the history of a run"); }

// ---- lines --------------------------------------------------------------------------------------

typedef SrStatus (*LineFn)(Reader *r, const SrYaml *line);

// Parses a line; skips it if it is no JSON object.
static SrStatus parse_line(Reader *r, const char *text, size_t n, SrArena *arena, LineFn fn) {
    SrYaml *line = NULL;
    if (n == 0 || n > MAX_LINE)
        return SR_OK;
    SrStatus status = sr_json_parse(arena, text, n, "line", &line);
    if (status == SR_ERR_MEMORY)
        return status;
    if (status != SR_OK || line->type != SR_YAML_MAP)
        return SR_OK;
    return fn(r, line);
}

static SrStatus read_lines(Reader *r, const char *run, const char *name, bool keep, LineFn fn) {
    char path[4096], *text;
    struct stat st;
    size_t n;
    SR_TRY(sr_file_join(path, sizeof path, run, name));
    if (!sr_file_exists(path))
        return SR_OK;
    SR_TRY(sr_file_read_end(path, MAX_BYTES, &text, &n));
    if (stat(path, &st) != 0)
        st.st_mtime = 0;
    r->h->mtime = SR_MAX(r->h->mtime, (int64_t)st.st_mtime);
    SrStatus status = SR_OK;
    r->lines = 0;
    for (char *at = text; status == SR_OK && at < text + n; r->lines++) {
        char *end = memchr(at, '\n', (size_t)(text + n - at));
        SrArena own = SR_ARENA_INIT;
        if (!end)
            break; // incomplete
        if (keep || r->lines % r->every == 0)
            status = parse_line(r, at, (size_t)(end - at), keep ? &r->h->arena : &own, fn);
        sr_arena_deinit(&own);
        at = end + 1;
    }
    sr_free(text);
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

static SrStatus add_step(Reader *r, const SrYaml *line) {
    SrHistory *h = r->h;
    const SrYaml *iter = sr_yaml_find(line, "iter"), *btime = sr_yaml_find(line, "btime(ms)");
    if (!iter || iter->type != SR_YAML_INT)
        return SR_OK;
    forget_from(h, iter->f);
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

static SrStatus add_epoch(Reader *r, const SrYaml *line) {
    SrHistory *h = r->h;
    SrHistoryEpoch e = {.epoch = number(line, "train_phase_idx"),
                        .loss = number(line, "train_loss"),
                        .seconds = number(line, "seconds"),
                        .knn = number(line, "probe_knn_top1"),
                        .linear = number(line, "probe_linear_top1"),
                        .test = phase_top1(line, "test_"),
                        .train_top = phase_top1(line, "train_")};
    if (sr_yaml_find(line, "layer_test_images"))
        h->layers = line;
    else if (sr_yaml_find(line, "labels"))
        h->knn = line;
    if (sr_tree_bool(line, "before_after", false))
        h->change = line;
    if (sr_yaml_find(line, "effective_rank"))
        h->embeddings = line;
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

// Adds a warning, or counts it if an earlier epoch gave the same one.
static void add_warning(SrHistory *h, const char *said) {
    for (int i = 0; i < h->n_warnings; i++)
        if (h->warning[i] && strcmp(h->warning[i], said) == 0) {
            h->times[i]++;
            return;
        }
    if (h->n_warnings == SR_COUNT(h->warning))
        return;
    h->times[h->n_warnings] = 1;
    h->warning[h->n_warnings++] = sr_arena_strdup(&h->arena, said);
}

// Returns the last start that trained, a line "... ==== command".  text: n bytes.
static char *last_training(char *text, size_t n) {
    char *at = text, *before = text;
    for (char *line = text, *end; (end = memchr(line, '\n', n - (size_t)(line - text)));
         line = end + 1) {
        *end = '\0';
        if (strlen(line) >= 21 && strncmp(line + 20, "====", 4) == 0) {
            before = at;
            at = line;
        } else if (strstr(line, FINISHED)) {
            at = before;
        }
        *end = '\n';
    }
    return at;
}

// Reads lines "YYYY-MM-DD HH:MM:SS warning: ..." of the last start that trained.  Later starts
// found the run finished: they add warnings of an evaluation only.
static SrStatus read_warnings(SrHistory *h, const char *run) {
    char path[4096], *text;
    size_t n;
    int before = 0; // warnings before the present start
    SR_TRY(sr_file_join(path, sizeof path, run, "log.txt"));
    if (!sr_file_exists(path))
        return SR_OK;
    SR_TRY(sr_file_read_end(path, MAX_BYTES, &text, &n));
    for (char *line = last_training(text, n), *end;
         (end = memchr(line, '\n', n - (size_t)(line - text))); line = end + 1) {
        *end = '\0';
        if (strlen(line) < 21) // too short, or begins with zero bytes after a power cut
            continue;
        char *said = line + 20;
        if (strncmp(said, "====", 4) == 0)
            before = h->n_warnings;
        if (strstr(said, FINISHED))
            h->n_warnings = before;
        if (strncmp(said, "warning: ", 9) == 0)
            add_warning(h, said + 9);
    }
    sr_free(text);
    return SR_OK;
}

// Returns the distance of lines that are kept, from the file's length: about MAX_STEPS lines are
// enough for every curve.
static int64_t lines_apart(const char *run) {
    char path[4096];
    struct stat st;
    if (sr_file_join(path, sizeof path, run, "stdout.json") != SR_OK || stat(path, &st) != 0)
        return 1;
    return 1 + SR_MIN(st.st_size, MAX_BYTES) / 150 / MAX_STEPS; // a line has about 150 bytes
}

SrStatus sr_history_read(const char *run, SrHistory *out) {
    *out = (SrHistory){.n_steps = 0};
    Reader r = {.h = out, .every = lines_apart(run)};
    SrStatus status;
    SR_TRY_GOTO(read_lines(&r, run, "stdout.json", false, add_step));
    r.every = 1;
    SR_TRY_GOTO(read_lines(&r, run, "metrics.json", true, add_epoch));
    SR_TRY_GOTO(read_warnings(out, run));
done:
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
