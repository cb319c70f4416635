// sslrun duplicates DIR --model RUN: lists groups of copies and near copies.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/text/escape.h"
#include "base/text/json.h"
#include "base/text/number.h"
#include "cli/args/folder_args.h"
#include "cli/args/photo_page_args.h"
#include "cli/interrupt.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "folder/copies.h"
#include "pages/photos/photo_page.h"

#define MANY 0.05 // share of a folder's images that may be alike without a warning

typedef struct {
    SrFolderArgs folder;
    bool json, csv, null, check, pairs;
    const char *threshold, *rate, *by, *against, *memory;
    int probes;
    SrPhotoFiles files;
} Options;

static const SrFlag flags[] = {
    SR_FOLDER_FLAGS(Options),
    SR_FLAG_TEXT(Options, against, "--against", "OTHER",
                 "list the images of DIR that OTHER holds too, such as a test set"),
    SR_FLAG_TEXT(Options, rate, "--false-alarms", "RATE",
                 "share of images that may be called copies by chance (0.01)"),
    SR_FLAG_TEXT(Options, threshold, "--threshold", "SIMILARITY",
                 "similarity from which images are copies (from the data)"),
    SR_FLAG_TEXT(Options, by, "--by", "pictures|features",
                 "compare candidates by their pictures, or by features alone (pictures)"),
    SR_FLAG_ON(Options, pairs, "--pairs", "list pairs, the most similar first, and no groups"),
    SR_FOLDER_PROBES(Options),
    SR_FLAG_TEXT(Options, memory, "--memory", "SIZE", "memory for the comparison (1G)"),
    SR_PHOTO_FLAGS(Options),
    SR_FLAG_ON(Options, json, "--json", "print one JSON line per group"),
    SR_FLAG_ON(Options, csv, "--csv", "print one CSV line per image"),
    SR_FLAG_ON(Options, null, "--null", "print names alone, each with a NUL after it; also -0"),
    SR_FLAG_ON(Options, check, "--check", "exit with 1 if a copy was found"),
    {0}};

// ---- indexes ------------------------------------------------------------------------------------

typedef struct {
    SrFolder model, thumbs;
    SrIndex *images, *looks[SR_LOOKS], *thumbnails, *others, *other_thumbnails;
    SrCells *cells; // NULL: exact
} Indexes;

// The thumbnails have a model of their own, whose index lies next to the other.
static SrStatus open_thumbnails(Indexes *x, const char *data, SrIndex **out) {
    return sr_folder_index(&x->thumbs, data, SR_LOOK_PLAIN, NULL, out);
}

static SrStatus open_indexes(const Options *o, const char *data, bool pictures, Indexes *x) {
    SR_TRY(sr_folder_open(&o->folder, &x->model));
    SR_TRY(sr_folder_index(&x->model, data, SR_LOOK_PLAIN, NULL, &x->images));
    for (SrLook look = SR_LOOK_PLAIN + 1; look < SR_LOOKS; look++)
        SR_TRY(sr_folder_index(&x->model, data, look, NULL, &x->looks[look]));
    if (pictures) {
        SR_TRY(sr_folder_open(&(SrFolderArgs){.model = "thumbnail", .quiet = true}, &x->thumbs));
        SR_TRY(open_thumbnails(x, data, &x->thumbnails));
    }
    if (!o->against)
        return SR_OK;
    x->model.args.index = NULL; // --index names that of DIR
    SR_TRY(sr_folder_index(&x->model, o->against, SR_LOOK_PLAIN, NULL, &x->others));
    return pictures ? open_thumbnails(x, o->against, &x->other_thumbnails) : SR_OK;
}

static void close_indexes(Indexes *x) {
    sr_cells_close(x->cells);
    sr_index_close(x->images);
    for (int look = 0; look < SR_LOOKS; look++)
        sr_index_close(x->looks[look]);
    sr_index_close(x->thumbnails);
    sr_index_close(x->others);
    sr_index_close(x->other_thumbnails);
    sr_folder_close(&x->model);
    sr_folder_close(&x->thumbs);
}

// ---- output -------------------------------------------------------------------------------------

static void add_name(const char *name, SrText *out) {
    const SrYaml value = {.type = SR_YAML_STRING, .text = name};
    sr_json_print(&value, out);
}

static void text_line(double score, const char *name, SrText *out) {
    sr_text_printf(out, "%.4f  ", score);
    sr_escape_line(name, out);
    sr_text_add(out, "\n");
}

static void csv_line(int64_t group, const char *name, const char *role, double score, SrText *out) {
    sr_text_printf(out, "%lld,", (long long)group);
    sr_escape_csv(name, out);
    sr_text_printf(out, ",%s,%.6f\n", role, score);
}

static void group_json(const SrCopies *c, const SrCopyGroup *g, const SrIndex *x, SrText *out) {
    sr_text_add(out, "{\"files\": [");
    add_name(sr_index_name(x, g->keeper), out);
    for (int64_t k = 0; k < g->n; k++) {
        sr_text_add(out, ", ");
        add_name(sr_index_name(x, c->member[g->first + k].b), out);
    }
    sr_text_add(out, "], \"similarity\": [1");
    for (int64_t k = 0; k < g->n; k++)
        sr_text_printf(out, ", %.6f", (double)c->member[g->first + k].score);
    sr_text_add(out, "]}\n");
}

