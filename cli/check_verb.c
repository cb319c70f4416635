// sslrun check CONFIG [KEY=VALUE ...]: composes, validates, builds and plans, without data and
// without memory.
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/parallel.h"
#include "cli/args.h"
#include "cli/verb.h"
#include "trainer/bench/estimate.h"

// Says too large without failing: the configuration may be meant for another machine.
static void print_text(const SrRun *run, double seconds, SrText *out) {
    char need[32], free_now[32];
    const SrRunCost *c = &run->cost;
    size_t bytes = sr_run_bytes(c);
    const char *method = !run->config->learns     ? "no loss: everything is frozen"
                         : run->config->test_only ? "evaluation only"
                                                  : run->config->loss_name;
    sr_text_printf(out, "%s: trunk %s, %s%s\n  ", run->config->path, run->config->model.trunk_name,
                   method == run->config->loss_name ? "loss " : "", method);
    sr_run_cost_text(run, out);
    sr_text_printf(out, "\n  %s in all, %s free on this machine%s",
                   sr_bytes_text((double)bytes, need, sizeof need),
                   sr_bytes_text((double)c->available_bytes, free_now, sizeof free_now),
                   c->available_bytes > 0 && bytes > c->available_bytes ? ": too large" : "");
    sr_text_printf(out,
                   "\n  about %.3g s a step on this machine with %d threads: an estimate, `sslrun "
                   "bench` measures\n",
                   seconds, sr_parallel_threads());
}

// Only a warning: VISSL's own files name places that the user has yet to fill in.
static void warn_missing_weights(const SrConfig *config) {
    const char *path = config->model.params_file;
    if (*path && !strstr(path, "://") && !sr_file_exists(path))
        sr_warn("MODEL.WEIGHTS_INIT.PARAMS_FILE: there is no file '%s'; a run will ask for it",
                path);
}

static SrStatus check(const SrConfig *config, bool json) {
    SrRun *run;
    double seconds;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_run_open(config, SR_RUN_CHECK, &run));
    warn_missing_weights(config);
    SrStatus status = sr_estimate_step(run, &seconds);
    if (status != SR_OK) {
        sr_run_close(run);
        return status;
    }
    if (json) {
        sr_json_begin(&out);
        sr_json_string(&out, "config", config->path);
        sr_run_cost_json(run, &out);
        sr_json_float(&out, "estimated_step_ms", 1e3 * seconds);
        sr_json_end(&out);
    } else {
        print_text(run, seconds, &out);
    }
    sr_run_close(run);
    return sr_args_print(&out);
}

static SrStatus run_verb(int argc, char **argv) {
    bool json = false, tree = false;
    const SrFlag flags[] = {
        {"--json", &json, NULL, "results as one JSON line", NULL},
        {"--tree", &tree, NULL, "prints the resolved configuration instead", NULL},
        {0}};
    SrArgs args;
    SrConfig *config;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    SR_TRY(sr_args_load_config(&args, "check", &config));
    SrText out = SR_TEXT_INIT;
    SrStatus status;
    if (tree) {
        sr_yaml_print(config->tree, &out);
        status = sr_args_print(&out);
    } else {
        status = check(config, json);
    }
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_check = {
    .name = "check",
    .usage = "sslrun check CONFIG [KEY=VALUE ...] [--tree] [--json]",
    .help = "Validates a configuration and plans its step without data: parameters, memory, FLOPs, "
            "time.",
    .run = run_verb,
};
