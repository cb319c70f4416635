// Every configuration file of VISSL (configs/config/ here, recreated from VISSL's tables) passes
// `sslrun check` as written, or the error names exactly the plugins that are not built. files.txt
// lists what each file names, models.txt the model overrides of the benchmarks. The registries
// tell what is built, so that a new loss is tried on VISSL's files at once. Runs from the
// project's folder, as `make test` does.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/collator.h"
#include "data/dataset.h"
#include "data/transform.h"
#include "heads/head.h"
#include "losses/loss.h"
#include "tests/check.h"
#include "trainer/config/config.h"
#include "trainer/optim/optimizer.h"
#include "trainer/run/run.h"
#include "trunks/trunk.h"

enum { MAX_PIECES = 64, MAX_OVERRIDES = 16 };

typedef struct {
    char text[1 << 14]; // the names of pieces point into it
    size_t used;
    const char *kind[MAX_PIECES], *name[MAX_PIECES];
    int n;
} Pieces;

// Asks the registries and not the code under test (trainer/config/vissl/vissl_names.c).
static bool is_built(const char *kind, const char *name) {
    union {
        const SrTrunk *trunk;
        const SrLoss *loss;
        const SrHead *head;
        const SrTransform *transform;
        const SrCollator *collator;
        const SrDataset *source;
        const SrOptimizer *optimizer;
    } p;
    if (!strcmp(kind, "trunk"))
        return sr_trunk_find(name, &p.trunk) == SR_OK;
    if (!strcmp(kind, "loss"))
        return sr_loss_find(name, &p.loss) == SR_OK;
    if (!strcmp(kind, "head"))
        return sr_head_find(name, &p.head) == SR_OK;
    if (!strcmp(kind, "transform"))
        return sr_transform_find(name, &p.transform) == SR_OK;
    if (!strcmp(kind, "collator"))
        return sr_collator_find(name, &p.collator) == SR_OK;
    if (!strcmp(kind, "data source"))
        return sr_dataset_find(name, &p.source) == SR_OK;
    if (!strcmp(kind, "optimizer"))
        return sr_optimizer_find(name, &p.optimizer) == SR_OK;
    CHECK_STR(kind, "augly's transform");
    return false;
}

// Parses "needs trunk resnet, data source disk_folder": the name is the last word of each piece.
static void add_pieces(Pieces *pieces, const char *list) {
    char *text = pieces->text + pieces->used;
    size_t len = strlen(list) + 1;
    CHECK(pieces->used + len < sizeof pieces->text);
    memcpy(text, list, len);
    pieces->used += len;
    for (char *next, *piece = text; piece; piece = next) {
        next = strstr(piece, ", ");
        if (next) {
            *next = '\0';
            next += 2;
        }
        char *blank = strrchr(piece, ' ');
        CHECK(blank && pieces->n < MAX_PIECES);
        *blank = '\0';
        pieces->kind[pieces->n] = piece;
        pieces->name[pieces->n++] = blank + 1;
    }
}

// Writes the text with which the error must end; empty: the file must pass.
static void expectation(const Pieces *pieces, SrText *out) {
    int missing = 0;
    for (int i = 0; i < pieces->n; i++)
        if (strcmp(pieces->name[i], "msn_loss") == 0) {
            sr_text_printf(out, "(`sslrun describe LOSS.masked_siamese_loss`)");
            return;
        }
    for (int i = 0; i < pieces->n; i++)
        if (strcmp(pieces->name[i], "everstore") == 0) {
            sr_text_printf(out, "give your own images as disk_folder or disk_filelist");
            return;
        }
    for (int i = 0; i < pieces->n; i++)
        if (!is_built(pieces->kind[i], pieces->name[i]))
            sr_text_printf(out, "%s%s '%s'", missing++ ? ", " : "this configuration needs ",
                           pieces->kind[i], pieces->name[i]);
    if (missing > 0)
        sr_text_printf(out, ", which %s not implemented", missing > 1 ? "are" : "is");
}

// Does what `sslrun check` does with a file and its overrides. Splits `command` into words in
// place.
static SrStatus check_command(char *command) {
    const char *words[MAX_OVERRIDES + 1];
    SrConfig *config = NULL;
    SrRun *run = NULL;
    int n = 0;
    for (char *word = strtok(command, " "); word; word = strtok(NULL, " ")) {
        CHECK(n <= MAX_OVERRIDES);
        words[n++] = word;
    }
    SR_TRY(sr_config_load(words[0], words + 1, n - 1, &config));
    SrStatus status = sr_run_open(config, SR_RUN_CHECK, &run);
    if (status == SR_OK)
        sr_run_close(run);
    sr_config_free(config);
    return status;
}