static void print_group(const Options *o, const SrCopies *c, int64_t i, const SrIndex *x,
                        SrText *out) {
    const SrCopyGroup *g = &c->group[i];
    if (o->json || sr_photo_files_any(&o->files))
        group_json(c, g, x, out);
    for (int64_t k = -1; !o->json && !sr_photo_files_any(&o->files) && k < g->n; k++) {
        const SrCopyPair *p = k < 0 ? NULL : &c->member[g->first + k];
        const char *name = sr_index_name(x, p ? p->b : g->keeper);
        double score = p ? (double)p->score : 1;
        if (o->null)
            sr_text_addn(out, name, strlen(name) + 1);
        else if (o->csv)
            csv_line(i + 1, name, p ? "copy" : "keeper", score, out);
        else
            text_line(score, name, out);
    }
    if (!o->json && !sr_photo_files_any(&o->files) && !o->csv)
        sr_text_addn(out, o->null ? "" : "\n", 1);
}

static void print_pair(const Options *o, const SrCopyPair *p, const Indexes *x, SrText *out) {
    const char *file = sr_index_name(x->images, p->a),
               *other = sr_index_name(x->others ? x->others : x->images, p->b);
    if (o->json || sr_photo_files_any(&o->files)) {
        sr_text_add(out, "{\"files\": [");
        add_name(file, out);
        sr_text_add(out, ", ");
        add_name(other, out);
        sr_text_printf(out, "], \"similarity\": [1, %.6f]}\n", (double)p->score);
    } else if (o->csv) {
        sr_escape_csv(file, out);
        sr_text_add(out, ",");
        sr_escape_csv(other, out);
        sr_text_printf(out, ",%.6f,%s\n", (double)p->score, p->mirrored ? "yes" : "no");
    } else if (o->null) {
        sr_text_addn(out, file, strlen(file) + 1);
    } else {
        sr_text_printf(out, "%.4f  ", (double)p->score);
        sr_escape_line(file, out);
        sr_text_add(out, "  ");
        sr_escape_line(other, out);
        sr_text_add(out, "\n");
    }
}

static void print_all(const Options *o, const SrCopies *c, const Indexes *x, SrText *out) {
    int64_t images = 0, n = sr_index_rows(x->images);
    bool pairs = o->against || o->pairs;
    if (o->csv)
        sr_text_add(out,
                    pairs ? "file,other,similarity,mirrored\n" : "group,file,role,similarity\n");
    for (int64_t i = 0; pairs && i < c->n_pairs; i++)
        print_pair(o, &c->pair[i], x, out);
    for (int64_t i = 0; !pairs && i < c->n_groups; i++) {
        print_group(o, c, i, x->images, out);
        images += c->group[i].n + 1;
    }
    if (!o->json && !o->csv && !o->null && !sr_photo_files_any(&o->files) && o->against)
        sr_text_printf(out, "%lld pair%s of copies between %lld images and %lld others\n",
                       (long long)c->n_pairs, c->n_pairs == 1 ? "" : "s", (long long)n,
                       (long long)sr_index_rows(x->others));
    else if (!o->json && !o->csv && !o->null && !sr_photo_files_any(&o->files) && !pairs)
        sr_text_printf(out, "%lld group%s of %lld images, among %lld\n", (long long)c->n_groups,
                       c->n_groups == 1 ? "" : "s", (long long)images, (long long)n);
    if ((double)images > MANY * (double)n && !c->from_data)
        sr_warn("%lld of %lld images look alike at this threshold, more than are likely to be "
                "copies: leave --threshold out to take one from the data, or raise it",
                (long long)images, (long long)n);
}

static void say_threshold(const Options *o, const SrCopies *c) {
    if (c->from_data)
        sr_info(
            "similarity %.4f and more counts as a copy: a share of %s of the images is expected to "
            "reach it by chance; --threshold chooses another",
            c->threshold, o->rate);
    if (c->from_data && !isnan(c->found))
        sr_info("%.0f %% of mirrored crops to 80 %% of these images reach that similarity",
                100 * c->found);
}

// ---- the verb -----------------------------------------------------------------------------------

static SrStatus parse_number(const char *flag, const char *text, double *out) {
    char *end;
    *out = sr_number_parse(text, &end);
    if (end == text || *end || !(*out > 0 && *out <= 1))
        SR_FAIL(SR_ERR_CONFIG, "%s %s: expected a number above 0, at most 1", flag, text);
    return SR_OK;
}

