// sslrun logreg CONFIG | TRAIN TEST: evaluates frozen features by logistic regression.
#include <stdio.h>

#include "base/text/json.h"
#include "cli/args/eval_sets_args.h"
#include "cli/verb.h"
#include "measure/neighbours/knn.h"
#include "measure/probes/logreg.h"

typedef struct {
    const SrConfig *config;
    SrArena arena;
    bool has[SR_ROW_COUNT];
    double majority; // -1: images have several labels
    SrLogregResult *row[SR_ROW_COUNT];
    int n; // number of lambdas
} Report;

static SrStatus evaluate(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    Report *r = arg;
    r->has[row] = true;
    r->majority = test->target ? -1 : sr_knn_majority(train, test);
    return sr_logreg(&r->config->low_shot, r->config->seed, train, test, &r->arena, &r->row[row],
                     &r->n);
}

// Returns the figure of the best lambda.
static double best_of(const Report *r, SrReportRow row) {
    double best = 0;
    for (int i = 0; r->has[row] && i < r->n; i++)
        best = SR_MAX(best, r->row[row][i].test);
    return best;
}

static void print_table(const Report *r, const SrEvalSets *sets, SrText *out) {
    char lambda[SR_TEXT_NUMBER_BYTES];
    const char *measure = r->majority >= 0 ? "top-1" : "   AP";
    sr_text_printf(out, "  %-22s  lambda  images  train %s  test %s\n", "", measure, measure);
    if (r->majority >= 0)
        sr_text_printf(out, "  %-22s                              %6.2f\n",
                       sr_report_row_name(SR_ROW_MAJORITY), r->majority);
    for (int row = 0; row < SR_ROW_COUNT; row++)
        for (int i = 0; r->has[row] && i < r->n; i++) {
            const SrLogregResult *g = &r->row[row][i];
            sr_text_printf(out, "  %-22s  %6s  %6lld       %6.2f      %6.2f",
                           sr_eval_sets_row_name(sets, row), sr_text_number(g->lambda, lambda),
                           (long long)g->images, g->train, g->test);
            if (g->n > 1)
                sr_text_printf(out, " +- %.2f over %d draws", g->test_std, g->n);
            sr_text_add(out, "\n");
        }
}

// Writes flat keys such as trained_top1_lambda0.025.
static void print_json(const Report *r, const SrEvalSets *sets, SrText *out) {
    char key[96], lambda[SR_TEXT_NUMBER_BYTES];
    const char *measure = r->majority >= 0 ? "top1" : "mean_ap";
    sr_json_begin(out);
    sr_eval_sets_json(sets, out);
    sr_baselines_json(r->has, out);
    for (int row = 0; row < SR_ROW_COUNT; row++)
        for (int i = 0; r->has[row] && i < r->n; i++) {
            const SrLogregResult *g = &r->row[row][i];
            const struct {
                const char *name;
                double value;
            } fields[] = {{"", g->test}, {"_std", g->test_std}, {"_train", g->train}};
            for (int j = 0; j < SR_COUNT(fields); j++) {
                snprintf(key, sizeof key, "%s_%s_lambda%s%s", sr_report_row_key((SrReportRow)row),
                         measure, sr_text_number(g->lambda, lambda), fields[j].name);
                sr_json_float(out, key, fields[j].value);
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
    Report report = {.n = 0};
    SrArgs args;
    SrConfig *config = NULL;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    sets->baselines = !o.only;
    SR_TRY(sr_args_eval_sets(&args, "logreg", &config, sets));
    report.config = config;
    SrStatus status = sr_eval_sets_each(sets, evaluate, &report);
    if (status == SR_OK) {
        sr_baselines_keep_better(report.has, best_of(&report, SR_ROW_UNTRAINED),
                                 best_of(&report, SR_ROW_CALIBRATED));
        if (o.json) {
            print_json(&report, sets, &out);
        } else {
            sr_eval_sets_text(sets, "logistic regression", &out);
            print_table(&report, sets, &out);
        }
        status = sr_args_print(&out);
    }
    if (status == SR_OK && !o.json)
        sr_args_say_other(&args, sets, "svm",
                          "evaluates the same features by support vector machines");
    sr_arena_deinit(&report.arena);
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_logreg = {
    .name = "logreg",
    .group = SR_VERB_EVALUATE,
    .args = "CONFIG|RUN|TRAIN [TEST] [KEY=VALUE ...]",
    .summary = "evaluates frozen features by logistic regression",
    .help = "RUN is a run folder, whose newest checkpoint is taken; CONFIG is its configuration. "
            "TRAIN and TEST are folders or files of features, as `sslrun extract` writes them. One "
            "row per penalty is printed, next to the baselines; "
            "LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.LAMBDA holds them.",
    .examples = {{"sslrun logreg runs/photos", "Evaluates a run."},
                 {"sslrun logreg train-features test-features",
                  "Evaluates features of `sslrun extract`."}},
    .flags = flags,
    .run = run_verb,
};
