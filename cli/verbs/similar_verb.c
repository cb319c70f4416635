// sslrun similar IMAGE --in DIR --model CHECKPOINT: lists the files of a folder that are most
// similar to one image.
#include "base/file.h"
#include "cli/args/args.h"
#include "cli/args/photo_page_args.h"
#include "cli/best_layer.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "pages/photos/photo_page.h"
#include "trainer/eval/image_neighbours.h"

typedef struct {
    bool json, null;
    int count;
    const char *data, *model, *layer;
    SrPhotoFiles files;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, data, "--in", "DIR", "a folder of images, or a list of paths (.txt)"),
    SR_FLAG_TEXT(Options, model, "--model", "RUN", "a run folder, or a checkpoint"),
    SR_FLAG_TEXT(Options, layer, "--layer", "NAME",
                 "feature to compare, such as res4 (the run's best)"),
    SR_FLAG_NUMBER(Options, count, "--count", "files to list (10)"),
    SR_PHOTO_FLAGS(Options),
    SR_FLAG_ON(Options, json, "--json", "print one JSON line per file"),
    SR_FLAG_ON(Options, null, "--null", "print names alone, each with a NUL after it; also -0"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.count = 10};
    SrArgs args;
    SrCheckpointModel m;
    SrBestLayer best;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_photo_files_check(&o.files));
    if (o.null && (o.json || sr_photo_files_any(&o.files)))
        SR_FAIL(SR_ERR_CONFIG,
                "--null goes neither with --json nor with --page or --sheet: give one of them");
    SrFilesForm form = o.json || sr_photo_files_any(&o.files) ? SR_FILES_JSON
                       : o.null                               ? SR_FILES_NULL
                                                              : SR_FILES_TEXT;
    if (args.n_names != 1 || args.n_overrides || !o.data || !o.model)
        SR_FAIL(SR_ERR_CONFIG, "sslrun similar needs an image, --in DIR and --model CHECKPOINT");
    if (o.count < 1)
        SR_FAIL(SR_ERR_CONFIG, "--count needs at least 1");
    if (!sr_file_exists(args.names[0]))
        SR_FAIL(SR_ERR_CONFIG, "%s: no such image", args.names[0]);
    SR_TRY(sr_args_check_images("sslrun similar", args.names[0]));
    SR_TRY(sr_args_check_images("--in", o.data));
    SR_TRY(sr_checkpoint_model_open(o.model, &m));
    SrStatus status = sr_best_layer(&m, &o.layer, &best);
    if (status == SR_OK)
        status = sr_similar(&m, args.names[0], o.data, o.layer, o.count, form, &out);
    sr_checkpoint_model_close(&m);
    if (status == SR_OK && sr_photo_files_any(&o.files))
        status = sr_photo_page_similar(&o.files, args.names[0], out.s);
    SR_TRY(sr_photo_files_print(status, &o.files, o.json, &out));
    if (!o.json && !o.null) {
        SrText next = SR_TEXT_INIT;
        SR_NEXT(&next, "groups the images of the folder that look alike", "duplicates", o.data,
                "--model", o.model);
        sr_next_say(&next);
    }
    return SR_OK;
}

const SrVerb sr_verb_similar = {
    .name = "similar",
    .group = SR_VERB_FOLDER,
    .common = 5,
    .args = "IMAGE --in DIR --model RUN",
    .summary = "lists the images of a folder that are most similar to one image",
    .help =
        "One line per image holds the cosine of the features and the file, the most similar first.",
    .examples =
        {{"sslrun similar photos/hat/0.jpg --in photos --model runs/photos",
          "Lists the ten most similar photos."},
         {"sslrun similar photos/hat/0.jpg --in photos --model runs/photos --layer res4 --count 3",
          "Compares another layer."},
         {"sslrun similar photos/hat/0.jpg --in photos --model runs/photos --page hats.html",
          "Writes a page with the photos."},
         {"sslrun similar photos/hat/0.jpg --in photos --model runs/photos --sheet hats.png",
          "Writes one picture with the photos."}},
    .flags = flags,
    .run = run_verb,
};