static SrStatus parse(int argc, char **argv, Options *o, SrArgs *args, SrCopiesOptions *c) {
    SR_TRY(sr_args_parse(argc, argv, flags, o, args));
    if (o->null + o->json + o->csv > 1 ||
        (sr_photo_files_any(&o->files) && (o->null || o->csv || o->pairs)))
        SR_FAIL(SR_ERR_CONFIG, "--null goes neither with --json nor with --page or --sheet, nor "
                               "--csv with one of them: give "
                               "one of them");
    if (args->n_names != 1 || args->n_overrides || !o->folder.model)
        SR_FAIL(SR_ERR_CONFIG, "sslrun duplicates needs a folder of images and --model CHECKPOINT");
    if (strcmp(o->by, "pictures") != 0 && strcmp(o->by, "features") != 0)
        SR_FAIL(SR_ERR_CONFIG, "--by %s: expected pictures or features", o->by);
    c->threshold = NAN;
    if (o->threshold)
        SR_TRY(parse_number("--threshold", o->threshold, &c->threshold));
    SR_TRY(parse_number("--false-alarms", o->rate, &c->false_alarms));
    SR_TRY(sr_folder_memory(o->memory, (size_t)1 << 30, &c->memory));
    if (o->against)
        SR_TRY(sr_args_check_images("--against", o->against));
    return sr_args_check_images("sslrun duplicates", args->names[0]);
}

static SrStatus find(const SrCopiesOptions *c, SrCopies *out) {
    sr_interrupt_listen("stopping after these images");
    sr_stop_set(sr_interrupt_asked, NULL);
    SrStatus status = sr_copies_find(c, out);
    sr_stop_set(NULL, NULL);
    if (status == SR_ERR_INTERRUPT)
        return sr_fail(status, "stopped; the index keeps what was embedded");
    sr_interrupt_uninstall();
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.rate = "0.01", .by = "pictures"};
    SrArgs args;
    SrCopiesOptions c = {.threshold = NAN};
    SrCopies copies = {.n_pairs = 0};
    Indexes x = {.images = NULL};
    SrText out = SR_TEXT_INIT;
    SR_TRY(parse(argc, argv, &o, &args, &c));
    SrStatus status = open_indexes(&o, args.names[0], strcmp(o.by, "pictures") == 0, &x);
    if (status == SR_OK && o.probes)
        status = sr_folder_cells(x.others ? x.others : x.images, o.probes, &x.cells);
    if (status == SR_OK) {
        c.cells = x.cells;
        c.probes = o.probes;
        c.images = x.images;
        for (int look = 0; look < SR_LOOKS; look++)
            c.looks[look] = x.looks[look];
        c.thumbnails = x.thumbnails;
        c.others = x.others;
        c.other_thumbnails = x.other_thumbnails;
        status = find(&c, &copies);
    }
    if (status == SR_OK) {
        say_threshold(&o, &copies);
        print_all(&o, &copies, &x, &out);
    }
    bool found = copies.n_pairs > 0;
    sr_copies_deinit(&copies);
    close_indexes(&x);
    if (status == SR_OK && sr_photo_files_any(&o.files))
        status = sr_photo_page_duplicates(&o.files, &out);
    SR_TRY(sr_photo_files_print(status, &o.files, o.json, &out));
    if (found && !o.json && !o.csv && !o.null && !o.pairs && !o.against &&
        !sr_photo_files_any(&o.files)) {
        SrText next = SR_TEXT_INIT;
        SR_NEXT_AGAIN(&next, "writes a page that shows the groups", "--page", "duplicates.html");
        sr_next_say(&next);
    }
    if (o.check && found)
        SR_FAIL(SR_ERR_RUN, "copies were found, and --check was given");
    return SR_OK;
}

const SrVerb sr_verb_duplicates = {
    .name = "duplicates",
    .group = SR_VERB_FOLDER,
    .args = "DIR --model RUN",
    .summary = "groups copies and near copies among the images of a folder",
    .help =
        "The model's features propose candidates: the nearest images of each image, of its mirror "
        "image and of its middle; without --probes, the nearest pictures of 32 x 32 grey values "
        "too. Such pictures are then compared, whole and in parts, so that copies are found that "
        "were scaled, compressed again, brightened, mirrored or cropped to 80 % of each side. "
        "Nothing is deleted.\n\nIn each group every "
        "image reaches the threshold with the first one, which has the most copies. The threshold "
        "follows from the scores that different images of this folder reach by chance. The same "
        "folder gives the same groups, whatever the number of threads.",
    .examples = {{"sslrun duplicates photos --model runs/photos", "Lists groups of copies."},
                 {"sslrun duplicates photos --model runs/photos --threshold 0.999 --json",
                  "Lists near copies alone, as JSON."},
                 {"sslrun duplicates photos --model runs/photos --against new-photos",
                  "Lists photos that another folder holds too, such as test images."},
                 {"sslrun duplicates photos --model runs/photos --page copies.html",
                  "Writes a page with the groups."}},
    .files = "RUN/index/ keeps the rows (sslrun index); runs/index/ keeps the small pictures.",
    .exit =
        "0: done. 1: the command failed, or --check was given and copies were found. 2: usage or "
        "configuration. 128 + signal: stopped; the index keeps what was embedded.",
    .flags = flags,
    .run = run_verb,
};
