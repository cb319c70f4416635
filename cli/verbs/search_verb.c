// sslrun search IMAGE --in DIR: lists the images of an index that are most like an image, or like a
// part of it.
#include "cli/image_search.h"
#include "cli/verb.h"

static const SrFlag flags[] = {
    SR_FLAG_TEXT(SrSearchArgs, data, "--in", "DIR",
                 "the images to search; new ones are embedded first"),
    SR_FOLDER_FLAGS(SrSearchArgs),
    SR_FLAG_TEXT(SrSearchArgs, crop, "--crop", "X,Y,W,H",
                 "search for this part of IMAGE, in pixels"),
    SR_FLAG_NUMBER(SrSearchArgs, count, "--count", "images to list (10)"),
    SR_FOLDER_PROBES(SrSearchArgs),
    SR_PHOTO_FLAGS(SrSearchArgs),
    SR_FLAG_ON(SrSearchArgs, json, "--json", "print one JSON line per image"),
    SR_FLAG_ON(SrSearchArgs, csv, "--csv", "print one CSV line per image"),
    SR_FLAG_ON(SrSearchArgs, null, "--null",
               "print names alone, each with a NUL after it; also -0"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    SrSearchArgs o = {.count = 10};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    return sr_image_search(&args, &o,
                           "sslrun search needs an image, and --in DIR with --model, or --index "
                           "FILE");
}

const SrVerb sr_verb_search = {
    .name = "search",
    .group = SR_VERB_FOLDER,
    .args = "IMAGE --in DIR --model RUN\nIMAGE --index FILE",
    .summary = "lists the images of an index that are most like one",
    .help = "One line per image holds the cosine of the features and the file, the most similar "
            "first. The search is exact. With --in, new images are embedded first; with --index "
            "alone, the index is read as it is, by the model that made it.",
    .examples = {{"sslrun search photos/hat/0.jpg --in photos --model runs/photos",
                  "Lists the ten most similar photos."},
                 {"sslrun search photos/hat/0.jpg --in photos --model runs/photos --crop 4,4,16,16",
                  "Searches for a part of the photo."},
                 {"sslrun search photos/hat/0.jpg --in photos --model runs/photos --page hats.html",
                  "Writes a page with the photos."}},
    .files = "RUN/index/ keeps the rows (sslrun index).",
    .flags = flags,
    .run = run_verb,
};
