// sslrun doctor RUN: lists the findings of the run's own checks and of its evaluation, from its
// metrics.json.  Exit code 1: there are findings.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/yaml_edit.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "pages/runs/run_verdict.h"

enum { MAX_KINDS = 32, MAX_BYTES = 1 << 28 };

// One kind of finding: the epochs that report it, and its latest text.
typedef struct {
    char name[48], text[640];
    int64_t first, last, times;
} Kind;

typedef struct {
    int n;
    int64_t epochs; // finished epochs of the run
    Kind kind[MAX_KINDS];
} Findings;

static Kind *kind_of(Findings *f, const char *name, int64_t epoch) {
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->kind[i].name, name) == 0)
            return &f->kind[i];
    if (f->n == MAX_KINDS)
        return NULL;
    Kind *k = &f->kind[f->n++];
    snprintf(k->name, sizeof k->name, "%s", name);
    k->first = epoch;
    return k;
}

static void take(Findings *f, const SrYaml *line) {
    int64_t epoch = sr_tree_int(line, "train_phase_idx", 0);
    const char *name = sr_tree_text(line, "health", "");
    Kind *k = *name ? kind_of(f, name, epoch) : NULL;
    if (sr_yaml_find(line, "train_loss"))
        f->epochs = epoch + 1;
    if (!k)
        return;
    snprintf(k->text, sizeof k->text, "%s", sr_tree_text(line, "finding", ""));
    k->last = epoch;
    k->times++;
}

// Reads metrics.json line by line; skips a line that a killed run left incomplete.
static SrStatus read_lines(Findings *f, char *text, const char *file) {
    for (char *line = text, *end; line && *line; line = end) {
        SrArena arena = SR_ARENA_INIT;
        SrYaml *tree = NULL;
        end = strchr(line, '\n');
        size_t bytes = end ? (size_t)(end - line) : strlen(line);
        SrStatus status =
            bytes > 0 ? sr_json_parse(&arena, line, bytes, file, &tree) : SR_ERR_CONFIG;
        if (status == SR_OK)
            take(f, tree);
        sr_arena_deinit(&arena);
        if (status == SR_ERR_MEMORY)
            return status;
        end = end ? end + 1 : NULL;
    }
    return SR_OK;
}

static void list(const Findings *f, int trouble, const char *run, SrText *out) {
    for (int i = 0; i < f->n; i++) {
        const Kind *k = &f->kind[i];
        sr_text_printf(out, "%s (epoch %lld", k->name, (long long)k->first);
        if (k->last > k->first)
            sr_text_printf(out, " to %lld, %lld times", (long long)k->last, (long long)k->times);
        sr_text_printf(out, "): %s\n", k->text);
    }
    if (trouble == 0)
        sr_text_printf(out, "%s: no problems were found in %lld epoch%s\n", run,
                       (long long)f->epochs, f->epochs == 1 ? "" : "s");
}

// Adds the evaluation's verdict and the comparison with the starting weights.  Each counts as a
// finding in *trouble: the first unless training helped, the second if it made the features worse.
static SrStatus judge(const char *run, int *trouble, SrText *out) {
    SrHistory history;
    SrText text = SR_TEXT_INIT;
    SR_TRY(sr_history_read(run, &history));
    SrVerdict verdict = sr_run_verdict(&history, &text);
    if (verdict != SR_VERDICT_NONE)
        sr_text_printf(out, "evaluation: %s\n", text.s ? text.s : "");
    *trouble += verdict > SR_VERDICT_HELPED;
    sr_text_deinit(&text);
    verdict = sr_run_change(&history, &text);
    if (verdict != SR_VERDICT_NONE)
        sr_text_printf(out, "before and after: %s\n", text.s ? text.s : "");
    *trouble += verdict > SR_VERDICT_HELPED;
    sr_text_deinit(&text);
    sr_history_deinit(&history);
    return SR_OK;
}

static SrStatus run_verb(int argc, char **argv) {
    static Findings findings; // 22 kB
    SrArgs args;
    char path[4096], *text = NULL;
    size_t bytes = 0;
    SrText next = SR_TEXT_INIT, out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, NULL, NULL, &args));
    if (args.n_names != 1 || args.n_overrides)
        SR_FAIL(SR_ERR_CONFIG, "sslrun doctor: no run is named; give the folder of one");
    SR_TRY(sr_file_join(path, sizeof path, args.names[0], "metrics.json"));
    errno = 0;
    SrStatus status = sr_file_read(path, MAX_BYTES, &text, &bytes);
    if (status == SR_ERR_MEMORY || (status == SR_ERR_IO && errno && !sr_file_is_own_fault(errno)))
        return status;
    if (status != SR_OK)
        SR_FAIL(SR_ERR_CONFIG, "%s is not the folder of a run that has finished an epoch: %s",
                args.names[0], sr_status_message());
    status = read_lines(&findings, text, path);
    sr_free(text);
    SR_TRY(status);
    if (findings.n == 0 && findings.epochs == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: the file has no line of a finished epoch; wait until the run has finished one",
                path);
    int trouble = findings.n;
    status = judge(args.names[0], &trouble, &out);
    list(&findings, trouble, args.names[0], &out);
    if (status == SR_OK)
        status = sr_args_print(&out);
    sr_text_deinit(&out);
    SR_TRY(status);
    SR_NEXT(&next, "writes the page of the run, with its curves", "report", args.names[0]);
    sr_next_say(&next);
    if (trouble > 0)
        SR_FAIL(SR_ERR_RUN, "%d problem%s in %s", trouble, trouble == 1 ? "" : "s", args.names[0]);
    return SR_OK;
}

const SrVerb sr_verb_doctor = {
    .name = "doctor",
    .group = SR_VERB_LOOK,
    .args = "RUN",
    .summary = "lists what a run's own checks and its evaluation found",
    .help =
        "During training the program looks for collapse, a loss that says nothing, a teacher that "
        "stands still and gradients that vanish. The evaluation adds whether training has helped "
        "at all, and a run that began from weights whether it made them better or worse.",
    .examples = {{"sslrun doctor runs/photos", "Lists the findings of a run."}},
    .files = "RUN/metrics.json holds the findings.",
    .exit = "0: no problems; 1: there are findings; 2: RUN is no run folder.",
    .run = run_verb,
};
