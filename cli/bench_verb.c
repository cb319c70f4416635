// sslrun bench CONFIG [KEY=VALUE ...]: times training steps on random images.
#include "base/log.h"
#include "cli/args.h"
#include "cli/verb.h"
#include "trainer/bench.h"

static SrStatus bench(const SrConfig *config, const SrBenchOptions *options, bool json) {
    SrBenchResult result;
    SrText out = SR_TEXT_INIT, profile = SR_TEXT_INIT;
    SrStatus status;
    SR_TRY_GOTO(sr_bench(config, options, &result, &profile));
    if (json)
        sr_bench_json(config, &result, &out);
    else
        sr_bench_text(&result, &out);
    SR_TRY_GOTO(sr_args_print(&out));
    SR_TRY_GOTO(sr_args_print(&profile));
done:
    sr_text_deinit(&out);
    sr_text_deinit(&profile);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    bool json = false;
    SrBenchOptions options = {.steps = 5, .warmup = 1};
    const SrFlag flags[] = {
        {"--steps", NULL, &options.steps, "timed steps, default 5", NULL},
        {"--warmup", NULL, &options.warmup, "steps before them, default 1", NULL},
        {"--profile", &options.profile, NULL, "time of each kernel call", NULL},
        {"--json", &json, NULL, "results as one JSON line", NULL},
        {0}};
    SrArgs args;
    SrConfig *config;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (options.steps < 1)
        return sr_fail(SR_ERR_CONFIG, "--steps needs at least 1");
    SR_TRY(sr_args_load_config(&args, "bench", &config));
    SrStatus status = bench(config, &options, json);
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_bench = {
    .name = "bench",
    .usage = "sslrun bench CONFIG [KEY=VALUE ...] [--steps N] [--warmup N] [--profile] [--json]",
    .help = "Times training steps of a configuration on random images.",
    .run = run_verb,
};
