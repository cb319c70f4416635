// sslrun linear CHECKPOINT --data DIR: trains a linear classifier on a trained trunk and
// evaluates it per class.
#include "cli/args.h"
#include "cli/verb.h"
#include "trainer/eval/image_classifier.h"

static SrStatus run_verb(int argc, char **argv) {
    bool json = false;
    const char *data = NULL, *layer = NULL, *file = NULL;
    const SrFlag flags[] = {
        {.name = "--data", .text = &data, .help = "images in a folder a class"},
        {.name = "--layer", .text = &layer, .help = "as in res4; else the best one is found"},
        {.name = "--out", .text = &file, .help = "for the classifier; else beside the checkpoint"},
        {.name = "--json", .on = &json, .help = "results as one JSON line"},
        {0}};
    SrArgs args;
    SrCheckpointModel m;
    SrClassifierReport report;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (args.n_names != 1 || args.n_overrides || !data)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun linear needs a checkpoint (or its run folder) and --data DIR; linear "
                "evaluation by a recipe is `sslrun configs/benchmark/linear.yaml`");
    SR_TRY(sr_args_check_images("--data", data));
    SR_TRY(sr_checkpoint_model_open(args.names[0], &m));
    SrStatus status = sr_image_classifier_train(&m, data, layer, file, &report);
    if (status == SR_OK)
        (json ? sr_classifier_report_json : sr_classifier_report_text)(&report, &out);
    sr_classifier_report_deinit(&report);
    sr_checkpoint_model_close(&m);
    return status == SR_OK ? sr_args_print(&out) : status;
}

const SrVerb sr_verb_linear = {
    .name = "linear",
    .usage = "sslrun linear CHECKPOINT --data DIR [--layer NAME] [--out FILE] [--json]",
    .help = "Trains a linear classifier on a checkpoint's trunk: accuracy by class, confusion.",
    .run = run_verb,
};
