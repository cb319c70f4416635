// sslrun knn CONFIG [KEY=VALUE ...]: weighted kNN of a checkpoint's trunk, beside three baselines.
#include "cli/args.h"
#include "cli/verb.h"
#include "trainer/eval/report.h"

static SrStatus evaluate(const SrConfig *config, bool only, bool json) {
    SrKnnReport report;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_knn_report_configured(config, !only, &report));
    sr_knn_report_print(&report, json, &out);
    return sr_args_print(&out);
}

static SrStatus run_verb(int argc, char **argv) {
    bool json = false, only = false;
    const SrFlag flags[] = {{"--json", &json, NULL, "results as one JSON line", NULL},
                            {"--no-baselines", &only, NULL, "the trained trunk alone", NULL},
                            {0}};
    SrArgs args;
    SrConfig *config;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    SR_TRY(sr_args_load_config(&args, "knn", &config));
    SrStatus status = evaluate(config, only, json);
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_knn = {
    .name = "knn",
    .usage = "sslrun knn CONFIG [KEY=VALUE ...] [--no-baselines] [--json]",
    .help = "Weighted kNN on the newest checkpoint (or MODEL.WEIGHTS_INIT.PARAMS_FILE), beside its "
            "baselines.",
    .run = run_verb,
};
