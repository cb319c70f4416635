// Runs linear evaluation and its baselines.  A baseline is a separate run of the configuration
// without its weights and without a folder.
#include "trainer/eval/linear_probes.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text/json.h"
#include "data/load/loader.h"
#include "measure/neighbours/knn.h"
#include "measure/probes/chosen_probe.h"
#include "trainer/config/config_draft.h"
#include "trainer/features/norm_calibration.h"
#include "trainer/run/phases.h"
#include "trainer/run/run.h"
#include "trainer/run/run_rates.h"

// ---- one row

// Computes the share of the commonest class.  False: labels are unknown, as features are not kept.
static bool majority_of(const SrFeed *train, const SrFeed *test, double *out) {
    SrMatrix a = {.n = train->n, .label = train->labels}, b = {.n = test->n, .label = test->labels};
    if (!a.label || !b.label || train->n_targets > 0 || test->n_targets > 0)
        return false;
    *out = sr_knn_majority(&a, &b);
    return true;
}

// Runs the test phase of a run that has ended.
static SrStatus measure(SrRun *run, SrReportRow row, SrLinearReport *out) {
    SrPhases phases;
    SrStatus status;
    SR_TRY(sr_phases_open(run, &phases));
    SR_TRY_GOTO(phases.test ? sr_phases_run_test(&phases)
                            : sr_fail(SR_ERR_CONFIG, "there are no test images"));
    for (int k = 0; sr_meter_list_count(phases.test) > 0 && k < run->graph.n_model_outputs; k++)
        out->n_values = sr_meter_list_values(phases.test, 0, k, out->value[row][k]);
    for (int k = 0; row == SR_ROW_TRAINED && k < run->graph.n_model_outputs; k++) {
        char buf[16];
        snprintf(out->layer[k], sizeof out->layer[k], "%s",
                 sr_meter_list_output(phases.test, k, buf));
        out->n_layers = k + 1;
    }
    out->has[row] = true;
    if (row == SR_ROW_TRAINED) {
        out->n_test = sr_loader_length(phases.split.loader);
        out->has[SR_ROW_MAJORITY] = majority_of(&run->feed, &phases.feed, &out->majority);
    }
done:
    sr_phases_close(&phases);
    return status;
}

// ---- baselines

static SrStatus without_weights(const SrConfig *config, SrConfig **out) {
    SrConfigDraft *draft;
    SR_TRY(sr_config_draft_of(config, &draft));
    draft->config.model.params_file = "";
    SrStatus status = sr_config_draft_resolve(draft, out);
    sr_config_draft_free(draft);
    return status;
}

// Measures batch-norm statistics of these images; they make some untrained trunks better.
static SrStatus calibrate(SrRun *run) {
    SrSplit sample = {.note = ""};
    SR_TRY(sr_split_open_eval(run->config, SR_SIDE_BANK, true, run->batch, run->train.h[0], NULL,
                              &sample));
    SrStatus status = sr_norms_calibrate(run->model, &sample, run->batch);
    sr_split_close(&sample);
    return status;
}

static SrStatus epoch_of(SrRun *run, int64_t epoch, double rate) {
    SR_TRY(sr_feed_start(&run->feed, epoch, 0));
    for (int64_t at = 0;; at++) {
        const int64_t *labels;
        bool end;
        double wait_s, loss;
        SR_TRY(sr_run_load(run, at, &end, &labels, &wait_s));
        if (end)
            return SR_OK;
        SrStepArgs args = {.iteration = epoch * run->steps_per_epoch + at, .epoch = (int)epoch};
        sr_run_rates(run, args.iteration, &args.lr, &args.lr_head);
        args.lr *= rate;
        args.lr_head *= rate;
        SR_TRY(sr_step_run(sr_run_step_at(run, at), &args, &loss));
    }
}

static SrStatus train(SrRun *run, double rate) {
    SR_TRY(sr_run_begin(run, 0, false));
    for (int64_t epoch = 0; epoch < run->config->optimizer.num_epochs; epoch++) {
        SR_TRY(epoch_of(run, epoch, rate));
        sr_log_live("baseline: epoch %lld of %d", (long long)epoch + 1,
                    run->config->optimizer.num_epochs);
    }
    return SR_OK;
}

