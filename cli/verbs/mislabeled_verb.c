// sslrun mislabeled DIR --model RUN: lists images whose class is probably wrong.
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text/number.h"
#include "cli/findings.h"
#include "cli/folder_rows.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "folder/mislabeled.h"

enum { PAIRS = 10 }; // pairs of classes that are printed

typedef struct {
    SrFolderArgs folder;
    SrFindingsArgs to;
    bool all, noise;
    const char *memory, *share;
    int seed;
} Options;

static const SrFlag flags[] = {
    SR_FOLDER_FLAGS(Options),
    SR_FLAG_ON(Options, all, "--all", "list every image, the most doubtful first"),
    SR_FLAG_ON(Options, noise, "--noise", "list pairs of classes with their noise, not images"),
    SR_FLAG_TEXT(Options, share, "--share", "SHARE",
                 "upper bound of the share of wrong labels, for the ratio's cut-off (0.1)"),
    SR_FLAG_NUMBER(Options, seed, "--seed", "seed of the probe's five parts (0)"),
    SR_FOLDER_MEMORY_FLAG(Options),
    SR_FINDINGS_FLAGS(Options),
    {0}};

static void add(SrFindings *f, const SrFolderRows *rows, const SrMislabel *m) {
    const char *name = sr_folder_rows_name(rows, m->row);
    const char *given = sr_folder_rows_class(rows, m->given);
    const char *suggested = sr_folder_rows_class(rows, m->suggested);
    char caption[256];
    SrField field[] = {
        {"doubt", NULL, m->doubt, 4},
        {"given", given, 0, 0},
        {"suggested", suggested, 0, 0},
        {"confidence", NULL, m->confidence, 4},
        {"given_probability", NULL, m->given_probability, 4},
        {"ratio", NULL, (double)m->ratio, 4},
        {"mislabeled", m->found ? "yes" : "no", 0, 0},
        {"file", name, 0, 0},
    };
    sr_findings_add(f, field, SR_COUNT(field));
    sr_number_print(caption, sizeof caption, "%.80s, rather %.80s, %.0f%%", given, suggested,
                    100 * m->confidence);
    sr_findings_photo(f, name, caption, m->found ? "Probably wrong" : "Next in the ranking");
}

typedef struct {
    int given, truth;
    double share;
} Pair;

static int largest_first(const void *a, const void *b) {
    const Pair *x = a, *y = b;
    if (x->share != y->share)
        return x->share < y->share ? 1 : -1;
    return x->given != y->given ? x->given - y->given : x->truth - y->truth;
}

// Lists pairs of classes by their share of the joint distribution.  Returns their number; pair:
// (classes * classes).
static int list_pairs(const SrLabelNoise *noise, Pair *pair) {
    int n = 0, k = noise->classes;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++)
            if (i != j && noise->joint[i * k + j] > 0)
                pair[n++] = (Pair){i, j, noise->joint[i * k + j]};
    qsort(pair, (size_t)n, sizeof *pair, largest_first);
    return n;
}

static void add_pairs(SrFindings *f, const SrFolderRows *rows, const SrMislabelReport *r,
                      const Pair *pair, int n) {
    for (int i = 0; i < n; i++) {
        SrField field[] = {
            {"share", NULL, pair[i].share, 4},
            {"images", NULL, pair[i].share * (double)r->n, 1},
            {"given", sr_folder_rows_class(rows, pair[i].given), 0, 0},
            {"true", sr_folder_rows_class(rows, pair[i].truth), 0, 0},
        };
        sr_findings_add(f, field, SR_COUNT(field));
    }
}

static void say(SrFindings *f, const SrFolderRows *rows, const SrMislabelReport *r,
                const Pair *pair, int n) {
    sr_findings_say(f, "%lld of %lld labels are probably wrong; estimated noise %.1f %%\n",
                    (long long)r->found, (long long)r->n, 100 * r->noise.noise);
    for (int i = 0; i < SR_MIN(n, PAIRS); i++)
        sr_findings_say(f, "  %.1f images of %s are rather %s\n", pair[i].share * (double)r->n,
                        sr_folder_rows_class(rows, pair[i].given),
                        sr_folder_rows_class(rows, pair[i].truth));
}

