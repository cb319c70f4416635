// sslrun predict CHECKPOINT DIR: predicts the classes of a folder's images by the classifier of
// `sslrun linear`.
#include "cli/args.h"
#include "cli/verb.h"
#include "trainer/eval/image_classifier.h"

static SrStatus run_verb(int argc, char **argv) {
    bool json = false;
    const char *file = NULL;
    const SrFlag flags[] = {{.name = "--classifier",
                             .text = &file,
                             .help = "else linear.safetensors beside the checkpoint"},
                            {.name = "--json", .on = &json, .help = "a JSON line an image"},
                            {0}};
    SrArgs args;
    SrCheckpointModel m;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (args.n_names != 2 || args.n_overrides)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun predict needs a checkpoint (or its run folder) and a folder of images");
    SR_TRY(sr_args_check_images("sslrun predict", args.names[1]));
    SR_TRY(sr_checkpoint_model_open(args.names[0], &m));
    SrStatus status = sr_image_classifier_apply(&m, args.names[1], file, json, &out);
    sr_checkpoint_model_close(&m);
    if (status == SR_OK)
        return sr_args_print(&out);
    sr_text_deinit(&out);
    return status;
}

const SrVerb sr_verb_predict = {
    .name = "predict",
    .usage = "sslrun predict CHECKPOINT DIR [--classifier FILE] [--json]",
    .help = "Says the class of each image of a folder, by the classifier of `sslrun linear`.",
    .run = run_verb,
};
