// sslrun select N DIR --model RUN: chooses the images that are worth a label.
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/findings.h"
#include "cli/folder_rows.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "folder/selection.h"

typedef struct {
    SrFolderArgs folder;
    SrFindingsArgs to;
    const char *memory, *method, *have;
    int seed;
} Options;

static const SrFlag flags[] = {
    SR_FOLDER_FLAGS(Options),
    SR_FLAG_TEXT(Options, method, "--method", "NAME",
                 "typical (few labels), centres (many labels) or both (typical)"),
    SR_FLAG_TEXT(Options, have, "--have", "LIST",
                 "file of images that have labels, one path per line"),
    SR_FLAG_NUMBER(Options, seed, "--seed", "seed of the clusters (0)"),
    SR_FOLDER_MEMORY_FLAG(Options),
    SR_FINDINGS_FORMS(Options),
    {0}};

static SrStatus parse_method(const char *text, SrSelectMethod *out) {
    static const char *const names[] = {"typical", "centres", "both"};
    for (int i = 0; i < SR_COUNT(names); i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (SrSelectMethod)i;
            return SR_OK;
        }
    SR_FAIL(SR_ERR_CONFIG, "--method %s: expected typical, centres or both", text);
}

static SrStatus parse_count(const char *text, int64_t *out) {
    char *end;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || *out < 1)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun select %s: the number of images comes first, as in sslrun select 100 "
                "photos --model runs/photos",
                text);
    return SR_OK;
}

// Rows of the images that a list names, each once.
typedef struct {
    int64_t *row, n;
} Have;

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Looks the lines of a list up in the index.  text is changed.
static SrStatus find_rows(char *text, const char *list, const SrFolderRows *rows, Have *out) {
    int64_t lines = 1, unknown = 0, kept = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    out->row = sr_alloc((size_t)lines * sizeof *out->row);
    SR_TRY_MEMORY(out->row, "the list %s", list);
    for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        line[strcspn(line, "\r")] = '\0';
        int64_t row = *line ? sr_index_find(rows->index, line) : -1;
        unknown += *line && row < 0;
        if (row >= 0)
            out->row[out->n++] = row;
    }
    qsort(out->row, (size_t)out->n, sizeof *out->row, by_value);
    for (int64_t i = 0; i < out->n; i++)
        if (i == 0 || out->row[i] != out->row[kept - 1])
            out->row[kept++] = out->row[i];
    out->n = kept;
    if (unknown > 0)
        sr_warn("%s: %lld images are not in the folder and do not count", list, (long long)unknown);
    return SR_OK;
}

static SrStatus read_have(const char *list, const SrFolderRows *rows, Have *out) {
    char *text;
    size_t bytes;
    if (!list)
        return SR_OK;
    SR_TRY(sr_file_read(list, (size_t)1 << 30, &text, &bytes));
    SrStatus status = find_rows(text, list, rows, out);
    sr_free(text);
    return status;
}

static void add(SrFindings *f, const SrFolderRows *rows, int64_t place, int64_t row) {
    const char *name = sr_folder_rows_name(rows, row);
    SrField field[] = {{"place", NULL, (double)(place + 1), 0}, {"file", name, 0, 0}};
    char caption[32];
    // Text is a list of paths alone, so that it is a list for --have and for training.
    sr_findings_add(f, f->to.json || f->to.csv ? field : field + 1,
                    f->to.json || f->to.csv ? 2 : 1);
    snprintf(caption, sizeof caption, "%lld", (long long)(place + 1));
    sr_findings_photo(f, name, caption, "");
}

static SrStatus report(const Options *o, SrSelectMethod method, int64_t k,
                       const SrFolderRows *rows) {
    Have have = {0};
    SrFindings f = {.n = 0};
    SrStatus status;
    int64_t *chosen = NULL;
    SR_TRY_GOTO(sr_findings_init(&o->to, &f));
    SR_TRY_GOTO(read_have(o->have, rows, &have));
    chosen = sr_alloc((size_t)SR_MIN(k, rows->rows.n) * sizeof *chosen);
    if (!chosen) {
        status = sr_out_of_memory("a choice");
        goto done;
    }
    const SrSelectOptions options = {method, have.row, have.n, (uint64_t)o->seed};
    SR_TRY_GOTO(sr_select_rows(&options, &rows->rows, k, chosen));
    for (int64_t i = 0; i < k; i++)
        add(&f, rows, i, chosen[i]);
    status = sr_findings_end(&f, "Images to label",
                             "The most useful first: any number of them from the start is a good "
                             "choice.",
                             0, "");
done:
    sr_findings_deinit(&f);
    sr_free(have.row);
    sr_free(chosen);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.method = "typical"};
    SrArgs args;
    SrFolderRows rows;
    SrSelectMethod method = SR_SELECT_TYPICAL;
    int64_t k;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_args_no_overrides(&args, "select"));
    if (args.n_names != 2)
        SR_FAIL(SR_ERR_CONFIG, "sslrun select needs a number and a folder of images, and a model "
                               "with --model");
    SR_TRY(parse_count(args.names[0], &k));
    SR_TRY(parse_method(o.method, &method));
    if (o.seed < 0)
        SR_FAIL(SR_ERR_CONFIG, "--seed %d: expected 0 or more", o.seed);
    SR_TRY(sr_folder_rows_open(&o.folder, "sslrun select", args.names[1], o.memory,
                               SR_FOLDER_ROWS_SEARCH, &rows));
    SrStatus status = report(&o, method, k, &rows);
    sr_folder_rows_close(&rows);
    return status;
}

const SrVerb sr_verb_select = {
    .name = "select",
    .group = SR_VERB_FOLDER,
    .args = "N DIR --model RUN",
    .summary = "chooses the images of a folder that are worth a label",
    .help = "The list is ordered: its first ten are the choice of ten. Typical images of all "
            "clusters are best for few labels. Centres cover the folder: every image is near a "
            "chosen one, which pays for many labels but picks outliers too. Both takes centres "
            "among the more typical half.\n\nImages of --have count as chosen: more labels for the "
            "same folder continue the list.",
    .examples = {{"sslrun select 10 photos --model runs/photos", "Names ten images to label."},
                 {"sslrun select 10 photos --model runs/photos --method both --csv",
                  "Prints the choice as a table."}},
    .files = "The index of the folder is read and brought up to date (sslrun index).",
    .flags = flags,
    .run = run_verb,
};