// ---- the table of families in docs/guide/from-vissl.md

enum { KINDS = 8, MAX_MISSING = 32 };

// Names of one kind that are missing for files of a family, in order of occurrence.
typedef struct {
    const char *kind;
    const char *name[MAX_MISSING];
    int n;
} Missing;

typedef struct {
    char name[64]; // such as "pretrain/swav"
    int files, planned, run;
    Missing missing[KINDS];
    int n_missing;
} Family;

typedef struct {
    Family v[64];
    int n, files, planned, run;
    const char *ran; // lines of ran.txt: files that `make vissl-run` has run
} Families;

// Returns the folder of the last file in the line, without configs/config/: an override file
// follows the file it changes.
static void family_of(const char *line, char name[64]) {
    const char *last = strstr(line, "configs/config/");
    last = last ? last + strlen("configs/config/") : line + strspn(line, " ");
    for (const char *p = strstr(line, "+config/"); p; p = strstr(p + 1, "+config/"))
        last = p + strlen("+config/");
    size_t len = strcspn(last, "/");
    if (!sr_text_starts(last, "test/"))
        len += 1 + strcspn(last + len + 1, "/=");
    snprintf(name, 64, "%.*s", (int)len, last);
}

// Adds a copy of a missing name, since the next heading overwrites `pieces`. forget() frees it.
static void add_missing(Family *f, const char *kind, const char *name) {
    int k = 0, i = 0;
    while (k < f->n_missing && strcmp(f->missing[k].kind, kind) != 0)
        k++;
    CHECK(k < KINDS);
    Missing *m = &f->missing[k];
    if (k == f->n_missing)
        f->missing[f->n_missing++].kind = strdup(kind);
    while (i < m->n && strcmp(m->name[i], name) != 0)
        i++;
    CHECK(i < MAX_MISSING);
    if (i == m->n)
        m->name[m->n++] = strdup(name);
}

// Returns whether the line, without its indentation, is in ran.txt.
static bool has_run(const Families *all, const char *line) {
    char whole[2048];
    snprintf(whole, sizeof whole, "\n%s\n", line + strspn(line, " "));
    return all->ran && strstr(all->ran, whole);
}

static void count_file(Families *all, const char *line, const Pieces *pieces, bool planned) {
    bool runs = planned && has_run(all, line);
    char name[64];
    int f = 0;
    family_of(line, name);
    while (f < all->n && strcmp(all->v[f].name, name) != 0)
        f++;
    CHECK(f < SR_COUNT(all->v));
    if (f == all->n)
        memcpy(all->v[all->n++].name, name, sizeof name);
    all->v[f].files++;
    all->v[f].planned += planned;
    all->v[f].run += runs;
    all->files++;
    all->planned += planned;
    all->run += runs;
    for (int i = 0; i < pieces->n; i++)
        if (!is_built(pieces->kind[i], pieces->name[i]))
            add_missing(&all->v[f], pieces->kind[i], pieces->name[i]);
}

static void forget(Families *all) {
    for (int f = 0; f < all->n; f++)
        for (int k = 0; k < all->v[f].n_missing; k++) {
            free((char *)all->v[f].missing[k].kind);
            for (int i = 0; i < all->v[f].missing[k].n; i++)
                free((char *)all->v[f].missing[k].name[i]);
        }
}

// Prints a row such as "| pretrain/swav: SwAV (...) | 35 | 26 | 9 | trunks regnet, efficientnet
// |" with the title of the document.
static void print_row(const Family *f, const char *title, int title_len, SrText *out) {
    sr_text_printf(out, "|%.*s| %d | %d | %d | ", title_len, title, f->files, f->planned, f->run);
    for (int k = 0; k < f->n_missing; k++) {
        const Missing *m = &f->missing[k];
        sr_text_printf(out, "%s%s%s", k ? "; " : "", m->kind,
                       m->n < 2                     ? ""
                       : sr_text_ends(m->kind, "s") ? "es"
                                                    : "s");
        for (int i = 0; i < m->n; i++)
            sr_text_printf(out, "%s %s", i ? "," : "", m->name[i]);
    }
    sr_text_add(out, f->n_missing ? " |" : "- |");
}

// Prints the correct form of a row, or the line itself if it is no row of the table. Returns 1
// for a row, 0 otherwise.
static int print_line(const Families *all, const char *line, SrText *out) {
    char name[64];
    int files, run;
    const char *end = *line == '|' ? strchr(line + 1, '|') : NULL;
    if (sr_text_starts(line, "| together |")) {
        sr_text_printf(out, "| together | %d | %d | %d | |", all->files, all->planned, all->run);
        return 1;
    }
    if (sscanf(line, "| %63[^:| ]: %*[^|] | %d | %d |", name, &files, &run) != 3)
        end = NULL;
    for (int f = 0; end && f < all->n; f++)
        if (strcmp(all->v[f].name, name) == 0) {
            print_row(&all->v[f], line + 1, (int)(end - line - 1), out);
            return 1;
        }
    sr_text_add(out, line);
    return 0;
}

