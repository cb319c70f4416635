// sslrun export TRUNK|CONFIG: writes a frozen trunk as ONNX for other programs.  The verb `convert`
// only renames tensors and has no graph; `extract` runs a graph.
#include "base/file.h"
#include "base/log.h"
#include "cli/args.h"
#include "cli/verb.h"
#include "trainer/data/data_split.h"
#include "trainer/model/export_onnx.h"
#include "trainer/run/run_folder.h"

static SrStatus check(const SrArgs *args, const SrExtractorOptions *o, const char *out,
                      bool force) {
    if (args->n_names != 1)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun export: which trunk? Give a model (resnet50) or a YAML file");
    if (!o->weights || !o->nodes || !out)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun export needs --weights FILE, --nodes a,b:c and --out FILE.onnx");
    if (!sr_text_ends(out, ".onnx"))
        SR_FAIL(SR_ERR_CONFIG, "--out %s: the name should end in .onnx", out);
    return sr_file_check_new(out, force);
}

// Sets the default size of images: the first training crop of a configuration, as for `extract`,
// or 224 for a trunk of torchvision.
static SrStatus default_size(const char *trunk, const SrArgs *args, int *size) {
    SrConfig *config;
    int n = 1, h[SR_MAX_VIEWS] = {224}, w[SR_MAX_VIEWS] = {224};
    *size = 224;
    if (!sr_trunk_is_config(trunk))
        return SR_OK;
    SrLogLevel level = sr_log_set_level(SR_LOG_WARN); // the export loads it again, with its remarks
    SrStatus status = sr_config_load(trunk, args->overrides, args->n_overrides, &config);
    sr_log_set_level(level);
    SR_TRY(status);
    if (sr_split_train_shape(config, &n, h, w) == SR_OK)
        *size = h[0];
    sr_config_free(config);
    return SR_OK;
}

static SrStatus run_export(const SrExtractorOptions *o, const char *out) {
    SrExtractor ex;
    SrText text = SR_TEXT_INIT;
    SR_TRY(sr_extractor_open(o, &ex));
    SrStatus status = sr_export_onnx(&ex, out);
    sr_text_printf(&text, "%s: ", out);
    sr_extraction_report(&ex.extraction, &text);
    sr_text_printf(&text, ", %d norms folded\n", ex.n_folded);
    sr_extractor_close(&ex);
    if (status == SR_OK)
        return sr_args_print(&text);
    sr_text_deinit(&text);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    SrExtractorOptions o = {.batch = 1, .mode = SR_MODE_EVAL};
    const char *out = NULL;
    char weights[4096];
    int size = 0;
    bool force = false;
    const SrFlag flags[] = {
        {.name = "--weights",
         .text = &o.weights,
         .help = "a file of weights, in any format that is read"},
        {.name = "--nodes",
         .text = &o.nodes,
         .help = "layers to give, as in layer4,flatten:features"},
        {.name = "--out", .text = &out, .help = "the .onnx file"},
        {.name = "--size",
         .number = &size,
         .help = "pixels a side of the images; the configuration's, or 224"},
        {.name = "--lax", .on = &o.lax, .help = "missing and unexpected weights are no error"},
        {.name = "--no-fold", .on = &o.keep_norms, .help = "batch norms stay as they are"},
        {.name = "--force", .on = &force, .help = "replaces a file that exists"},
        {0}};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    SR_TRY(check(&args, &o, out, force));
    SR_TRY(sr_folder_weights(o.weights, weights, sizeof weights));
    o.weights = weights;
    o.trunk = args.names[0];
    o.overrides = args.overrides;
    o.n_overrides = args.n_overrides;
    if (size == 0)
        SR_TRY(default_size(args.names[0], &args, &size));
    o.height = o.width = size;
    return run_export(&o, out);
}

const SrVerb sr_verb_export = {
    .name = "export",
    .usage = "sslrun export TRUNK|CONFIG --weights FILE --nodes a,b:c --out FILE.onnx [--size N] "
             "[--no-fold] [--lax] "
             "[--force]",
    .help =
        "Writes a frozen trunk as ONNX: images (N, 3, H, W) in, the features of named layers out.",
    .run = run_verb,
};
