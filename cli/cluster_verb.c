// sslrun cluster TRAIN [TEST]: clusters features by k-means and writes files of labels.
#include "cli/eval_sets_args.h"
#include "cli/verb.h"
#include "trainer/eval/clusterfit.h"

static SrStatus need_features(const char *name) {
    if (!sr_args_is_features(name))
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun cluster takes features, and there are none in '%s'; `sslrun extract MODEL "
                "--weights FILE --nodes flatten --data DIR --out FEATURES` writes them",
                name);
    return SR_OK;
}

static SrStatus run_verb(int argc, char **argv) {
    bool json = false, force = false;
    const char *layer = NULL;
    const SrFlag flags[] = {{"--json", &json, NULL, "results as one JSON line", NULL},
                            {"--force", &force, NULL, "replaces files that exist", NULL},
                            {"--layer", NULL, NULL, "the feature, as in flatten", &layer},
                            {0}};
    SrArgs args;
    SrConfig *config;
    SrClusterReport report;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (args.n_names == 1 || args.n_names == 2)
        for (int i = 0; i < args.n_names; i++)
            SR_TRY(need_features(args.names[i]));
    else
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun cluster takes features: TRAIN and perhaps TEST, as `sslrun extract --data` "
                "writes them");
    SR_TRY(sr_config_options(args.overrides, args.n_overrides, &config));
    SrStatus status = sr_cluster(config, args.names[0], args.n_names > 1 ? args.names[1] : NULL,
                                 layer, force, &report);
    sr_config_free(config);
    SR_TRY(status);
    (json ? sr_cluster_json : sr_cluster_text)(&report, &out);
    return sr_args_print(&out);
}

const SrVerb sr_verb_cluster = {
    .name = "cluster",
    .usage = "sslrun cluster TRAIN [TEST] [CLUSTERFIT.NUM_CLUSTERS=N ...] [--layer NAME] [--force] "
             "[--json]",
    .help = "k-means of features into label files, for ClusterFit and DeepCluster.",
    .run = run_verb,
};
