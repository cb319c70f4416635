// sslrun similar IMAGE --in DIR --model CHECKPOINT: lists the files of a folder that are most
// similar to one image.
#include "cli/image_search.h"
#include "cli/verb.h"

static const SrFlag flags[] = {
    SR_FLAG_TEXT(SrSearchArgs, data, "--in", "DIR",
                 "a folder of images, or a list of paths (.txt)"),
    SR_FOLDER_FLAGS(SrSearchArgs),
    SR_FLAG_NUMBER(SrSearchArgs, count, "--count", "files to list (10)"),
    SR_FOLDER_PROBES(SrSearchArgs),
    SR_PHOTO_FLAGS(SrSearchArgs),
    SR_FLAG_ON(SrSearchArgs, json, "--json", "print one JSON line per file"),
    SR_FLAG_ON(SrSearchArgs, csv, "--csv", "print one CSV line per file"),
    SR_FLAG_ON(SrSearchArgs, null, "--null",
               "print names alone, each with a NUL after it; also -0"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    static const char usage[] = "sslrun similar needs an image, --in DIR and --model CHECKPOINT";
    SrSearchArgs o = {.count = 10};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (!o.data || !o.folder.model)
        SR_FAIL(SR_ERR_CONFIG, "%s", usage);
    return sr_image_search(&args, &o, usage);
}

const SrVerb sr_verb_similar = {
    .name = "similar",
    .group = SR_VERB_FOLDER,
    .common = 5,
    .args = "IMAGE --in DIR --model RUN",
    .summary = "lists the images of a folder that are most similar to one image",
    .help = "One line per image holds the cosine of the features and the file, the most similar "
            "first. New and changed images are embedded first and kept in the index of the folder, "
            "which `search`, `duplicates`, `outliers` and `select` read too. `search` finds parts "
            "of images.",
    .examples =
        {{"sslrun similar photos/hat/0.jpg --in photos --model runs/photos",
          "Lists the ten most similar photos."},
         {"sslrun similar photos/hat/0.jpg --in photos --model runs/photos --layer res4 --count 3",
          "Compares another layer."},
         {"sslrun similar photos/hat/0.jpg --in photos --model runs/photos --page hats.html",
          "Writes a page with the photos."},
         {"sslrun similar photos/hat/0.jpg --in photos --model runs/photos --sheet hats.png",
          "Writes one picture with the photos."}},
    .files = "RUN/index/ keeps the rows (sslrun index).",
    .flags = flags,
    .run = run_verb,
};
