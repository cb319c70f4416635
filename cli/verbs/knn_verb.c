// sslrun knn CONFIG | RUN | TRAIN TEST: evaluates a checkpoint's trunk by weighted kNN, next to
// three baselines, or evaluates files of features.
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/args/eval_sets_args.h"
#include "cli/run_pages.h"
#include "cli/verb.h"
#include "cli/view_figures.h"
#include "pages/runs/run_page.h"
#include "pages/runs/run_report.h"
#include "trainer/eval/layer_report.h"
#include "trainer/eval/report.h"

// Warns of keys about images, which have no effect on files of features.
static void tell_unread(const SrConfig *config, const SrEvalSets *sets) {
    const struct {
        const char *key;
        bool set;
    } rows[] = {
        {"LAYER", strcmp(config->knn.layer, "flatten") != 0},
        {"BANK_LIMIT", config->knn.bank_limit > 0},
        {"FEATURES.PATH", sets->train && *config->knn.features_path},
    };
    for (int i = 0; i < SR_COUNT(rows); i++)
        if (rows[i].set)
            sr_info("NEAREST_NEIGHBOR.%s is accepted and changes nothing: the features come from "
                    "files%s",
                    rows[i].key, i == 0 ? " (--layer chooses a layer of these files)" : "");
}

// Prints `out`.  run: folder whose page gets the figures of `line`; NULL: none.
static SrStatus print(SrText *out, const char *run, SrText *line) {
    SrStatus status = sr_args_print(out);
    if (run && status == SR_OK)
        sr_run_pages_add(run, line);
    sr_text_deinit(line);
    return status;
}

static SrStatus evaluate(const SrConfig *config, const SrEvalSets *sets, const char *run,
                         bool json) {
    SrKnnReport report;
    SrText out = SR_TEXT_INIT, line = SR_TEXT_INIT;
    const char *folder = config->knn.features_path;
    if (sets->train || *folder)
        tell_unread(config, sets);
    if (sets->train)
        SR_TRY(sr_knn_report_files(config, sets->train, sets->test, sets->layer, &report));
    else if (*folder)
        SR_TRY(sr_knn_report_files(config, folder, folder, sets->layer, &report));
    else
        SR_TRY(sr_knn_report_configured(config, sets->baselines, sets->random, &report));
    sr_knn_report_print(&report, json, &out);
    if (!report.labels && !json && run)
        sr_view_figures_text(run, &out);
    sr_knn_report_json(&report, &line);
    return print(&out, run, &line);
}

// Returns the folder of a run that is evaluated as configured; NULL: other weights, keys, images or
// crops.
static const char *run_of(const SrArgs *args, const SrConfig *config, const SrEvalSets *sets) {
    if (args->n_names != 1 || args->n_overrides > 0 || sets->train || sets->weights ||
        sets->random || sets->layer || !sets->baselines || config->knn.crops > 0 ||
        *config->knn.features_path)
        return NULL;
    if (sr_file_is_dir(args->names[0]))
        return args->names[0];
    bool own = !*config->model.params_file && sr_run_is_folder(config->checkpoint.dir);
    return own ? config->checkpoint.dir : NULL;
}

// Compares the last stages of the trunk by kNN and a linear probe.
static SrStatus compare_layers(const SrConfig *config, const char *run, bool json) {
    SrLayerReport report;
    SrModel *model;
    SrText out = SR_TEXT_INIT, line = SR_TEXT_INIT;
    SR_TRY(sr_baselines_model(config, config->knn.layer, NULL, &model));
    SrStatus status = sr_layer_report(config, model, NULL, &report);
    sr_model_free(model);
    SR_TRY(status);
    if (!report.labels)
        SR_FAIL(SR_ERR_CONFIG,
                "--layers needs images with one label each; these have none, or several");
    sr_knn_warn_lengths(report.length_ratio);
    (json ? sr_layer_report_json : sr_layer_report_text)(&report, &out);
    sr_layer_report_json(&report, &line);
    return print(&out, run, &line);
}

