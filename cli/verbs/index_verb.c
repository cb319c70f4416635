// sslrun index DIR --model RUN: embeds the images of a folder once, for search and duplicates.
#include "base/text/json.h"
#include "cli/args/folder_args.h"
#include "cli/next.h"
#include "cli/verb.h"

typedef struct {
    SrFolderArgs folder;
    bool json;
} Options;

static const SrFlag flags[] = {
    SR_FOLDER_FLAGS(Options), SR_FLAG_ON(Options, json, "--json", "print the counts as JSON"), {0}};

static void print_json(const SrIndex *index, const SrIndexReport *r, SrText *out) {
    sr_json_begin(out);
    sr_json_string(out, "index", sr_index_file_path(index));
    sr_json_int(out, "rows", r->rows);
    sr_json_int(out, "dim", sr_index_dim(index));
    sr_json_int(out, "classes", sr_index_classes(index));
    sr_json_int(out, "new", r->added);
    sr_json_int(out, "changed", r->changed);
    sr_json_int(out, "removed", r->removed);
    sr_json_int(out, "unreadable", r->bad);
    sr_json_int(out, "embedded", r->embedded);
    sr_json_float(out, "seconds", r->seconds);
    sr_json_end(out);
}

static void print_text(const SrIndex *index, const SrIndexReport *r, SrText *out) {
    sr_text_printf(out,
                   "%s: %lld images of %d numbers; %lld new, %lld changed, %lld removed, %lld "
                   "unreadable; %.1f s\n",
                   sr_index_file_path(index), (long long)r->rows, sr_index_dim(index),
                   (long long)r->added, (long long)r->changed, (long long)r->removed,
                   (long long)r->bad, r->seconds);
}

static void say_next(const Options *o, const char *data, const SrIndex *index) {
    SrText next = SR_TEXT_INIT;
    SR_NEXT(&next, "lists the images most like one image", "search", sr_index_name(index, 0),
            "--index", sr_index_file_path(index));
    sr_folder_next(&next, "groups copies and near copies", "duplicates", data, &o->folder);
    sr_next_say(&next);
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.json = false};
    SrArgs args;
    SrFolder folder;
    SrIndex *index = NULL;
    SrIndexReport report;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_args_no_overrides(&args, "index"));
    if (args.n_names != 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun index needs a folder of images, and a model with --model");
    SR_TRY(sr_args_check_images("sslrun index", args.names[0]));
    SrStatus status = sr_folder_open(&o.folder, &folder);
    if (status == SR_OK)
        status = sr_folder_index(&folder, args.names[0], SR_LOOK_PLAIN, &report, &index);
    if (status == SR_OK) {
        if (o.json)
            print_json(index, &report, &out);
        else
            print_text(index, &report, &out);
        status = sr_args_print(&out);
    }
    if (status == SR_OK && !o.json)
        say_next(&o, args.names[0], index);
    sr_index_close(index);
    sr_folder_close(&folder);
    return status;
}

const SrVerb sr_verb_index = {
    .name = "index",
    .group = SR_VERB_FOLDER,
    .args = "DIR --model RUN",
    .summary = "embeds the images of a folder once, for search and duplicates",
    .help = "DIR is a folder of images, a list of paths (.txt), a data set or tar shards. A second "
            "call embeds only new and changed images, and takes out those that are gone. A call "
            "that was stopped is resumed by the same command.\n\nAn index belongs to one model, "
            "layer and preprocessing. Many processes may read it while one updates it.",
    .examples = {{"sslrun index photos --model runs/photos", "Embeds the photos by a run."},
                 {"sslrun index photos --model pixels --json",
                  "Keeps the pixels themselves, as a baseline."}},
    .files = "RUN/index/NAME-KEY.index holds the rows, half precision, with paths and checksums; "
             "NAME-KEY.index.lock names the process that updates it. Without a run, the folder is "
             "runs/index.",
    .flags = flags,
    .run = run_verb,
};