static SrStatus print(const Options *o, const SrFolderRows *rows, const SrMislabelReport *r,
                      SrFindings *f) {
    size_t k = (size_t)r->noise.classes;
    Pair *pair = sr_alloc(k * k * sizeof *pair);
    SR_TRY_MEMORY(pair, "pairs of classes");
    int n = list_pairs(&r->noise, pair);
    for (int64_t i = 0; !o->noise && i < r->n; i++)
        if (o->all || r->v[i].found)
            add(f, rows, &r->v[i]);
    if (o->noise)
        add_pairs(f, rows, r, pair, n);
    else
        say(f, rows, r, pair, n);
    sr_free(pair);
    return sr_findings_end(f, "Labels that are probably wrong",
                           "Below each image: the class that its folder gives, the class that a "
                           "probe suggests, and how sure the probe is. The probe never saw the "
                           "image. Look before you move a file.",
                           r->found, "labels are probably wrong");
}

static SrStatus report(const Options *o, const SrFolderRows *rows, double share) {
    const SrMislabelOptions options = {(uint64_t)o->seed, share};
    SrMislabelReport r = {0};
    SrFindings f = {.n = 0};
    SrStatus status;
    SR_TRY_GOTO(sr_findings_init(&o->to, &f));
    SR_TRY_GOTO(sr_mislabeled(&options, &rows->rows, &r));
    SR_TRY_GOTO(print(o, rows, &r, &f));
done:
    sr_findings_deinit(&f);
    sr_mislabeled_deinit(&r);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.share = "0.1"};
    SrArgs args;
    SrFolderRows rows;
    double share;
    SrText next = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_folder_rows_check(&args, "mislabeled"));
    SR_TRY(sr_folder_share(o.share, &share));
    if (o.seed < 0)
        SR_FAIL(SR_ERR_CONFIG, "--seed %d: expected 0 or more", o.seed);
    if (o.noise && (o.all || o.to.page))
        SR_FAIL(SR_ERR_CONFIG, "--noise lists pairs of classes: it goes neither with --all nor "
                               "with --page");
    SR_TRY(sr_folder_rows_open(&o.folder, "sslrun mislabeled", args.names[0], o.memory,
                               SR_FOLDER_ROWS_PROBE, &rows));
    SrStatus status = report(&o, &rows, share);
    sr_folder_rows_close(&rows);
    if (status == SR_OK && !o.to.page && !o.noise)
        SR_NEXT_AGAIN(&next, "shows them as photos", "--page", "mislabeled.html");
    sr_next_say(&next);
    return status;
}

const SrVerb sr_verb_mislabeled = {
    .name = "mislabeled",
    .group = SR_VERB_FOLDER,
    .args = "DIR --model RUN",
    .summary = "lists images whose class is probably wrong",
    .help = "Subfolders are classes. A linear probe that never saw the image predicts its class, "
            "and confident learning estimates how many labels of each class are wrong. The ratio "
            "compares the three nearest images of the same class with the three nearest of other "
            "classes; a small one means a wrong label. Images are ranked by the mean of both "
            "doubts, in which the probe's counts twice.\n\nThe rows are those of the index "
            "(sslrun index). Nothing is moved or deleted.",
    .examples = {{"sslrun mislabeled photos --model runs/photos",
                  "Lists labels that are probably wrong."},
                 {"sslrun mislabeled photos --model runs/photos --noise --csv",
                  "Prints which class is taken for which, as a table."}},
    .files = "The index of the folder is read and brought up to date (sslrun index).",
    .exit = "0: done; 1: failed, or --check and there are wrong labels; 2: wrong usage.",
    .flags = flags,
    .run = run_verb,
};
