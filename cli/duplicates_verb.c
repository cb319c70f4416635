// sslrun duplicates DIR --model CHECKPOINT: lists groups of images that look alike.
#include <stdlib.h>

#include "base/number.h"
#include "cli/args.h"
#include "cli/best_layer.h"
#include "cli/verb.h"
#include "trainer/eval/image_neighbours.h"

static SrStatus parse_threshold(const char *text, double *out) {
    char *end;
    *out = sr_number_parse(text, &end);
    if (end == text || *end || !(*out > 0 && *out <= 1))
        SR_FAIL(SR_ERR_CONFIG, "--threshold %s: expected a cosine above 0, at most 1", text);
    return SR_OK;
}

static SrStatus run_verb(int argc, char **argv) {
    bool json = false;
    double threshold;
    const char *model = NULL, *layer = NULL, *text = "0.98";
    const SrFlag flags[] = {
        {.name = "--model", .text = &model, .help = "a checkpoint, or the run folder it is in"},
        {.name = "--layer",
         .text = &layer,
         .help = "the feature compared, as in res4; else the run's best"},
        {.name = "--threshold", .text = &text, .help = "cosine from which images are alike (0.98)"},
        {.name = "--json", .on = &json, .help = "a JSON line a group"},
        {0}};
    SrArgs args;
    SrCheckpointModel m;
    SrBestLayer best;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (args.n_names != 1 || args.n_overrides || !model)
        SR_FAIL(SR_ERR_CONFIG, "sslrun duplicates needs a folder of images and --model CHECKPOINT");
    SR_TRY(parse_threshold(text, &threshold));
    SR_TRY(sr_args_check_images("sslrun duplicates", args.names[0]));
    SR_TRY(sr_checkpoint_model_open(model, &m));
    SrStatus status = sr_best_layer(&m, &layer, &best);
    if (status == SR_OK)
        status = sr_duplicates(&m, args.names[0], layer, threshold, json, &out);
    sr_checkpoint_model_close(&m);
    if (status == SR_OK)
        return sr_args_print(&out);
    sr_text_deinit(&out);
    return status;
}

const SrVerb sr_verb_duplicates = {
    .name = "duplicates",
    .usage =
        "sslrun duplicates DIR --model CHECKPOINT [--layer NAME] [--threshold COSINE] [--json]",
    .help = "Groups the files of a folder whose features are alike.",
    .run = run_verb,
};
