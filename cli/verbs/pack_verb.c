// sslrun pack DIR --out SHARDS: writes images as tar shards, or checks such shards.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text/number.h"
#include "base/text/text.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "data/dataset.h"
#include "data/sets/shard_pack.h"
#include "trainer/data/data_split.h"

// Reads a size such as "256M", "1G" or "500000".
static SrStatus parse_bytes(const char *text, int64_t *out) {
    double value = sr_number_bytes(text);
    if (!(value >= 4096 && value <= 1e15))
        SR_FAIL(SR_ERR_CONFIG,
                "--size %s: expected the bytes of a shard, at least 4K, as in 256M or 1G", text);
    *out = (int64_t)value;
    return SR_OK;
}

// Refuses a data set in parts: packed as one, its parts would become its classes.
static SrStatus check_parts(const char *data, const char *out) {
    char train[SR_SPLIT_PATH_BYTES], test[SR_SPLIT_PATH_BYTES];
    if (!sr_split_part(data, false, train) || !sr_split_part(data, true, test))
        return SR_OK;
    const char *name = strrchr(test, '/') + 1;
    SR_FAIL(SR_ERR_CONFIG,
            "%s has the folders train and %s, which would become classes; pack each of them, with "
            "--out %s/train and --out %s/%s, and DATA.TRAIN.DATA_PATHS=[%s] finds both",
            data, name, out, out, name, out);
}

// Reports the shards, which are complete by now.  A failure of stdout is no failure, so that no
// script packs again.
static SrStatus say_packed(const SrShardPackOptions *options, const SrShardPackResult *done,
                           int classes) {
    SrText out = SR_TEXT_INIT, next = SR_TEXT_INIT;
    sr_text_printf(&out, "%s: %lld images in %d classes, %lld shard%s, %.1f MB", options->out,
                   (long long)done->images, classes, (long long)done->shards,
                   done->shards == 1 ? "" : "s", (double)done->bytes / 1e6);
    if (done->left_out)
        sr_text_printf(&out, ", %lld damaged left out", (long long)done->left_out);
    sr_text_printf(&out,
                   "; to train on them, set DATA.TRAIN.DATA_SOURCES=[webdataset] "
                   "DATA.TRAIN.DATA_PATHS=[%s]\n",
                   options->out);
    SR_TRY(sr_args_print_done(&out, options->out));
    SR_NEXT(&next, "compares every image with its checksum", "pack", options->out, "--check");
    sr_next_say(&next);
    return SR_OK;
}

static SrStatus pack(const SrShardPackOptions *options, const char *labels) {
    const SrDataset *source;
    const SrDatasetConfig config = {.split = "TRAIN",
                                    .data_path = options->data,
                                    .label_path = labels,
                                    .remove_prefix = "",
                                    .new_prefix = ""};
    void *set;
    SrShardPackResult done;
    SR_TRY(check_parts(options->data, options->out));
    SR_TRY(sr_dataset_infer(options->data, "TRAIN", &source));
    if (*labels && !source->reads_label_path)
        SR_FAIL(SR_ERR_CONFIG,
                "--labels: %s has its own labels, since it is read as %s; leave out --labels",
                options->data, source->name);
    SR_TRY(sr_dataset_open(source, &config, &set));
    SrStatus status = sr_shard_pack(source, set, options, &done);
    int classes = source->classes(set);
    sr_dataset_close(source, set);
    SR_TRY(status);
    if (classes == 0 && !*labels && source->reads_label_path)
        sr_warn("%s holds no labels, so the shards have none; --labels FILE adds them",
                options->data);
    return say_packed(options, &done, classes);
}

// Refuses a folder of images, the likeliest mistake: this flag checks shards, not their source.
static SrStatus check_is_shards(const char *path) {
    const SrDataset *source;
    SR_TRY(sr_dataset_find("webdataset", &source));
    if (!sr_file_is_dir(path) || source->accepts(path, "TRAIN"))
        return SR_OK;
    char **names;
    int n, shards = 0;
    SR_TRY(sr_file_list(path, &names, &n));
    for (int i = 0; i < n; i++)
        shards += names[i][0] != '.' && sr_text_ends(names[i], ".tar");
    sr_file_list_free(names, n);
    if (shards > 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s holds no shards (.tar files): --check reads a folder that `sslrun pack DIR --out "
            "SHARDS` has written",
            path);
}