typedef struct {
    bool json, only, layers;
    int crops; // -1: not given
    SrEvalSets sets;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_ON(Options, layers, "--layers", "compare the last stages by kNN and a linear probe"),
    SR_FLAG_TEXT(Options, sets.layer, "--layer", "NAME",
                 "feature to evaluate, such as res4 (NEAREST_NEIGHBOR.LAYER)"),
    SR_FLAG_NUMBER(Options, crops, "--crops",
                   "compare the mean features of N random crops of each image"),
    SR_FLAG_ON(Options, only, "--no-baselines", "evaluate the trained trunk alone"),
    SR_WEIGHTS_FLAGS(Options, sets),
    SR_FLAG_ON(Options, json, "--json", "print results as one JSON line"),
    {0}};

// Sets the number of crops.  Features of files have no images to cut.
static SrStatus take_crops(int crops, const SrEvalSets *sets, SrConfig *config) {
    if (crops == 0)
        SR_FAIL(SR_ERR_CONFIG, "--crops needs 1 crop per image or more, got 0");
    if (crops > 0 && (sets->train || *config->knn.features_path))
        SR_FAIL(SR_ERR_CONFIG,
                "--crops cuts images, but these features come from files%s; give a configuration "
                "or a run",
                sets->train ? "" : " (NEAREST_NEIGHBOR.FEATURES.PATH)");
    config->knn.crops = SR_MAX(crops, 0);
    return SR_OK;
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.crops = -1};
    SrEvalSets *sets = &o.sets;
    SrArgs args;
    SrConfig *config = NULL;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    sets->baselines = !o.only;
    SR_TRY(sr_args_eval_sets(&args, "knn", &config, sets));
    if (sets->layer && !sets->train && !*config->knn.features_path)
        config->knn.layer = sets->layer;
    SrStatus status = take_crops(o.crops, sets, config);
    if (status == SR_OK)
        status = o.layers && (sets->train || sets->random || o.only)
                     ? sr_fail(SR_ERR_CONFIG, "--layers compares a trained trunk with its "
                                              "baselines; give only a configuration or a run")
                 : o.layers ? compare_layers(config, run_of(&args, config, sets), o.json)
                            : evaluate(config, sets, run_of(&args, config, sets), o.json);
    if (status == SR_OK && !o.json && sets->train)
        sr_args_say_other(&args, sets, "svm", "evaluates a classifier on the same features");
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_knn = {
    .name = "knn",
    .group = SR_VERB_EVALUATE,
    .common = 4,
    .args = "CONFIG|RUN|TRAIN [TEST] [KEY=VALUE ...]",
    .summary = "evaluates frozen features by nearest neighbours, next to baselines",
    .help = "RUN is a run folder, whose newest checkpoint is taken; CONFIG is its configuration. "
            "TRAIN and TEST are folders or files of features, as `sslrun extract` writes them. The "
            "accuracy of weighted k-nearest-neighbour voting is compared with an untrained trunk, "
            "raw pixels and the commonest class.\n\n"
            "With --crops, features of an image are the mean over N random crops of it, as "
            "EMP-SSL is evaluated (arXiv:2304.03977). Crops are drawn as in training, or with 0.2 "
            "to 1 of the area where training draws none, without changes of colour. Baselines are "
            "measured the same way. Such figures are another protocol: compare them with each "
            "other only.",
    .examples = {{"sslrun knn runs/photos", "Evaluates a run."},
                 {"sslrun knn runs/photos --layers", "Finds the best layer."},
                 {"sslrun knn runs/photos --layers --crops 4", "Does so with the mean of 4 crops."},
                 {"sslrun knn train-features test-features NEAREST_NEIGHBOR.TOPK=20",
                  "Evaluates features of `sslrun extract`, with another k."}},
    .files =
        "The figures of a run are added to RUN/metrics.json and RUN/report.html; those of --crops "
        "are only printed.",
    .flags = flags,
    .run = run_verb,
};
