// sslrun similar IMAGE --in DIR --model CHECKPOINT: lists the files of a folder that are most
// similar to one image.
#include "cli/args.h"
#include "cli/best_layer.h"
#include "cli/verb.h"
#include "trainer/eval/image_neighbours.h"

static SrStatus run_verb(int argc, char **argv) {
    bool json = false;
    int count = 10;
    const char *data = NULL, *model = NULL, *layer = NULL;
    const SrFlag flags[] = {
        {.name = "--in", .text = &data, .help = "a folder of images, or a list of paths (.txt)"},
        {.name = "--model", .text = &model, .help = "a checkpoint, or the run folder it is in"},
        {.name = "--layer",
         .text = &layer,
         .help = "the feature compared, as in res4; else the run's best"},
        {.name = "--count", .number = &count, .help = "files to list (10)"},
        {.name = "--json", .on = &json, .help = "a JSON line a file"},
        {0}};
    SrArgs args;
    SrCheckpointModel m;
    SrBestLayer best;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (args.n_names != 1 || args.n_overrides || !data || !model)
        SR_FAIL(SR_ERR_CONFIG, "sslrun similar needs an image, --in DIR and --model CHECKPOINT");
    if (count < 1)
        SR_FAIL(SR_ERR_CONFIG, "--count needs at least 1");
    SR_TRY(sr_args_check_images("--in", data));
    SR_TRY(sr_checkpoint_model_open(model, &m));
    SrStatus status = sr_best_layer(&m, &layer, &best);
    if (status == SR_OK)
        status = sr_similar(&m, args.names[0], data, layer, count, json, &out);
    sr_checkpoint_model_close(&m);
    if (status == SR_OK)
        return sr_args_print(&out);
    sr_text_deinit(&out);
    return status;
}

const SrVerb sr_verb_similar = {
    .name = "similar",
    .usage = "sslrun similar IMAGE --in DIR --model CHECKPOINT [--layer NAME] [--count N] [--json]",
    .help = "Lists the files of a folder whose features are nearest to an image's.",
    .run = run_verb,
};
