// sslrun svm CONFIG | TRAIN TEST: evaluates frozen features by linear support vector machines.
#include <stdio.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/text/json.h"
#include "cli/args/eval_sets_args.h"
#include "cli/verb.h"
#include "measure/neighbours/knn.h"
#include "measure/probes/svm.h"
#include "measure/probes/svm_low_shot.h"

typedef struct {
    const SrConfig *config;
    SrArena arena;
    const char *out; // folder for results of the trained trunk; NULL: none
    bool has[SR_ROW_COUNT], low_shot, force;
    double majority; // -1: images have several labels
    SrSvmResult svm[SR_ROW_COUNT];
    SrLowShotResult *few[SR_ROW_COUNT];
    int n_few;
} Report;

static SrStatus save_array(const char *dir, const char *name, SrShape shape, const double *data) {
    char path[4096];
    SR_TRY(sr_file_join(path, sizeof path, dir, name));
    return sr_npy_save(path, "<f8", shape, data, (size_t)sr_shape_count(shape) * sizeof *data);
}

// Saves results under VISSL's file names, and the trained machines.
static SrStatus save_result(const char *dir, const SrSvmResult *r, int d) {
    SR_TRY(sr_file_mkdirs(dir));
    SR_TRY(save_array(dir, "crossval_ap.npy", SR_SHAPE(r->classes, r->n_costs), r->crossval_ap));
    SR_TRY(save_array(dir, "chosen_cost.npy", SR_SHAPE(r->classes), r->chosen));
    SR_TRY(save_array(dir, "test_ap.npy", SR_SHAPE(r->classes), r->ap));
    return save_array(dir, "weights.npy", SR_SHAPE(r->classes, d + 1), r->w);
}

// Checks the folder for results before training.
static SrStatus check_out(const char *dir, bool force) {
    char path[4096];
    if (!dir)
        return SR_OK;
    SR_TRY(sr_file_join(path, sizeof path, dir, "weights.npy"));
    return sr_file_check_new(path, force);
}

static SrStatus evaluate(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    Report *r = arg;
    r->has[row] = true;
    if (!test->target)
        r->majority = sr_knn_majority(train, test);
    if (r->low_shot)
        return sr_svm_low_shot(&r->config->svm, r->config->seed, train, test, &r->arena,
                               &r->few[row], &r->n_few);
    SR_TRY(sr_svm(&r->config->svm, train, test, &r->arena, &r->svm[row]));
    return r->out && row == SR_ROW_TRAINED ? save_result(r->out, &r->svm[row], train->d) : SR_OK;
}

// Returns the figure that compares rows: the mean AP, or the mean over the largest low-shot draws.
static double score_of(const Report *r, SrReportRow row) {
    if (!r->has[row])
        return 0;
    return r->low_shot ? r->few[row][r->n_few - 1].mean : r->svm[row].mean_ap;
}

// ---- in words -----------------------------------------------------------------------------------

// Writes the costs as "0.1", or as "0.01 to 0.1" if classes differ.
static void print_costs(const SrSvmResult *s, SrText *out) {
    double low = 0, high = 0;
    char a[SR_TEXT_NUMBER_BYTES], b[SR_TEXT_NUMBER_BYTES];
    for (int c = 0; c < s->classes; c++) {
        if (s->chosen[c] < 0)
            continue;
        low = low == 0 || s->chosen[c] < low ? s->chosen[c] : low;
        high = s->chosen[c] > high ? s->chosen[c] : high;
    }
    sr_text_printf(out, "  %s", sr_text_number(low, a));
    if (low != high)
        sr_text_printf(out, " to %s", sr_text_number(high, b));
    sr_text_add(out, "\n");
}

static void print_table(const Report *r, const SrEvalSets *sets, SrText *out) {
    bool single = r->majority >= 0;
    sr_text_printf(out, "  %-22s  mean AP%s  cost\n", "", single ? "   top-1" : "");
    if (single)
        sr_text_printf(out, "  %-22s         %8.2f\n", sr_report_row_name(SR_ROW_MAJORITY),
                       r->majority);
    for (int row = 0; row < SR_ROW_COUNT; row++) {
        const SrSvmResult *s = &r->svm[row];
        if (!r->has[row])
            continue;
        sr_text_printf(out, "  %-22s  %7.4f", sr_eval_sets_row_name(sets, row), s->mean_ap);
        if (single)
            sr_text_printf(out, "%8.2f", s->accuracy);
        print_costs(s, out);
    }
}

static void print_low_shot(const Report *r, const SrEvalSets *sets, SrText *out) {
    char cost[SR_TEXT_NUMBER_BYTES];
    sr_text_printf(out, "  %-22s  images    cost    mean     std     min     max\n", "");
    for (int row = 0; row < SR_ROW_COUNT; row++)
        for (int i = 0; r->has[row] && i < r->n_few; i++) {
            const SrLowShotResult *f = &r->few[row][i];
            sr_text_printf(out, "  %-22s  %6d  %6s  %6.2f  %6.2f  %6.2f  %6.2f\n",
                           sr_eval_sets_row_name(sets, row), f->k, sr_text_number(f->cost, cost),
                           f->mean, f->std, f->min, f->max);
        }
}