static SrStatus check(const char *path) {
    if (!sr_file_exists(path))
        SR_FAIL(SR_ERR_CONFIG, "sslrun pack --check: No such file or folder: %s", path);
    SrShardCheckResult *r = calloc(1, sizeof *r);
    SrText out = SR_TEXT_INIT;
    SR_TRY_MEMORY(r, "a shard");
    SrStatus status = check_is_shards(path);
    if (status == SR_OK)
        status = sr_shard_check(path, r);
    for (int i = 0; i < r->n_listed; i++)
        sr_text_printf(&out, "%s\n", r->listed[i]);
    if (status == SR_OK)
        sr_text_printf(&out, "%s: %lld images in %lld shard%s, %.1f MB %s, %lld damaged\n", path,
                       (long long)r->images, (long long)r->shards, r->shards == 1 ? "" : "s",
                       (double)r->bytes / 1e6,
                       r->summed ? "against their checksums"
                                 : "looked at (no checksums: not packed by sslrun)",
                       (long long)r->damaged);
    int64_t damaged = r->damaged;
    free(r);
    if (status == SR_OK)
        status = sr_args_print(&out);
    sr_text_deinit(&out);
    if (status == SR_OK && damaged > 0)
        SR_FAIL(SR_ERR_IO, "%s: %lld images are damaged; copy the shards that hold them again",
                path, (long long)damaged);
    return status;
}

typedef struct {
    SrShardPackOptions pack;
    const char *size, *labels;
    bool checks;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, pack.out, "--out", "SHARDS", "folder to write, which must not exist"),
    SR_FLAG_TEXT(Options, size, "--size", "BYTES", "bytes per shard, such as 64M or 1G (256M)"),
    SR_FLAG_TEXT(Options, labels, "--labels", "FILE",
                 "labels of a list of images or of IDX files, as LABEL_PATHS names them"),
    SR_FLAG_ON(Options, pack.keep_order, "--keep-order",
               "keep the order of images; they are shuffled by default"),
    SR_FLAG_ON(Options, pack.strict, "--strict",
               "fail at the first damaged image; they are left out and listed by default"),
    SR_FLAG_ON(Options, checks, "--check", "read shards instead and name damaged images"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.size = "256M", .labels = ""};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (args.n_names != 1 || args.n_overrides || !o.checks != !!o.pack.out)
        SR_FAIL(SR_ERR_CONFIG, "sslrun pack needs a folder of images and --out SHARDS, or a folder "
                               "of shards and --check");
    if (o.checks)
        return check(args.names[0]);
    SR_TRY(parse_bytes(o.size, &o.pack.bytes));
    SR_TRY(sr_args_check_images("sslrun pack", args.names[0]));
    o.pack.data = args.names[0];
    return pack(&o.pack, o.labels);
}

const SrVerb sr_verb_pack = {
    .name = "pack",
    .group = SR_VERB_FOLDER,
    .args = "DIR --out SHARDS\nSHARDS --check",
    .summary = "writes a folder of images as tar shards, or verifies shards",
    .help = "Shards follow WebDataset's convention and hold a checksum per image. A slow or remote "
            "disk reads a few large files faster than many small ones. "
            "DATA.TRAIN.DATA_SOURCES=[webdataset] DATA.TRAIN.DATA_PATHS=[SHARDS] trains on shards.",
    .examples = {{"sslrun pack photos --out shards",
                  "Packs a folder, whose sub-folders are the classes."},
                 {"sslrun pack shards --check", "Compares every image with its checksum."}},
    .files = "SHARDS receives tar files and an index.",
    .exit = "0: done; 1: an image is damaged, or a file cannot be written; 2: wrong usage.",
    .flags = flags,
    .run = run_verb,
};
