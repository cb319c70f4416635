// sslrun linear CHECKPOINT [--data DIR]: trains a linear classifier on a trained trunk and
// evaluates it per class.
#include "cli/args/args.h"
#include "cli/args/photo_page_args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "pages/photos/classifier_page.h"
#include "trainer/eval/image_classifier.h"

typedef struct {
    bool json;
    const char *data, *layer, *out;
    SrPhotoFiles files;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, data, "--data", "DIR",
                 "images, with one sub-folder per class (the images of the run)"),
    SR_FLAG_TEXT(Options, layer, "--layer", "NAME", "layer, such as res4 (the best is found)"),
    SR_FLAG_TEXT(Options, out, "--out", "FILE",
                 "file of the classifier (linear.safetensors next to the checkpoint)"),
    SR_PHOTO_FLAGS(Options),
    SR_FLAG_ON(Options, json, "--json", "print results as one JSON line"),
    {0}};

static void say_next(const Options *o, const char *run, const char *data) {
    static const char what[] = "predicts the class of each image; any folder can stand there";
    SrText next = SR_TEXT_INIT;
    if (o->out)
        SR_NEXT(&next, what, "predict", run, data, "--classifier", o->out);
    else
        SR_NEXT(&next, what, "predict", run, data);
    sr_next_say(&next);
}

// Returns the folder or list that `predict` can read: --data, or the only source of the run's
// images.  NULL: there is none.
static const char *data_of(const Options *o, const SrCheckpointModel *m) {
    const SrStrings *paths = &m->config->train.data_paths;
    return o->data ? o->data : paths->n == 1 && *paths->v[0] ? paths->v[0] : NULL;
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.json = false};
    SrArgs args;
    SrCheckpointModel m;
    SrClassifierReport report;
    SrText out = SR_TEXT_INIT, data = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_photo_files_check(&o.files));
    if (args.n_names != 1 || args.n_overrides)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun linear needs one checkpoint (or its run folder), and no KEY=VALUE; `sslrun "
                "configs/benchmark/linear.yaml` runs linear evaluation by a recipe");
    if (o.data)
        SR_TRY(sr_args_check_images("--data", o.data));
    SR_TRY(sr_checkpoint_model_open(args.names[0], &m));
    SrStatus status = sr_image_classifier_train(&m, o.data, o.layer, o.out, &report);
    if (status == SR_OK)
        (o.json ? sr_classifier_report_json : sr_classifier_report_text)(&report, &out);
    if (data_of(&o, &m))
        sr_text_add(&data, data_of(&o, &m));
    sr_checkpoint_model_close(&m);
    if (status == SR_OK && sr_photo_files_any(&o.files))
        status = sr_classifier_page(&report, &o.files);
    status = sr_photo_files_print(status, &o.files, o.json, &out);
    if (status == SR_OK && !o.json && data.s)
        say_next(&o, args.names[0], data.s);
    sr_text_deinit(&data);
    sr_classifier_report_deinit(&report);
    return status;
}

const SrVerb sr_verb_linear = {
    .name = "linear",
    .group = SR_VERB_EVALUATE,
    .args = "RUN [--data DIR]",
    .summary = "trains a linear classifier on a trunk and evaluates it per class",
    .help = "RUN is a run folder or a checkpoint; its trunk stays frozen. Without --data the "
            "images and labels are those that the run was trained on. Accuracy per class and a "
            "confusion matrix are those of photos that training has not seen: the folder's test "
            "part, or a share that is held out. `sslrun predict` uses the classifier.",
    .examples = {{"sslrun linear runs/photos --data photos",
                  "Trains a classifier on the best layer."},
                 {"sslrun linear runs/photos", "Does so on the images of the run."},
                 {"sslrun linear runs/photos --data photos --layer res4 --out res4.safetensors",
                  "Takes a given layer."},
                 {"sslrun linear runs/photos --data photos --page classifier.html",
                  "Writes a page with the bars, the confusions and the mistaken photos."}},
    .files = "RUN/linear.safetensors is replaced.",
    .flags = flags,
    .run = run_verb,
};