// Writes flat keys such as trained_mean_ap and trained_k16_c0.1_mean, which grep can find.
static void print_json_row(const Report *r, SrReportRow row, SrText *out) {
    char key[96], cost[SR_TEXT_NUMBER_BYTES];
    const char *name = sr_report_row_key(row);
    for (int i = 0; r->low_shot && i < r->n_few; i++) {
        const SrLowShotResult *f = &r->few[row][i];
        const struct {
            const char *name;
            double value;
        } fields[] = {{"mean", f->mean}, {"std", f->std}, {"min", f->min}, {"max", f->max}};
        for (int j = 0; j < SR_COUNT(fields); j++) {
            snprintf(key, sizeof key, "%s_k%d_c%s_%s", name, f->k, sr_text_number(f->cost, cost),
                     fields[j].name);
            sr_json_float(out, key, fields[j].value);
        }
    }
    if (r->low_shot)
        return;
    snprintf(key, sizeof key, "%s_mean_ap", name);
    sr_json_float(out, key, r->svm[row].mean_ap);
    snprintf(key, sizeof key, "%s_top1", name);
    if (r->svm[row].accuracy >= 0)
        sr_json_float(out, key, r->svm[row].accuracy);
}

static void print_report(const Report *r, const SrEvalSets *sets, bool json, SrText *out) {
    if (!json) {
        sr_eval_sets_text(sets, r->low_shot ? "low-shot SVM" : "SVM", out);
        (r->low_shot ? print_low_shot : print_table)(r, sets, out);
        return;
    }
    sr_json_begin(out);
    sr_eval_sets_json(sets, out);
    sr_baselines_json(r->has, out);
    for (int row = 0; row < SR_ROW_COUNT; row++)
        if (r->has[row])
            print_json_row(r, (SrReportRow)row, out);
    sr_json_end(out);
}

typedef struct {
    bool json, only;
    SrEvalSets sets;
    Report report;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_ON(Options, report.low_shot, "--low-shot",
               "evaluate with few labels per class, as SVM.low_shot says"),
    SR_FLAG_TEXT(Options, sets.layer, "--layer", "NAME", "feature to evaluate, such as res4"),
    SR_FLAG_ON(Options, only, "--no-baselines", "evaluate the trained trunk alone"),
    SR_WEIGHTS_FLAGS(Options, sets),
    SR_FLAG_TEXT(Options, report.out, "--out", "DIR", "folder for the machines and their figures"),
    SR_FLAG_ON(Options, report.force, "--force", "replace files in --out"),
    SR_FLAG_ON(Options, json, "--json", "print results as one JSON line"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.report = {.majority = -1}};
    SrEvalSets *sets = &o.sets;
    Report *report = &o.report;
    SrArgs args;
    SrConfig *config = NULL;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (report->out && report->low_shot)
        SR_FAIL(SR_ERR_CONFIG,
                "--low-shot trains many classifiers and keeps none; leave out --out");
    if (report->out && sets->random)
        SR_FAIL(SR_ERR_CONFIG,
                "--out keeps the classifiers of the trained trunk; leave out --random");
    SR_TRY(check_out(report->out, report->force));
    sets->baselines = !o.only;
    SR_TRY(sr_args_eval_sets(&args, "svm", &config, sets));
    report->config = config;
    SrStatus status = sr_eval_sets_each(sets, evaluate, report);
    if (status == SR_OK) {
        sr_baselines_keep_better(report->has, score_of(report, SR_ROW_UNTRAINED),
                                 score_of(report, SR_ROW_CALIBRATED));
        print_report(report, sets, o.json, &out);
        status = sr_args_print(&out);
    }
    if (status == SR_OK && !o.json)
        sr_args_say_other(&args, sets, "logreg",
                          "evaluates the same features by logistic regression");
    sr_arena_deinit(&report->arena);
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_svm = {
    .name = "svm",
    .group = SR_VERB_EVALUATE,
    .args = "CONFIG|RUN|TRAIN [TEST] [KEY=VALUE ...]",
    .summary = "evaluates frozen features by linear support vector machines",
    .help = "RUN is a run folder, whose newest checkpoint is taken; CONFIG is its configuration. "
            "TRAIN and TEST are folders or files of features, as `sslrun extract` writes them. The "
            "cost of every class is chosen by cross-validation, as in VISSL. --low-shot draws a "
            "few labels per class several times.",
    .examples = {{"sslrun svm runs/photos", "Evaluates a run."},
                 {"sslrun svm train-features test-features --out machines",
                  "Keeps the machines that were trained on features."}},
    .files = "DIR receives weights.npy, test_ap.npy, chosen_cost.npy and crossval_ap.npy.",
    .flags = flags,
    .run = run_verb,
};
