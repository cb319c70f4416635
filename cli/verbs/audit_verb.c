// sslrun audit DIR: trains on a folder, then looks for everything that is wrong with it.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/number.h"
#include "base/text/yaml_edit.h"
#include "cli/args/folder_args.h"
#include "cli/findings.h"
#include "cli/verb.h"
#include "folder/image_set.h"

extern char **environ;

enum { MINUTES = 30, PATH_BYTES = 4096, WORDS = 24, ARGUMENT_BYTES = 32 };
#define MOST_BYTES ((size_t)1 << 30) // of the lines of one search

typedef struct {
    SrFindingsArgs to;
    const char *model, *layer, *out, *memory;
    int minutes;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_NUMBER(Options, minutes, "--minutes", "minutes that training may take (30)"),
    SR_FLAG_TEXT(Options, model, "--model", "RUN", "a trained run, instead of training one"),
    SR_FLAG_TEXT(Options, layer, "--layer", "NAME", "feature to compare (the run's best)"),
    SR_FLAG_TEXT(Options, memory, "--memory", "SIZE",
                 "most memory for the rows of all images (2G)"),
    SR_FLAG_TEXT(Options, out, "--out", "DIR", "folder of run, lists and page (audit)"),
    SR_FINDINGS_FLAGS(Options),
    {0}};

// ---- commands -----------------------------------------------------------------------------------

// Words of a command of this program, NULL at the end.
typedef struct {
    const char *v[WORDS];
    int n;
} Words;

static void add_word(Words *w, const char *word) {
    if (w->n + 1 < WORDS)
        w->v[w->n++] = word;
}

// Runs a command of this program and waits.  stdout goes to `file`, or to stderr without one, so
// that it does not mix with the findings.  *code: exit code.
static SrStatus run(const Words *w, const char *file, int *code) {
    char *words[WORDS + 1] = {(char *)(uintptr_t)sr_args_program()};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int state = 0;
    for (int i = 0; i < w->n; i++)
        words[i + 1] = (char *)(uintptr_t)w->v[i];
    if (posix_spawn_file_actions_init(&actions) != 0)
        return sr_out_of_memory("a command");
    int failed = file ? posix_spawn_file_actions_addopen(&actions, 1, file,
                                                         O_WRONLY | O_CREAT | O_TRUNC, 0666)
                      : posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (!failed)
        failed = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        SR_FAIL(SR_ERR_IO, "a command of the audit could not be started: %s", strerror(failed));
    while (waitpid(pid, &state, 0) < 0)
        continue;
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (*code >= 128)
        SR_FAIL(SR_ERR_RUN, "a command of the audit was stopped; the same command continues");
    return SR_OK;
}

static SrStatus run_well(const Words *w) {
    int code;
    SR_TRY(run(w, NULL, &code));
    if (code != 0)
        SR_FAIL(SR_ERR_RUN, "`%s` failed with exit code %d: its message is above", w->v[0], code);
    return SR_OK;
}

// ---- training -----------------------------------------------------------------------------------

// Trains on the folder and writes the run's path.  A run that is complete is not trained again.
static SrStatus train(const Options *o, const char *data, char run_dir[PATH_BYTES]) {
    char config[PATH_BYTES], folder[PATH_BYTES + ARGUMENT_BYTES], minutes[16];
    snprintf(config, sizeof config, "%.3900s/audit.yaml", o->out);
    snprintf(run_dir, PATH_BYTES, "%.3900s/run", o->out);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", run_dir);
    snprintf(minutes, sizeof minutes, "%d", o->minutes);
    SR_TRY(sr_file_mkdirs(o->out));
    if (!sr_file_exists(config)) {
        Words init = {{"init", data, "--minutes", minutes, "--out", config}, 6};
        SR_TRY(run_well(&init));
    }
    Words words = {{"train", config, folder}, 3};
    return run_well(&words);
}

// ---- searches -----------------------------------------------------------------------------------

typedef struct {
    const char *verb;    // that prints a JSON line per finding
    const char *heading; // on the page
    bool model;          // takes --model and --layer
    bool memory;         // takes --memory
    bool labels;         // needs classes
} Search;

static const Search searches[] = {
    {"tidy", "Files to look at", false, false, false},
    {"duplicates", "Images that look alike", true, true, false},
    {"outliers", "Images that do not belong", true, true, false},
    {"mislabeled", "Labels that are probably wrong", true, true, true},
};

typedef struct {
    const Options *o;
    SrFindings f;
    int64_t found[SR_COUNT(searches)];
} Audit;

static double number(const SrYaml *line, const char *key) {
    const SrYaml *v = sr_yaml_find(line, key);
    return v && (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT) ? v->f : 0;
}

static void add(Audit *a, const Search *s, const char *file, const char *detail,
                const char *heading) {
    SrField field[] = {{"search", s->verb, 0, 0}, {"detail", detail, 0, 0}, {"file", file, 0, 0}};
    sr_findings_add(&a->f, field, SR_COUNT(field));
    sr_findings_photo(&a->f, file, detail, heading);
}

