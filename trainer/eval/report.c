// The kNN report: extraction for each row, one search each, a table or a JSON line.
#include "trainer/eval/report.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "trainer/eval/features.h"
#include "trainer/folder.h"
#include "trainer/progress.h"
#include "trainer/split.h"
#include "trainer/weights.h"

// Passes for the untrained trunk's statistics: what is left of their initial values is 0.9^40, 1.5
// %.
#define CALIBRATION_BATCHES 40

typedef struct {
    const SrConfig *config;
    SrSplit bank, test;
    int crop, batch;
    SrKnnReport *out;
} Report;

// Also the labels of the table.
const char *sr_report_row_name(SrReportRow row) {
    static const char *const names[] = {"majority class", "raw pixels", "untrained trunk",
                                        "trained trunk"};
    return names[row];
}

// As many images a pass as 40 of 224 x 224 have pixels: bounds the memory of evaluation.  A pass
// over small images needs many of them to keep the cores busy.
static int batch_for(int crop) {
    int64_t n = (int64_t)40 * 224 * 224 / ((int64_t)crop * crop);
    return (int)SR_MAX(SR_MIN(n, 256), 8);
}

// The image size of evaluation is that of the first, largest crop of training.
static SrStatus open_report(Report *r, const SrConfig *config, SrKnnReport *out) {
    int n, h[64], w[64];
    SR_TRY(sr_split_train_shape(config, &n, h, w));
    *r = (Report){.config = config, .crop = h[0], .batch = batch_for(h[0]), .out = out};
    *out = (SrKnnReport){.layer = config->knn.layer,
                         .n_k = SR_MIN(config->knn.topk.n, SR_REPORT_MAX_K)};
    for (int i = 0; i < out->n_k; i++)
        out->k[i] = config->knn.topk.v[i];
    SR_TRY(sr_split_open_eval(config, SR_SIDE_BANK, false, r->batch, r->crop, &r->bank));
    SR_TRY(sr_split_open_eval(config, SR_SIDE_TEST, false, r->batch, r->crop, &r->test));
    out->labels = r->bank.classes > 0 && r->test.classes > 0;
    out->n_bank = sr_loader_length(r->bank.loader);
    out->n_test = sr_loader_length(r->test.loader);
    out->note = r->test.note;
    return SR_OK;
}

// All rows are compared under the same k, sigma and normalisation.
static SrStatus compare(Report *r, SrReportRow row, SrFeatures *bank, SrFeatures *test) {
    const SrKnnConfig *c = &r->config->knn;
    SrKnnOptions options = {.sigma = c->sigma, .l2_norm = c->l2_norm_feats};
    SR_TRY(sr_knn(&options, bank, test, r->out->k, r->out->n_k, r->out->row[row], NULL));
    r->out->has[row] = true;
    return SR_OK;
}

// Bank and test features exist for the length of one row only, which bounds memory.
static SrStatus report_trunk(Report *r, SrReportRow row, SrModel *model) {
    SrFeatures bank = {0}, test = {0};
    SrStatus status;
    SR_TRY_GOTO(sr_features_extract(model, r->config->knn.layer, &r->bank, r->batch, &bank));
    SR_TRY_GOTO(sr_features_extract(model, r->config->knn.layer, &r->test, r->batch, &test));
    r->out->feature_length = bank.d;
    SR_TRY_GOTO(compare(r, row, &bank, &test));
done:
    sr_features_deinit(&bank);
    sr_features_deinit(&test);
    return status;
}

// The two rows that need no trunk share one pass over the images.
static SrStatus report_pixels(Report *r) {
    SrFeatures bank = {0}, test = {0};
    SrStatus status;
    SR_TRY_GOTO(sr_features_pixels(&r->bank, &bank));
    SR_TRY_GOTO(sr_features_pixels(&r->test, &test));
    for (int i = 0; i < r->out->n_k; i++)
        r->out->row[SR_ROW_MAJORITY][i] =
            (SrKnnResult){.k = r->out->k[i], .top1 = sr_knn_majority(&test), .n = test.n};
    r->out->has[SR_ROW_MAJORITY] = true;
    SR_TRY_GOTO(compare(r, SR_ROW_PIXELS, &bank, &test));
done:
    sr_features_deinit(&bank);
    sr_features_deinit(&test);
    return status;
}

// The trunk as the run's seed drew it, with batch-norm statistics of these images.  A model of its
// own: the trained one's parameters stay as they are.
static SrStatus report_untrained(Report *r) {
    SrModel *model = NULL;
    SrSplit sample = {.note = ""};
    SrGraph *graph;
    SrNodeId input, tap;
    SrStatus status;
    int batch = (int)SR_MIN((int64_t)r->batch, r->out->n_bank);
    SR_TRY_GOTO(sr_model_new(r->config, &model));
    SR_TRY_GOTO(sr_model_build_eval(model, batch, r->crop, r->crop, r->config->knn.layer, &graph,
                                    &input, &tap));
    SR_TRY_GOTO(sr_params_allocate(sr_model_params(model)));
    sr_params_init(sr_model_params(model), r->config->seed);
    SR_TRY_GOTO(sr_split_open_eval(r->config, SR_SIDE_BANK, true, batch, r->crop, &sample));
    SR_TRY_GOTO(
        sr_features_calibrate(model, r->config->knn.layer, &sample, batch, CALIBRATION_BATCHES));
    SR_TRY_GOTO(report_trunk(r, SR_ROW_UNTRAINED, model));
done:
    sr_split_close(&sample);
    sr_model_free(model);
    return status;
}