// rate: factor of the configured learning rates.
static SrStatus attempt(const SrConfig *config, double rate, SrReportRow row, SrLinearReport *out) {
    SrRun *run = NULL;
    SrStatus status;
    SR_TRY_GOTO(sr_run_open(config, SR_RUN_TRAIN, &run));
    if (row == SR_ROW_CALIBRATED)
        SR_TRY_GOTO(calibrate(run));
    SR_TRY_GOTO(train(run, rate));
    SR_TRY_GOTO(measure(run, row, out));
done:
    sr_run_close(run);
    out->rate[row] = rate;
    return status;
}

// Repeats a diverging baseline at a tenth of its rate: random features may need a lower one.
static SrStatus baseline(const SrConfig *config, SrReportRow row, SrLinearReport *out) {
    SrConfig *changed = NULL;
    SrStatus status;
    SrLogLevel level = sr_log_set_level(SR_LOG_WARN); // its lines would be taken for the run's
    if (level > SR_LOG_WARN)
        sr_log_set_level(level);
    SR_TRY_GOTO(without_weights(config, &changed));
    status = attempt(changed, 1, row, out);
    for (double rate = 0.1; status == SR_ERR_RUN && rate > 1e-4; rate /= 10)
        status = attempt(changed, rate, row, out);
done:
    sr_log_set_level(level);
    sr_config_free(changed);
    return status == SR_OK ? status : sr_fail_prefix(status, "%s", sr_report_row_name(row));
}

// Fits logistic regression with its own penalty in place of the recipe, for top-1 alone.  Adjacent
// pixels are so alike that the recipe would not regularise enough; a weak baseline flatters the
// trunk.
static SrStatus pixels(const SrConfig *config, SrLinearReport *out) {
    SrBaselines images;
    SrMatrix train = {0}, test = {0};
    SrChosenProbe probe;
    SrStatus status;
    const SrMeterValue *first = &out->value[SR_ROW_TRAINED][0][0];
    if (!out->has[SR_ROW_MAJORITY] || strcmp(first->key, "top_1") != 0)
        return SR_OK;
    SR_TRY_GOTO(sr_baselines_open(&images, config, config->knn.layer));
    images.bank.shared = images.test.shared = true;
    SR_TRY_GOTO(sr_feature_rows_of_pixels(&images.bank, &train));
    SR_TRY_GOTO(sr_feature_rows_of_pixels(&images.test, &test));
    SR_TRY_GOTO(sr_chosen_probe(&train, &test, &probe));
    out->value[SR_ROW_PIXELS][0][0] = *first;
    out->value[SR_ROW_PIXELS][0][0].value = probe.test;
    out->has[SR_ROW_PIXELS] = true;
done:
    sr_matrix_deinit(&train);
    sr_matrix_deinit(&test);
    sr_baselines_close(&images);
    return status == SR_OK ? status : sr_fail_prefix(status, "raw pixels");
}

SrStatus sr_linear_report(SrRun *trained, SrLinearReport *out) {
    double began = sr_clock();
    *out = (SrLinearReport){.n_train = sr_loader_length(trained->train.loader),
                            .random = !*trained->config->model.params_file};
    SR_TRY(measure(trained, SR_ROW_TRAINED, out));
    if (trained->feed.rows) {
        SR_TRY(baseline(trained->config, SR_ROW_UNTRAINED, out));
        SR_TRY(baseline(trained->config, SR_ROW_CALIBRATED, out));
        SR_TRY(pixels(trained->config, out));
    } else {
        sr_info(
            "baselines are left out, since without kept features each costs as much as the run");
    }
    out->seconds = sr_clock() - began;
    return SR_OK;
}

// ---- presentation

// Returns the stronger of the two untrained trunks at layer k.
static SrReportRow untrained_row(const SrLinearReport *r, int k) {
    bool better = r->value[SR_ROW_CALIBRATED][k][0].value > r->value[SR_ROW_UNTRAINED][k][0].value;
    return better ? SR_ROW_CALIBRATED : SR_ROW_UNTRAINED;
}

static void add_values(const SrMeterValue *v, int n, SrText *out) {
    for (int i = 0; i < n; i++)
        sr_text_printf(out, "  %7.2f", v[i].value);
}

static void add_layer(const SrLinearReport *r, int k, SrText *out) {
    SrReportRow row = untrained_row(r, k);
    sr_text_printf(out, "  %-16s", r->layer[k]);
    add_values(r->value[SR_ROW_TRAINED][k], r->n_values, out);
    if (r->has[row]) {
        sr_text_add(out, "   |");
        add_values(r->value[row][k], r->n_values, out);
        sr_text_printf(out, "  %s", row == SR_ROW_CALIBRATED ? "calibrated" : "as drawn");
    }
    sr_text_add(out, "\n");
}