// Adds the images of a line: one file, or a group of files.
static void add_line(Audit *a, int s, const SrYaml *line) {
    const Search *search = &searches[s];
    const SrYaml *files = sr_yaml_find(line, "files");
    const char *suggested = sr_tree_text(line, "suggested", "");
    const char *issue = sr_tree_text(line, "issue", "");
    char detail[160];
    a->found[s]++;
    if (files && files->type == SR_YAML_LIST) {
        snprintf(detail, sizeof detail, "group %lld", (long long)a->found[s]);
        for (int i = 0; i < files->n; i++)
            add(a, search, files->items[i]->text ? files->items[i]->text : "", detail,
                search->heading);
        return;
    }
    if (*issue)
        snprintf(detail, sizeof detail, "%s", issue);
    else if (*suggested)
        sr_number_print(detail, sizeof detail, "%.50s, rather %.50s, %.0f%%",
                        sr_tree_text(line, "given", ""), suggested,
                        100 * number(line, "confidence"));
    else
        sr_number_print(detail, sizeof detail, "distance %.3f", number(line, "distance"));
    add(a, search, sr_tree_text(line, "file", ""), detail, search->heading);
}

static SrStatus read_lines(Audit *a, int s, const char *file) {
    char *text;
    size_t bytes;
    SrArena arena = SR_ARENA_INIT;
    SrStatus status = SR_OK;
    SR_TRY(sr_file_read(file, MOST_BYTES, &text, &bytes));
    for (char *at = text, *end; status == SR_OK && (end = strchr(at, '\n')); at = end + 1) {
        SrYaml *line;
        status = sr_json_parse(&arena, at, (size_t)(end - at), file, &line);
        if (status == SR_OK)
            add_line(a, s, line);
        sr_arena_deinit(&arena);
    }
    sr_arena_deinit(&arena);
    sr_free(text);
    return status;
}

static SrStatus search(Audit *a, int s, const char *data, const char *model) {
    const Search *search_ = &searches[s];
    char file[PATH_BYTES];
    int code;
    Words w = {{"-q", search_->verb, data, "--json"}, 4}; // no remarks of what to do next
    snprintf(file, sizeof file, "%.3900s/%s.jsonl", a->o->out, search_->verb);
    if (search_->model) {
        add_word(&w, "--model");
        add_word(&w, model);
    }
    if (search_->model && a->o->layer) {
        add_word(&w, "--layer");
        add_word(&w, a->o->layer);
    }
    if (search_->memory && a->o->memory) {
        add_word(&w, "--memory");
        add_word(&w, a->o->memory);
    }
    SR_TRY(run(&w, file, &code));
    if (code != 0)
        SR_FAIL(SR_ERR_RUN, "`%s` failed with exit code %d: its message is above", search_->verb,
                code);
    return read_lines(a, s, file);
}

static SrStatus search_all(Audit *a, const char *data, const char *model) {
    SrImageSet images;
    SR_TRY(sr_image_set_open(data, &images));
    int classes = images.classes;
    sr_image_set_close(&images);
    for (int s = 0; s < SR_COUNT(searches); s++) {
        if (searches[s].labels && classes < 2)
            sr_info("%s has no classes, so that there are no labels to judge", data);
        else
            SR_TRY(search(a, s, data, model));
    }
    return SR_OK;
}

static SrStatus finish(Audit *a, const char *data) {
    char title[300], intro[400];
    int64_t all = 0;
    snprintf(title, sizeof title, "Audit of %.200s", data);
    snprintf(
        intro, sizeof intro,
        "%lld findings about files, %lld groups of images that look alike, %lld outliers, %lld "
        "labels that are probably wrong. Nothing was moved or deleted.",
        (long long)a->found[0], (long long)a->found[1], (long long)a->found[2],
        (long long)a->found[3]);
    for (int s = 0; s < SR_COUNT(searches); s++)
        all += a->found[s];
    sr_info("%s", intro);
    return sr_findings_end(&a->f, title, intro, all, "findings, groups, outliers and labels");
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.minutes = MINUTES, .out = "audit"};
    Audit a = {.o = &o};
    SrArgs args;
    char page[PATH_BYTES], model[PATH_BYTES];
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_args_no_overrides(&args, "audit"));
    if (args.n_names != 1 || o.minutes < 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun audit needs one folder of images, and --minutes of at "
                               "least 1");
    SR_TRY(sr_args_check_images("sslrun audit", args.names[0]));
    snprintf(page, sizeof page, "%.3900s/audit.html", o.out);
    o.to.page = o.to.page ? o.to.page : page;
    SrStatus status = sr_findings_init(&o.to, &a.f);
    if (status == SR_OK && o.model)
        status = sr_file_mkdirs(o.out);
    if (status == SR_OK && !o.model)
        status = train(&o, args.names[0], model);
    if (status == SR_OK)
        status = search_all(&a, args.names[0], o.model ? o.model : model);
    if (status == SR_OK)
        status = finish(&a, args.names[0]);
    sr_findings_deinit(&a.f);
    return status;
}

const SrVerb sr_verb_audit = {
    .name = "audit",
    .group = SR_VERB_FOLDER,
    .args = "DIR",
    .summary = "trains on a folder, then looks for its faults",
    .help = "The model learns from this very folder, without labels (SelfClean, Groeger et al., "
            "2024). Then `tidy`, `duplicates`, `outliers` and, where subfolders are classes, "
            "`mislabeled` look at its images. One page shows what they found.\n\nA stopped audit "
            "is continued by the same command: neither the training nor the index starts over. "
            "Nothing is moved or deleted.",
    .examples = {{"sslrun audit photos --model runs/photos", "Looks at photos by a trained run."}},
    .files = "audit/ (--out): audit.yaml, run/, a .jsonl for each search, and audit.html.",
    .exit = "0: done; 1: failed, or --check and something was found; 2: wrong usage.",
    .flags = flags,
    .run = run_verb,
};