// Each row of the table must agree with what is built. SSLRUN_UPDATE=1 writes the table instead
// of failing.
static void check_documented(const Families *all) {
    char *text = NULL, *end = NULL;
    size_t bytes = 0;
    int rows = 0, wrong = 0;
    SrText whole = SR_TEXT_INIT;
    CHECK_OK(sr_file_read("docs/guide/from-vissl.md", 1 << 20, &text, &bytes));
    for (char *line = text; line && *line; line = end) {
        SrText right = SR_TEXT_INIT;
        if ((end = strchr(line, '\n')))
            *end++ = '\0';
        rows += print_line(all, line, &right);
        if (right.s && strcmp(right.s, line) != 0) {
            print_message("docs/guide/from-vissl.md has\n%s\nwhich should be\n%s\n", line, right.s);
            wrong++;
        }
        sr_text_printf(&whole, "%s\n", right.s ? right.s : "");
        sr_text_deinit(&right);
    }
    sr_free(text);
    CHECK_INT(rows, all->n + 1);
    if (wrong > 0 && getenv("SSLRUN_UPDATE")) {
        CHECK_OK(sr_file_write_text("docs/guide/from-vissl.md", &whole));
        wrong = 0;
    }
    sr_text_deinit(&whole);
    if (wrong > 0)
        fail_msg("%d rows: SSLRUN_UPDATE=1 build/run-tests vissl_files writes them", wrong);
}

// Checks one line of files.txt. Prints differences instead of failing, so that one run shows all
// of them. Returns 1 if wrong.
static int try_file(const Pieces *pieces, const char *line, Families *families) {
    char command[2048];
    SrText expected = SR_TEXT_INIT;
    snprintf(command, sizeof command, "%s", line + strspn(line, " "));
    expectation(pieces, &expected);
    count_file(families, line, pieces, expected.len == 0);
    SrStatus status = check_command(command);
    bool right = expected.len == 0
                     ? status == SR_OK
                     : status == SR_ERR_CONFIG && sr_text_ends(sr_status_message(), expected.s);
    if (!right)
        print_error("%s: \"%s\", expected \"%s\"\n", line,
                    status == SR_OK ? "" : sr_status_message(), expected.len ? expected.s : "");
    sr_text_deinit(&expected);
    return right ? 0 : 1;
}

// Checks all lines. Consecutive "needs" lines are one heading, which holds for the indented lines
// up to the next. Returns the number of wrong ones.
static int try_all(char *text, Families *families) {
    Pieces pieces = {.n = 0};
    int wrong = 0;
    bool heading = false;
    char *end = NULL;
    for (char *line = text; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        if (sr_text_starts(line, "needs ")) {
            if (!heading)
                pieces.n = 0, pieces.used = 0;
            add_pieces(&pieces, line + strlen("needs "));
        } else if (*line == ' ') {
            wrong += try_file(&pieces, line, families);
        }
        heading = sr_text_starts(line, "needs ");
    }
    return wrong;
}

// Checks a list of files from tests/vissl, where VISSL's names are found in ./configs/config
// before the program's own.
static void try_list(const char *path, int at_least, Families *families) {
    char *text = NULL, home[4096];
    size_t bytes = 0;
    CHECK(getcwd(home, sizeof home));
    CHECK_OK(sr_file_read(path, 1 << 20, &text, &bytes));
    CHECK(chdir("tests/vissl") == 0);
    sr_log_set_level(SR_LOG_ERROR);
    int wrong = try_all(text, families);
    sr_log_set_level(SR_LOG_INFO);
    CHECK(chdir(home) == 0);
    sr_free(text);
    CHECK(families->files >= at_least);
    CHECK_INT(wrong, 0);
}

TEST(test_every_file) {
    Families families = {.n = 0};
    char *ran;
    size_t bytes;
    CHECK_OK(sr_file_read("tests/vissl/ran.txt", 1 << 20, &ran, &bytes));
    families.ran = ran;
    try_list("tests/vissl/files.txt", 294, &families);
    check_documented(&families);
    forget(&families);
    sr_free(ran);
}

TEST(test_models_of_the_benchmarks) {
    Families families = {.n = 0};
    try_list("tests/vissl/models.txt", 206, &families);
    forget(&families);
}

SR_TESTS(vissl_files, unit(test_every_file), unit(test_models_of_the_benchmarks))
