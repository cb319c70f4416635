// sslrun bench CONFIG [KEY=VALUE ...]: times training steps on random images; with --forward-only,
// features of a trunk; with --data, the loader.
#include "base/log.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/bench_data.h"
#include "trainer/bench/bench_forward.h"

typedef struct {
    SrBenchOptions bench;
    SrFeatureOptions forward; // options of --forward-only
    int size;
    bool json, forward_only, data_only;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_NUMBER(Options, bench.steps, "--steps", "timed steps (5)"),
    SR_FLAG_NUMBER(Options, bench.warmup, "--warmup", "steps before the timed ones (1)"),
    SR_FLAG_ON(Options, bench.profile, "--profile", "print the time of each kind of kernel call"),
    SR_FLAG_ON(Options, bench.ops, "--ops",
               "print GFLOP/s, GB/s and the share of the roofline for every call"),
    SR_FLAG_ON(Options, json, "--json", "print results as one JSON line"),
    SR_FLAG_ON(Options, forward_only, "--forward-only",
               "time features in evaluation instead of training steps"),
    SR_FLAG_ON(Options, data_only, "--data", "time only the images of DATA.TRAIN, in one thread"),
    SR_FLAG_NUMBER(Options, forward.batch, "--batch", "images per batch, with --forward-only (16)"),
    SR_FLAG_NUMBER(Options, size, "--size", "pixels per side, with --forward-only (224)"),
    SR_FLAG_TEXT(Options, forward.layers, "--nodes", "LIST",
                 "layers to compute, with --forward-only (flatten)"),
    SR_FLAG_ON(Options, forward.keep_norms, "--no-fold",
               "keep batch norms separate, with --forward-only"),
    SR_FLAG_ON(Options, forward.bf16, "--bf16", "store maps in bfloat16, with --forward-only"),
    {0}};

static SrStatus print(const char *arch, const SrBenchResult *result, bool json, SrText *profile) {
    SrText out = SR_TEXT_INIT;
    if (json)
        sr_bench_json(arch, result, &out);
    else
        sr_bench_text(result, &out);
    SR_TRY(sr_args_print(&out));
    return sr_args_print(profile);
}

// Suggests the table of kernels where none was printed, and otherwise the training itself.
static void say_next(const Options *o, const SrArgs *args) {
    const char *words[SR_ARGS_MAX + 8];
    SrText next = SR_TEXT_INIT;
    bool profile = o->bench.profile || o->bench.ops;
    int n = 0;
    if (o->json || (profile && o->forward_only))
        return;
    words[n++] = profile && !o->data_only ? "train" : "bench";
    for (int i = 0; i < args->n_names; i++)
        words[n++] = args->names[i];
    for (int i = 0; i < args->n_overrides; i++)
        words[n++] = args->overrides[i];
    if (o->forward_only)
        words[n++] = "--forward-only";
    if (!profile && !o->data_only)
        words[n++] = "--profile";
    words[n] = NULL;
    sr_next_add(&next,
                o->data_only ? "times training steps, which the loader must keep up with"
                : profile    ? "trains, resumes after an interruption, and evaluates at the end"
                             : "prints the time of each kind of kernel call, too",
                words);
    sr_next_say(&next);
}

static SrStatus bench_steps(const Options *o, const SrArgs *args) {
    SrBenchResult result;
    SrText profile = SR_TEXT_INIT;
    SrConfig *config;
    SR_TRY(sr_args_load_config(args, "bench", &config));
    SrStatus status = sr_bench(config, &o->bench, &result, &profile);
    if (status == SR_OK)
        status = print(config->model.trunk_name, &result, o->json, &profile);
    sr_text_deinit(&profile);
    sr_config_free(config);
    return status;
}

static SrStatus bench_data(const Options *o, const SrArgs *args) {
    SrBenchResult result;
    SrText out = SR_TEXT_INIT;
    SrConfig *config;
    SR_TRY(sr_args_load_config(args, "bench", &config));
    SrStatus status = sr_bench_data(config, &o->bench, &result);
    if (status == SR_OK) {
        (o->json ? sr_bench_data_json : sr_bench_data_text)(&result, config, &out);
        status = sr_args_print(&out);
    }
    sr_config_free(config);
    return status;
}

static SrStatus bench_forward(Options *o, const SrArgs *args) {
    SrBenchResult result;
    SrText profile = SR_TEXT_INIT;
    if (args->n_names != 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun bench --forward-only: no trunk is named; give a model "
                               "(resnet50) or a YAML file");
    o->forward.trunk = args->names[0];
    o->forward.overrides = args->overrides;
    o->forward.n_overrides = args->n_overrides;
    o->forward.height = o->forward.width = o->size;
    SrStatus status = sr_bench_forward(&o->forward, &o->bench, &result, &profile);
    if (status == SR_OK)
        status = print(args->names[0], &result, o->json, &profile);
    sr_text_deinit(&profile);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.bench = {.steps = 5, .warmup = 1},
                 .size = 224,
                 .forward = {.batch = 16, .layers = "flatten", .mode = SR_MODE_EVAL}};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (o.bench.steps < 1)
        SR_FAIL(SR_ERR_CONFIG, "--steps needs at least 1");
    if (o.data_only && o.forward_only)
        SR_FAIL(SR_ERR_CONFIG, "--data and --forward-only exclude each other; give one of them");
    SrStatus status = o.data_only      ? bench_data(&o, &args)
                      : o.forward_only ? bench_forward(&o, &args)
                                       : bench_steps(&o, &args);
    if (status == SR_OK)
        say_next(&o, &args);
    return status;
}

const SrVerb sr_verb_bench = {
    .name = "bench",
    .group = SR_VERB_CHECK,
    .args = "CONFIG [KEY=VALUE ...]\nTRUNK|CONFIG --forward-only [KEY=VALUE ...]",
    .summary = "times training steps, features or the loader",
    .help = "Training steps and features are timed on random images, so that no data is read. "
            "--data times reading, decoding and augmenting the images of DATA.TRAIN alone. Figures "
            "are medians; other work on the machine makes them larger.",
    .examples = {{"sslrun bench photos.yaml --steps 3", "Times three training steps."},
                 {"sslrun bench resnet18 --forward-only --batch 4",
                  "Times features of torchvision's ResNet-18."},
                 {"sslrun bench photos.yaml --data", "Times the loader."}},
    .flags = flags,
    .run = run_verb,
};