// Stops early where there are no labels: nothing could be compared.
SrStatus sr_knn_report(const SrConfig *config, SrModel *trained, bool baselines, SrKnnReport *out) {
    Report r = {0};
    SrStatus status;
    double began = sr_clock();
    SR_TRY_GOTO(open_report(&r, config, out));
    if (!out->labels)
        goto done;
    if (baselines) {
        SR_TRY_GOTO(report_pixels(&r));
        SR_TRY_GOTO(report_untrained(&r));
    }
    SR_TRY_GOTO(report_trunk(&r, SR_ROW_TRAINED, trained));
    out->seconds = sr_clock() - began;
done:
    sr_split_close(&r.bank);
    sr_split_close(&r.test);
    return status;
}

// Builds the trunk alone, without heads, loss or optimiser.
SrStatus sr_knn_report_file(const SrConfig *config, const char *path, bool baselines,
                            SrKnnReport *out) {
    int n, h[64], w[64];
    SrModel *model = NULL;
    SrGraph *graph;
    SrNodeId input, tap;
    SrStatus status;
    SrWeightsSource source = sr_weights_source(&config->model);
    if (strcmp(path, source.path) != 0) // our own checkpoint: names as they are
        source = (SrWeightsSource){.path = path, .remove_prefix = "", .append_prefix = ""};
    source.quiet = source.whole_trunk = true;
    SR_TRY_GOTO(sr_split_train_shape(config, &n, h, w));
    SR_TRY_GOTO(sr_model_new(config, &model));
    SR_TRY_GOTO(sr_model_build_eval(model, 1, h[0], w[0], config->knn.layer, &graph, &input, &tap));
    SR_TRY_GOTO(sr_params_allocate(sr_model_params(model)));
    sr_params_init(sr_model_params(model), config->seed);
    SR_TRY_GOTO(sr_weights_load(&source, sr_model_params(model)));
    SR_TRY_GOTO(sr_knn_report(config, model, baselines, out));
done:
    sr_model_free(model);
    return status;
}

// What `sslrun knn` and TEST_ONLY do.
SrStatus sr_knn_report_configured(const SrConfig *config, bool baselines, SrKnnReport *out) {
    char newest[4096];
    const char *path = config->model.params_file;
    if (!*path) {
        SR_TRY(sr_folder_newest(config->checkpoint.dir, newest, sizeof newest));
        path = newest;
    }
    sr_info("weights of %s", path);
    return sr_knn_report_file(config, path, baselines, out);
}

// ---- presentation -------------------------------------------------------------------------------

// Columns repeat for each k asked for; the majority class has no top-5.
void sr_knn_report_text(const SrKnnReport *report, SrText *out) {
    char took[48];
    if (!report->labels) {
        sr_text_add(out, "kNN: the images have no labels, so there is nothing to compare with\n");
        return;
    }
    sr_text_printf(out, "kNN: %lld test images against %lld, layer %s (%d numbers), %s\n",
                   (long long)report->n_test, (long long)report->n_bank, report->layer,
                   report->feature_length, sr_duration_text(report->seconds, took, sizeof took));
    if (*report->note)
        sr_text_printf(out, "  %s\n", report->note);
    sr_text_printf(out, "  %-16s", "");
    for (int i = 0; i < report->n_k; i++)
        sr_text_printf(out, "  top-1 k=%-4d top-5", report->row[SR_ROW_TRAINED][i].k);
    sr_text_add(out, "\n");
    for (int row = 0; row < SR_ROW_COUNT; row++) {
        if (!report->has[row])
            continue;
        sr_text_printf(out, "  %-16s", sr_report_row_name((SrReportRow)row));
        for (int i = 0; i < report->n_k; i++) {
            sr_text_printf(out, "      %6.2f", report->row[row][i].top1);
            if (row == SR_ROW_MAJORITY)
                sr_text_add(out, i + 1 < report->n_k ? "        " : "");
            else
                sr_text_printf(out, "  %6.2f", report->row[row][i].top5);
        }
        sr_text_add(out, "\n");
    }
}

// Flat keys such as trained_top1_k20, so that a line can be read by grep.
void sr_knn_report_json(const SrKnnReport *report, SrText *out) {
    static const char *const keys[] = {"majority", "pixels", "untrained", "trained"};
    char key[64];
    sr_json_begin(out);
    sr_json_bool(out, "labels", report->labels);
    if (report->labels) {
        sr_json_int(out, "test_images", report->n_test);
        sr_json_int(out, "bank_images", report->n_bank);
        sr_json_string(out, "layer", report->layer);
        sr_json_float(out, "seconds", report->seconds);
    }
    for (int row = 0; row < SR_ROW_COUNT; row++)
        for (int i = 0; report->has[row] && i < report->n_k; i++) {
            snprintf(key, sizeof key, "%s_top1_k%d", keys[row], report->row[row][i].k);
            sr_json_float(out, key, report->row[row][i].top1);
            snprintf(key, sizeof key, "%s_top5_k%d", keys[row], report->row[row][i].k);
            if (row != SR_ROW_MAJORITY)
                sr_json_float(out, key, report->row[row][i].top5);
        }
    sr_json_end(out);
}

void sr_knn_report_print(const SrKnnReport *report, bool json, SrText *out) {
    if (json)
        sr_knn_report_json(report, out);
    else
        sr_knn_report_text(report, out);
}
