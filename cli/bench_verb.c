// sslrun bench CONFIG [KEY=VALUE ...]: times training steps on random images; with --forward-only,
// features of a trunk; with --data, the loader.
#include "base/log.h"
#include "cli/args.h"
#include "cli/verb.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/bench_data.h"
#include "trainer/bench/bench_forward.h"

typedef struct {
    SrBenchOptions bench;
    SrExtractorOptions forward; // options of --forward-only
    int size;
    bool json, forward_only, data_only;
} Options;

static SrStatus print(const char *arch, const SrBenchResult *result, bool json, SrText *profile) {
    SrText out = SR_TEXT_INIT;
    if (json)
        sr_bench_json(arch, result, &out);
    else
        sr_bench_text(result, &out);
    SR_TRY(sr_args_print(&out));
    return sr_args_print(profile);
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
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun bench --forward-only: which trunk? Give a model (resnet50) or a YAML file");
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
                 .forward = {.batch = 16, .nodes = "flatten", .mode = SR_MODE_EVAL}};
    const SrFlag flags[] = {
        {"--steps", NULL, &o.bench.steps, "timed steps, default 5", NULL},
        {"--warmup", NULL, &o.bench.warmup, "steps before them, default 1", NULL},
        {"--profile", &o.bench.profile, NULL, "time of each kernel call", NULL},
        {"--ops", &o.bench.ops, NULL,
         "the same for every call: GFLOP/s, GB/s, share of the roofline", NULL},
        {"--json", &o.json, NULL, "results as one JSON line", NULL},
        {"--forward-only", &o.forward_only, NULL,
         "features in evaluation instead of training steps", NULL},
        {"--data", &o.data_only, NULL, "only the images of DATA.TRAIN, in one thread", NULL},
        {"--batch", NULL, &o.forward.batch, "images, with --forward-only", NULL},
        {"--size", NULL, &o.size, "pixels a side, with --forward-only", NULL},
        {"--nodes", NULL, NULL, "layers, with --forward-only; default flatten", &o.forward.nodes},
        {"--no-fold", &o.forward.keep_norms, NULL, "batch norms stay, with --forward-only", NULL},
        {"--bf16", &o.forward.bf16, NULL, "maps in bfloat16, with --forward-only", NULL},
        {0}};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (o.bench.steps < 1)
        SR_FAIL(SR_ERR_CONFIG, "--steps needs at least 1");
    if (o.data_only && o.forward_only)
        SR_FAIL(SR_ERR_CONFIG, "--data and --forward-only: one of them");
    if (o.data_only)
        return bench_data(&o, &args);
    return o.forward_only ? bench_forward(&o, &args) : bench_steps(&o, &args);
}

const SrVerb sr_verb_bench = {
    .name = "bench",
    .usage = "sslrun bench CONFIG [KEY=VALUE ...] [--steps N] [--warmup N] [--profile|--ops] "
             "[--json] [--data]\n"
             "  sslrun bench TRUNK|CONFIG --forward-only [--batch N] [--size N] [--nodes a,b] "
             "[--no-fold] [--bf16] ...",
    .help = "Times training steps of a configuration, or forwards of a trunk, on random images; or "
            "its loader on its own.",
    .run = run_verb,
};
