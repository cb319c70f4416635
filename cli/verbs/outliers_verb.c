// sslrun outliers DIR --model RUN: lists the images that do not belong to a folder.
#include <math.h>
#include <stdlib.h>

#include "base/text/number.h"
#include "cli/findings.h"
#include "cli/folder_rows.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "folder/outliers.h"

typedef struct {
    SrFolderArgs folder;
    SrFindingsArgs to;
    bool all, per_class, no_tree;
    const char *memory, *share;
} Options;

static const SrFlag flags[] = {
    SR_FOLDER_FLAGS(Options),
    SR_FLAG_ON(Options, all, "--all", "list every image, the most suspicious first"),
    SR_FLAG_ON(Options, per_class, "--per-class", "compare with images of the same class alone"),
    SR_FLAG_ON(Options, no_tree, "--no-tree", "leave out leaf distances, which take longest"),
    SR_FLAG_TEXT(Options, share, "--share", "SHARE",
                 "upper bound of the share of outliers, for the cut-off (0.1)"),
    SR_FOLDER_MEMORY_FLAG(Options),
    SR_FINDINGS_FLAGS(Options),
    {0}};

static void add(SrFindings *f, const SrFolderRows *rows, const SrOutlier *o) {
    const char *name = sr_folder_rows_name(rows, o->row);
    char caption[64];
    SrField field[] = {
        {"distance", NULL, (double)o->distance, 4},
        {"leaf", NULL, (double)o->leaf, 4},
        {"class", sr_folder_rows_class(rows, sr_row_view_label(&rows->rows, o->row)), 0, 0},
        {"outlier", o->found ? "yes" : "no", 0, 0},
        {"file", name, 0, 0},
    };
    sr_findings_add(f, field, SR_COUNT(field));
    sr_number_print(caption, sizeof caption, "%.3f", (double)o->distance);
    sr_findings_photo(f, name, caption, o->found ? "Outliers" : "Next in the ranking");
}

static void say(SrFindings *f, const SrFolderRows *rows, const SrOutlierReport *r) {
    sr_findings_say(f, "outliers: %lld of %lld images\n", (long long)r->found, (long long)r->n);
    for (int c = 0; c < r->n_classes; c++)
        if (r->of_class[c].found)
            sr_findings_say(f,
                            "class %s differs as a whole: its %lld images lie %.3f from other "
                            "classes in the median\n",
                            sr_folder_rows_class(rows, r->of_class[c].label),
                            (long long)r->of_class[c].images, r->of_class[c].distance);
}

static SrStatus report(const Options *o, const SrFolderRows *rows, double share) {
    const SrOutlierOptions options = {o->per_class, o->no_tree, share};
    SrOutlierReport r = {0};
    SrFindings f = {.n = 0};
    SrStatus status;
    SR_TRY_GOTO(sr_findings_init(&o->to, &f));
    SR_TRY_GOTO(sr_outliers(&options, &rows->rows, &r));
    for (int64_t i = 0; i < r.n; i++)
        if (o->all || r.v[i].found)
            add(&f, rows, &r.v[i]);
    say(&f, rows, &r);
    status = sr_findings_end(&f, "Images that do not belong",
                             "The number is 1 - cosine to the 10th nearest image: large for images "
                             "that are like no other. Look before you move a file.",
                             r.found, "outliers were found");
done:
    sr_findings_deinit(&f);
    sr_outliers_deinit(&r);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.share = "0.1"};
    SrArgs args;
    SrFolderRows rows;
    double share;
    SrText next = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_folder_rows_check(&args, "outliers"));
    SR_TRY(sr_folder_share(o.share, &share));
    SR_TRY(sr_folder_rows_open(&o.folder, "sslrun outliers", args.names[0], o.memory,
                               SR_FOLDER_ROWS_SEARCH, &rows));
    SrStatus status = report(&o, &rows, share);
    sr_folder_rows_close(&rows);
    if (status == SR_OK && !o.to.page)
        SR_NEXT_AGAIN(&next, "shows them as photos", "--page", "outliers.html");
    sr_next_say(&next);
    return status;
}

const SrVerb sr_verb_outliers = {
    .name = "outliers",
    .group = SR_VERB_FOLDER,
    .args = "DIR --model RUN",
    .summary = "lists images that do not belong to a folder",
    .help = "An image is judged by the distance to its 10th neighbour and by its leaf distance in "
            "the single-linkage tree, which also finds groups of up to five strangers. The "
            "cut-offs come from the distances themselves. Where folders are classes, a line names "
            "those that differ as a whole.\n\nThe rows are those of the index (sslrun index). "
            "Nothing is moved or deleted.",
    .examples = {{"sslrun outliers photos --model runs/photos", "Lists outliers, the worst first."},
                 {"sslrun outliers photos --model runs/photos --all --csv",
                  "Prints the distances of all images as a table."}},
    .files = "The index of the folder is read and brought up to date (sslrun index).",
    .exit = "0: done; 1: failed, or --check and there are outliers; 2: wrong usage.",
    .flags = flags,
    .run = run_verb,
};
