// sslrun retrieve CONFIG | DATABASE [QUERIES]: evaluates retrieval by nearest neighbours of frozen
// features.
#include <stdio.h>

#include "base/text/json.h"
#include "cli/args/eval_sets_args.h"
#include "cli/verb.h"
#include "measure/neighbours/retrieval.h"
#include "trainer/config/vissl/instance_retrieval.h"

typedef struct {
    bool normalize, itself;
    bool has[SR_ROW_COUNT];
    SrRetrieval row[SR_ROW_COUNT];
} Report;

// Test images are the queries and training images the database; a single set is both.
static SrStatus evaluate(void *arg, SrReportRow row, SrMatrix *bank, SrMatrix *test) {
    Report *r = arg;
    r->has[row] = true;
    return sr_retrieval(test, r->itself ? NULL : bank, r->normalize, &r->row[row]);
}

static void print_table(const Report *r, const SrEvalSets *sets, SrText *out) {
    sr_eval_sets_text(sets, r->itself ? "retrieval, each image without itself" : "retrieval", out);
    sr_text_printf(out, "  %-22s     mAP     P@1     P@5    P@10  queries\n", "");
    for (int row = 0; row < SR_ROW_COUNT; row++) {
        const SrRetrieval *a = &r->row[row];
        if (r->has[row])
            sr_text_printf(out, "  %-22s  %6.2f  %6.2f  %6.2f  %6.2f  %7lld\n",
                           sr_eval_sets_row_name(sets, row), a->map, a->p1, a->p5, a->p10,
                           (long long)a->queries);
    }
}

// Writes flat keys such as trained_map and trained_p10.
static void print_json(const Report *r, const SrEvalSets *sets, SrText *out) {
    char key[64];
    sr_json_begin(out);
    sr_eval_sets_json(sets, out);
    sr_baselines_json(r->has, out);
    for (int row = 0; row < SR_ROW_COUNT; row++) {
        const SrRetrieval *a = &r->row[row];
        const struct {
            const char *name;
            double value;
        } fields[] = {{"map", a->map}, {"p1", a->p1}, {"p5", a->p5}, {"p10", a->p10}};
        for (int i = 0; r->has[row] && i < SR_COUNT(fields); i++) {
            snprintf(key, sizeof key, "%s_%s", sr_report_row_key((SrReportRow)row), fields[i].name);
            sr_json_float(out, key, fields[i].value);
        }
    }
    sr_json_end(out);
}

typedef struct {
    bool json, only;
    SrEvalSets sets;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, sets.layer, "--layer", "NAME", "feature to evaluate, such as res4"),
    SR_FLAG_ON(Options, only, "--no-baselines", "evaluate the trained trunk alone"),
    SR_WEIGHTS_FLAGS(Options, sets),
    SR_FLAG_ON(Options, json, "--json", "print results as one JSON line"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.json = false};
    SrEvalSets *sets = &o.sets;
    SrArgs args;
    SrConfig *config = NULL;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    sets->baselines = !o.only;
    SR_TRY(sr_args_eval_sets(&args, "retrieve", &config, sets));
    SrStatus status = sr_config_check_retrieval(config);
    Report report = {.normalize = config->rank_normalized,
                     .itself = sets->train && args.n_names == 1};
    if (report.itself)
        sets->one_set = true;
    if (status == SR_OK)
        status = sr_eval_sets_each(sets, evaluate, &report);
    if (status == SR_OK) {
        sr_baselines_keep_better(report.has, report.row[SR_ROW_UNTRAINED].map,
                                 report.row[SR_ROW_CALIBRATED].map);
        (o.json ? print_json : print_table)(&report, sets, &out);
        status = sr_args_print(&out);
    }
    if (status == SR_OK && !o.json && !report.itself)
        sr_args_say_other(&args, sets, "svm", "evaluates a classifier on the same features");
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_retrieve = {
    .name = "retrieve",
    .group = SR_VERB_EVALUATE,
    .args = "CONFIG|RUN|DATABASE [QUERIES] [KEY=VALUE ...]",
    .summary = "evaluates how often nearest neighbours share the label",
    .help = "RUN is a run folder, whose newest checkpoint is taken; CONFIG is its configuration. "
            "DATABASE and QUERIES are folders or files of features, as `sslrun extract` writes "
            "them. Mean average precision and the precision of the first 1, 5 and 10 neighbours "
            "are printed, next to the baselines.",
    .examples = {{"sslrun retrieve runs/photos", "Evaluates a run."},
                 {"sslrun retrieve train-features",
                  "Takes every image as a query against the others."}},
    .flags = flags,
    .run = run_verb,
};
