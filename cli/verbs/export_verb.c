// sslrun export TRUNK|CONFIG: writes a frozen trunk as ONNX for other programs.  The verb `convert`
// only renames tensors and has no graph; `extract` runs a graph.
#include "base/file.h"
#include "base/log.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "trainer/data/data_split.h"
#include "trainer/features/feature_source.h"
#include "trainer/model/export_onnx.h"
#include "trainer/run/run_folder.h"

static SrStatus check(const SrArgs *args, const SrFeatureOptions *o, const char *out, bool force) {
    if (args->n_names != 1)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun export: no trunk is named; give a model (resnet50) or a YAML file");
    if (!o->weights || !o->layers || !out)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun export needs --weights FILE, --nodes a,b:c and --out FILE.onnx");
    if (!sr_text_ends(out, ".onnx"))
        SR_FAIL(SR_ERR_CONFIG, "--out %s: the name should end in .onnx", out);
    return sr_file_check_new(out, force);
}

// Sets the default size of images: the first training crop of a configuration, as for `extract`,
// or a named model's own.
static SrStatus default_size(const char *trunk, const SrArgs *args, int *size) {
    SrConfig *config;
    int n = 1, h[SR_MAX_VIEWS] = {224}, w[SR_MAX_VIEWS] = {224};
    const SrPreset *preset;
    *size = 224;
    if (!sr_trunk_is_config(trunk)) {
        SR_TRY(sr_preset_find(trunk, &preset));
        *size = sr_preset_pixels(preset)->side;
        return SR_OK;
    }
    SrLogLevel level = sr_log_set_level(SR_LOG_WARN); // the export loads it again, with its remarks
    SrStatus status = sr_config_load(trunk, args->overrides, args->n_overrides, &config);
    sr_log_set_level(level);
    SR_TRY(status);
    status = sr_split_train_shape(config, &n, h, w);
    if (status == SR_OK)
        *size = h[0];
    sr_config_free(config);
    return status == SR_ERR_MEMORY ? status : SR_OK; // transforms may have no fixed shape
}

static SrStatus run_export(const SrFeatureOptions *o, const char *out) {
    SrFeatureSource source;
    SrText text = SR_TEXT_INIT;
    SR_TRY(sr_feature_source_open(o, &source));
    SrStatus status = sr_export_onnx(&source.extraction, sr_graph_title(source.whole), out);
    sr_text_printf(&text, "%s: ", out);
    sr_extraction_report(&source.extraction, &text);
    sr_text_printf(&text, ", %d norms folded\n", source.n_folded);
    sr_feature_source_close(&source);
    if (status == SR_OK)
        return sr_args_print_done(&text, out);
    sr_text_deinit(&text);
    return status;
}

static void say_next(const SrArgs *args, const char *layers) {
    const char *words[SR_ARGS_MAX + 8];
    SrText next = SR_TEXT_INIT;
    int n = 0;
    words[n++] = "graph";
    words[n++] = args->names[0];
    for (int i = 0; i < args->n_overrides; i++)
        words[n++] = args->overrides[i];
    words[n++] = "--nodes";
    words[n++] = layers;
    words[n++] = "--format";
    words[n++] = "tabular";
    words[n] = NULL;
    sr_next_add(&next, "lists the layers in the file, with shapes and costs", words);
    sr_next_say(&next);
}

typedef struct {
    SrFeatureOptions features;
    const char *out;
    int size;
    bool force;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, features.weights, "--weights", "FILE",
                 "weights in any format that is read, or a run folder"),
    SR_FLAG_TEXT(Options, features.layers, "--nodes", "LIST",
                 "layers to export, such as layer4,flatten:features"),
    SR_FLAG_TEXT(Options, out, "--out", "FILE.onnx", "the file to write"),
    SR_FLAG_NUMBER(Options, size, "--size",
                   "pixels per side of the images (the configuration's, or 224)"),
    SR_FLAG_ON(Options, features.lax, "--lax", "accept missing and unexpected weights"),
    SR_FLAG_ON(Options, features.keep_norms, "--no-fold", "keep batch norms separate"),
    SR_FLAG_ON(Options, force, "--force", "replace a file that exists"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.features = {.batch = 1, .mode = SR_MODE_EVAL}};
    SrFeatureOptions *e = &o.features;
    char weights[4096];
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(check(&args, e, o.out, o.force));
    SR_TRY(sr_folder_weights(e->weights, weights, sizeof weights));
    e->weights = weights;
    e->trunk = args.names[0];
    e->overrides = args.overrides;
    e->n_overrides = args.n_overrides;
    if (o.size == 0)
        SR_TRY(default_size(args.names[0], &args, &o.size));
    e->height = e->width = o.size;
    SR_TRY(run_export(e, o.out));
    say_next(&args, e->layers);
    return SR_OK;
}

const SrVerb sr_verb_export = {
    .name = "export",
    .group = SR_VERB_FEATURES,
    .args = "TRUNK|CONFIG --weights FILE --nodes LIST --out FILE.onnx",
    .summary = "writes a frozen trunk as ONNX",
    .help = "The ONNX graph takes images (N, C, H, W), C is 3 or DATA.CHANNELS, and gives the "
            "features of the named layers. TRUNK is a model of torchvision, such as resnet50; "
            "CONFIG is a configuration.",
    .examples =
        {{"sslrun export photos.yaml --weights runs/photos --nodes flatten --out trunk.onnx",
          "Exports a trained trunk."}},
    .files = "FILE.onnx is not replaced without --force.",
    .flags = flags,
    .run = run_verb,
};
