// sslrun predict CHECKPOINT DIR: predicts the classes of a folder's images by the classifier of
// `sslrun linear`.
#include <string.h>

#include "cli/args/args.h"
#include "cli/args/photo_page_args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "pages/photos/photo_page.h"
#include "trainer/eval/image_classifier.h"

typedef struct {
    bool json;
    const char *classifier, *sort;
    SrPhotoFiles files;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, classifier, "--classifier", "FILE",
                 "classifier of `sslrun linear` (linear.safetensors next to the checkpoint)"),
    SR_PHOTO_FLAGS(Options),
    SR_FLAG_TEXT(Options, sort, "--sort", "doubt", "list the least certain images first"),
    SR_FLAG_ON(Options, json, "--json", "print one JSON line per image"),
    {0}};

static void say_next(void) {
    SrText next = SR_TEXT_INIT;
    SR_NEXT_AGAIN(&next, "writes a page that begins with the least certain images", "--page",
                  "classes.html");
    sr_next_say(&next);
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.json = false};
    SrArgs args;
    SrCheckpointModel m;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_photo_files_check(&o.files));
    if (args.n_names != 2 || args.n_overrides)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun predict needs a checkpoint (or its run folder) and a folder of images");
    if (o.sort && strcmp(o.sort, "doubt") != 0)
        SR_FAIL(SR_ERR_CONFIG, "--sort %s: expected doubt", o.sort);
    SR_TRY(sr_args_check_images("sslrun predict", args.names[1]));
    SR_TRY(sr_checkpoint_model_open(args.names[0], &m));
    SrStatus status = sr_image_classifier_apply(&m, args.names[1], o.classifier, o.sort != NULL,
                                                o.json || sr_photo_files_any(&o.files), &out);
    sr_checkpoint_model_close(&m);
    if (status == SR_OK && sr_photo_files_any(&o.files))
        status = sr_photo_page_predict(&o.files, &out);
    SR_TRY(sr_photo_files_print(status, &o.files, o.json, &out));
    if (!o.json && !sr_photo_files_any(&o.files))
        say_next();
    return SR_OK;
}

const SrVerb sr_verb_predict = {
    .name = "predict",
    .group = SR_VERB_FOLDER,
    .args = "RUN DIR",
    .summary = "predicts the class of each image of a folder",
    .help =
        "RUN is a run folder or a checkpoint for which `sslrun linear` has trained a classifier. "
        "One line per image holds the file, its class and the probability, separated by tabs.",
    .examples = {{"sslrun predict runs/photos new-photos", "Predicts the class of each photo."},
                 {"sslrun predict runs/photos new-photos --sort doubt",
                  "Begins with the photos that are worth a look."},
                 {"sslrun predict runs/photos new-photos --json", "Prints JSON lines."},
                 {"sslrun predict runs/photos new-photos --page classes.html",
                  "Writes a page with the least certain photos first."}},
    .flags = flags,
    .run = run_verb,
};
