// Makes the kNN report: features and a search per row, then a table or a JSON line.
#include "trainer/eval/report.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text/json.h"
#include "data/load/loader.h"
#include "trainer/data/data_summary.h"
#include "trainer/eval/eval_sets.h"

// Lengths that differ by a quarter decide as much as angles do: the similarities of neighbours
// seldom differ by more.
#define LENGTHS_DIFFER 1.25

typedef struct {
    const SrKnnConfig *knn;
    SrKnnReport *out;
} Report;

void sr_knn_warn_lengths(double ratio) {
    if (ratio > LENGTHS_DIFFER)
        sr_warn("kNN compares features without normalising them, and a tenth of them are at least "
                "%.2g times as long as another tenth, so the longest features win votes; set "
                "NEAREST_NEIGHBOR.L2_NORM_FEATS=True",
                ratio);
}

// Searches one row with the k, sigma and normalisation of all rows.
static SrStatus compare(void *arg, SrReportRow row, SrMatrix *bank, SrMatrix *test) {
    Report *r = arg;
    SrKnnOptions options = {.sigma = r->knn->sigma, .l2_norm = r->knn->l2_norm_feats};
    if (row >= SR_ROW_UNTRAINED)
        r->out->feature_length = bank->d;
    r->out->n_bank = bank->n;
    r->out->n_test = test->n;
    for (int i = 0; row == SR_ROW_PIXELS && i < r->out->n_k; i++)
        r->out->row[SR_ROW_MAJORITY][i] =
            (SrKnnResult){.k = r->out->k[i], .top1 = sr_knn_majority(bank, test), .n = test->n};
    r->out->has[SR_ROW_MAJORITY] |= row == SR_ROW_PIXELS;
    SR_TRY(sr_knn(&options, bank, test, r->out->k, r->out->n_k, r->out->row[row], NULL));
    if (row >= SR_ROW_UNTRAINED && r->out->n_k > 0)
        r->out->length_ratio = SR_MAX(r->out->length_ratio, r->out->row[row][0].length_ratio);
    r->out->has[row] = true;
    return SR_OK;
}

static void begin_report(const SrBaselines *rows, const SrKnnConfig *knn, SrKnnReport *out) {
    *out = (SrKnnReport){.layer = rows->layer,
                         .labels = rows->labels && rows->bank.n_targets == 0,
                         .normalised = knn->l2_norm_feats,
                         .crops = knn->crops,
                         .n_k = SR_MIN(knn->topk.n, SR_REPORT_MAX_K),
                         .n_bank = sr_loader_length(rows->bank.loader),
                         .n_test = sr_loader_length(rows->test.loader),
                         .note = rows->test.note};
    for (int i = 0; i < out->n_k; i++)
        out->k[i] = knn->topk.v[i];
}

// Stops early without labels: nothing could be compared.
SrStatus sr_knn_report(const SrConfig *config, SrModel *trained, bool baselines, SrKnnReport *out) {
    SrBaselines rows;
    SrStatus status;
    double began = sr_clock();
    SR_TRY_GOTO(sr_baselines_open(&rows, config, config->knn.layer));
    begin_report(&rows, &config->knn, out);
    Report r = {&config->knn, out};
    sr_data_summary_say(config, &rows.bank, &rows.test);
    if (out->labels)
        SR_TRY_GOTO(sr_baselines_each(&rows, trained, baselines, compare, &r));
    sr_baselines_keep_better(out->has, out->row[SR_ROW_UNTRAINED][0].top1,
                             out->row[SR_ROW_CALIBRATED][0].top1);
    sr_knn_warn_lengths(out->length_ratio);
    out->seconds = sr_clock() - began;
done:
    sr_baselines_close(&rows);
    return status;
}

SrStatus sr_knn_report_files(const SrConfig *config, const char *train, const char *test,
                             const char *layer, SrKnnReport *out) {
    SrEvalSets sides = {.config = config, .train = train, .test = test, .layer = layer};
    const SrKnnConfig *knn = &config->knn;
    Report r = {knn, out};
    *out = (SrKnnReport){.labels = true,
                         .files = true,
                         .normalised = knn->l2_norm_feats,
                         .n_k = SR_MIN(knn->topk.n, SR_REPORT_MAX_K),
                         .note = ""};
    for (int i = 0; i < out->n_k; i++)
        out->k[i] = knn->topk.v[i];
    SR_TRY(sr_eval_sets_each(&sides, compare, &r));
    out->layer = layer ? layer : "features";
    out->n_bank = sides.n_train;
    out->n_test = sides.n_test;
    out->seconds = sides.seconds;
    sr_knn_warn_lengths(out->length_ratio);
    return SR_OK;
}