static void print_text(const SrLinearReport *r, SrText *out) {
    bool both = r->has[SR_ROW_UNTRAINED];
    sr_text_printf(
        out, "linear probes: %lld training images, %lld test images, per cent of the test images\n",
        (long long)r->n_train, (long long)r->n_test);
    if (r->random)
        sr_text_add(out, "  no weights were given, so the trunk on the left is untrained too\n");
    sr_text_printf(out, "  %-16s", "");
    for (int pass = 0; pass <= both; pass++)
        for (int i = 0; i < r->n_values; i++)
            sr_text_printf(out, "%s  %7s", pass && i == 0 ? "   |" : "",
                           r->value[SR_ROW_TRAINED][0][i].key);
    sr_text_add(out, both ? "   (right: the same trunk untrained, the better of two)\n" : "\n");
    for (int k = 0; k < r->n_layers; k++)
        add_layer(r, k, out);
    if (r->has[SR_ROW_PIXELS]) {
        sr_text_printf(out, "  %-16s", "raw pixels");
        add_values(r->value[SR_ROW_PIXELS][0], 1, out);
        sr_text_add(out, "\n");
    }
    for (int row = 0; row < SR_ROW_COUNT; row++)
        if (r->has[row] && r->rate[row] > 0 && r->rate[row] < 1)
            sr_text_printf(out, "  (%s: diverged, so it learned at %g of the rate)\n",
                           sr_report_row_name((SrReportRow)row), r->rate[row]);
    if (r->has[SR_ROW_MAJORITY])
        sr_text_printf(out, "  %-16s  %7.2f\n", "majority class", r->majority);
}

// Names layer k.  If a name occurs twice, later layers have their position after it.
static void name_layer(const SrLinearReport *r, int k, char out[SR_LINEAR_NAME_BYTES + 16]) {
    bool again = false;
    for (int j = 0; j < k; j++)
        again |= strcmp(r->layer[j], r->layer[k]) == 0;
    snprintf(out, SR_LINEAR_NAME_BYTES + 16, "%s", r->layer[k]);
    if (again)
        snprintf(out, SR_LINEAR_NAME_BYTES + 16, "%s_%d", r->layer[k], k);
}

// Writes flat keys such as trained_res5_top_1.
static void json_values(const SrLinearReport *r, SrReportRow row, int k, const char *layer,
                        SrText *out) {
    char key[96];
    for (int i = 0; i < r->n_values; i++) {
        snprintf(key, sizeof key, "%s_%s_%s", sr_report_row_key(row), layer,
                 r->value[row][k][i].key);
        sr_json_float(out, key, r->value[row][k][i].value);
    }
}

static void json_layer(const SrLinearReport *r, int k, SrText *out) {
    char layer[SR_LINEAR_NAME_BYTES + 16], key[96];
    SrReportRow untrained = untrained_row(r, k);
    name_layer(r, k, layer);
    json_values(r, SR_ROW_TRAINED, k, layer, out);
    if (!r->has[untrained])
        return;
    json_values(r, untrained, k, layer, out);
    snprintf(key, sizeof key, "untrained_%s_norms", layer);
    sr_json_string(out, key, untrained == SR_ROW_CALIBRATED ? "calibrated" : "as drawn");
}

static void print_json(const SrLinearReport *r, SrText *out) {
    sr_json_begin(out);
    sr_json_int(out, "train_images", r->n_train);
    sr_json_int(out, "test_images", r->n_test);
    sr_json_bool(out, "random", r->random);
    for (int k = 0; k < r->n_layers; k++)
        json_layer(r, k, out);
    if (r->has[SR_ROW_PIXELS])
        sr_json_float(out, "pixels_top_1", r->value[SR_ROW_PIXELS][0][0].value);
    if (r->has[SR_ROW_MAJORITY])
        sr_json_float(out, "majority_top_1", r->majority);
    sr_json_float(out, "seconds", r->seconds);
    sr_json_end(out);
}

void sr_linear_report_print(const SrLinearReport *report, bool json, SrText *out) {
    if (json)
        print_json(report, out);
    else
        print_text(report, out);
}
