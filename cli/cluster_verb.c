// sslrun cluster TRAIN [TEST]: clusters features by k-means and writes files of labels.
#include "cli/eval_sets_args.h"
#include "cli/verb.h"
#include "trainer/eval/clusterfit.h"

static SrStatus need_features(const char *name) {
    if (!sr_args_is_features(name))
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun cluster needs features, but '%s' holds none; `sslrun extract MODEL "
                "--weights FILE --nodes flatten --data DIR --out FEATURES` writes them",
                name);
    return SR_OK;
}

typedef struct {
    bool json, force;
    const char *layer;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, layer, "--layer", "NAME", "feature to cluster, such as flatten"),
    SR_FLAG_ON(Options, force, "--force", "replace files that exist"),
    SR_FLAG_ON(Options, json, "--json", "print results as one JSON line"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.json = false};
    SrArgs args;
    SrConfig *config;
    SrClusterReport report;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (args.n_names == 1 || args.n_names == 2)
        for (int i = 0; i < args.n_names; i++)
            SR_TRY(need_features(args.names[i]));
    else
        SR_FAIL(SR_ERR_CONFIG, "sslrun cluster needs one or two folders of features, TRAIN and "
                               "TEST, as `sslrun extract --data` writes them");
    SR_TRY(sr_config_options(args.overrides, args.n_overrides, &config));
    SrStatus status = sr_cluster(config, args.names[0], args.n_names > 1 ? args.names[1] : NULL,
                                 o.layer, o.force, &report);
    sr_config_free(config);
    SR_TRY(status);
    (o.json ? sr_cluster_json : sr_cluster_text)(&report, &out);
    return sr_args_print(&out);
}

const SrVerb sr_verb_cluster = {
    .name = "cluster",
    .group = SR_VERB_FEATURES,
    .args = "TRAIN [TEST] [CLUSTERFIT.KEY=VALUE ...]",
    .summary = "clusters features by k-means and writes the labels",
    .help = "TRAIN and TEST are folders of features, as `sslrun extract --data` writes them. The "
            "files of labels are those that ClusterFit and DeepCluster train on.",
    .examples = {{"sslrun cluster train-features CLUSTERFIT.NUM_CLUSTERS=3",
                  "Sorts the images into three clusters."}},
    .flags = flags,
    .run = run_verb,
};