// Called by `sslrun knn` and for TEST_ONLY.
SrStatus sr_knn_report_configured(const SrConfig *config, bool baselines, bool random,
                                  SrKnnReport *out) {
    SrModel *model = NULL;
    if (!random)
        SR_TRY(sr_baselines_model(config, config->knn.layer, NULL, &model));
    SrStatus status = sr_knn_report(config, model, baselines, out);
    sr_model_free(model);
    return status;
}

// ---- presentation -------------------------------------------------------------------------------

// Columns repeat for each k asked for; the majority class has no top-5.
static void knn_report_text(const SrKnnReport *report, SrText *out) {
    char took[48];
    if (!report->labels) {
        sr_text_add(out, "kNN: skipped, since the images have no labels or several labels each\n");
        return;
    }
    sr_text_printf(out, "kNN: %lld test images against %lld, layer %s (%d numbers), ",
                   (long long)report->n_test, (long long)report->n_bank, report->layer,
                   report->feature_length);
    sr_baselines_crops_text(report->crops, out);
    sr_text_printf(out, "%s, %s\n", report->normalised ? "normalised" : "not normalised",
                   sr_duration_text(report->seconds, took, sizeof took));
    if (*report->note)
        sr_text_printf(out, "  %s\n", report->note);
    SrReportRow some = report->has[SR_ROW_TRAINED] ? SR_ROW_TRAINED : SR_ROW_PIXELS;
    sr_text_printf(out, "  %-22s", "");
    for (int i = 0; i < report->n_k; i++)
        sr_text_printf(out, "  top-1 k=%-4d top-5", report->row[some][i].k);
    sr_text_add(out, "\n");
    for (int row = 0; row < SR_ROW_COUNT; row++) {
        if (!report->has[row])
            continue;
        sr_text_printf(out, "  %-22s",
                       report->files ? "features" : sr_report_row_name((SrReportRow)row));
        for (int i = 0; i < report->n_k; i++) {
            sr_text_printf(out, "      %6.2f", report->row[row][i].top1);
            if (row == SR_ROW_MAJORITY)
                sr_text_add(out, i + 1 < report->n_k ? "        " : "");
            else
                sr_text_printf(out, "  %6.2f", report->row[row][i].top5);
        }
        // The table of layers stands on the same screen and may have other images.
        sr_text_printf(out, "%s  of %lld\n", row == SR_ROW_MAJORITY ? "        " : "",
                       (long long)report->n_test);
    }
}

// Writes flat keys such as trained_top1_k20, so that grep can find a figure.
void sr_knn_report_json(const SrKnnReport *report, SrText *out) {
    char key[64];
    sr_json_begin(out);
    sr_json_bool(out, "labels", report->labels);
    if (report->labels) {
        sr_json_int(out, "test_images", report->n_test);
        sr_json_int(out, "bank_images", report->n_bank);
        sr_json_string(out, "layer", report->layer);
        if (report->crops > 0)
            sr_json_int(out, "crops", report->crops);
        sr_json_bool(out, "normalised", report->normalised);
        sr_json_float(out, "seconds", report->seconds);
        sr_baselines_json(report->has, out);
    }
    for (int row = 0; row < SR_ROW_COUNT; row++)
        for (int i = 0; report->has[row] && i < report->n_k; i++) {
            snprintf(key, sizeof key, "%s_top1_k%d", sr_report_row_key((SrReportRow)row),
                     report->row[row][i].k);
            sr_json_float(out, key, report->row[row][i].top1);
            snprintf(key, sizeof key, "%s_top5_k%d", sr_report_row_key((SrReportRow)row),
                     report->row[row][i].k);
            if (row != SR_ROW_MAJORITY)
                sr_json_float(out, key, report->row[row][i].top5);
        }
    sr_json_end(out);
}

void sr_knn_report_print(const SrKnnReport *report, bool json, SrText *out) {
    if (json)
        sr_knn_report_json(report, out);
    else
        knn_report_text(report, out);
}
