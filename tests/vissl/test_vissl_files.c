// Every configuration file of VISSL's (configs/config/, re-derived from its tables): it passes
// `sslrun check` as written, or the error names exactly the pieces that are not built.  files.txt
// says what each file names, models.txt the benchmarks' model overrides; what is built is asked of
// the registries, so that a new loss is tried on VISSL's own files the moment it is there.  Runs
// from the project's folder, as `make test` does.
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/data.h"
#include "heads/head.h"
#include "losses/loss.h"
#include "tests/check.h"
#include "trainer/config.h"
#include "trainer/optim.h"
#include "trainer/run.h"
#include "trunks/trunk.h"

enum { MAX_PIECES = 64, MAX_OVERRIDES = 16 };

typedef struct {
    char text[1 << 14]; // the pieces' names point into it
    size_t used;
    const char *kind[MAX_PIECES], *name[MAX_PIECES];
    int n;
} Pieces;

// Asked of the registries, not of the code under test (trainer/vissl_names.c).
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

// "needs trunk resnet, data source disk_folder": the name is the last word of each.
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

// What the error must end with; empty: the file runs.
static void expectation(const Pieces *pieces, SrText *out) {
    int missing = 0;
    for (int i = 0; i < pieces->n; i++)
        if (!is_built(pieces->kind[i], pieces->name[i]))
            sr_text_printf(out, "%s%s '%s'", missing++ ? ", " : "this configuration needs ",
                           pieces->kind[i], pieces->name[i]);
    if (missing > 0)
        sr_text_printf(out, ", which %s not built yet", missing > 1 ? "are" : "is");
}

// What `sslrun check` does with a file and its overrides.  Cuts `command` into words.
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

// Prints what differs instead of failing, so that one run shows all that is wrong.
static int try_file(const Pieces *pieces, const char *line) {
    char command[2048];
    SrText expected = SR_TEXT_INIT;
    snprintf(command, sizeof command, "%s", line + strspn(line, " "));
    expectation(pieces, &expected);
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

// "needs" lines in a row are one heading; it holds for the indented lines up to the next.
static int try_all(char *text, int *files) {
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
            wrong += try_file(&pieces, line);
            (*files)++;
        }
        heading = sr_text_starts(line, "needs ");
    }
    return wrong;
}

// VISSL's names are found below ./configs/config, before those of the program.
static void try_list(const char *path, int at_least) {
    char *text = NULL, home[4096];
    size_t bytes = 0;
    int files = 0;
    CHECK(getcwd(home, sizeof home));
    CHECK_OK(sr_file_read(path, 1 << 20, &text, &bytes));
    CHECK(chdir("tests/vissl") == 0);
    sr_log_set_level(SR_LOG_ERROR);
    int wrong = try_all(text, &files);
    sr_log_set_level(SR_LOG_INFO);
    CHECK(chdir(home) == 0);
    sr_free(text);
    CHECK(files >= at_least);
    CHECK_INT(wrong, 0);
}

static void test_every_file(void **state) {
    (void)state;
    try_list("tests/vissl/files.txt", 294);
}

static void test_models_of_the_benchmarks(void **state) {
    (void)state;
    try_list("tests/vissl/models.txt", 206);
}

SR_TESTS(vissl_files, unit(test_every_file), unit(test_models_of_the_benchmarks))
