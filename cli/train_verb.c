// sslrun train CONFIG [KEY=VALUE ...]: trains, and at the end says how good the trunk is.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/args.h"
#include "cli/interrupt.h"
#include "cli/verb.h"
#include "trainer/eval/layer_report.h"
#include "trainer/eval/linear.h"
#include "trainer/eval/report.h"
#include "trainer/run/metrics.h"
#include "trainer/run/train.h"

// The command that continues this run, for the message of an interrupted one.
static void command_line(const SrArgs *args, SrText *out) {
    sr_text_add(out, "sslrun");
    for (int i = 0; i < args->n_names; i++)
        sr_text_printf(out, " %s", args->names[i]);
    for (int i = 0; i < args->n_overrides; i++)
        sr_text_printf(out, " %s", args->overrides[i]);
}

// Mean losses of the first and last epoch say at a glance whether anything was learned.
static void print_result(const SrTrainResult *r, bool json, SrText *out) {
    char took[48], peak[32];
    if (json) {
        sr_json_begin(out);
        sr_json_int(out, "iterations", r->iterations);
        sr_json_bool(out, "already_finished", r->already_finished);
        sr_json_float(out, "seconds", r->seconds);
        sr_json_float(out, "images_per_s", r->images_per_s);
        sr_json_float(out, "data_wait", r->wait_share);
        sr_json_float(out, "first_loss", r->first_loss);
        sr_json_float(out, "last_loss", r->last_loss);
        sr_json_int(out, "peak_bytes", (int64_t)r->peak_bytes);
        sr_json_end(out);
    } else if (!r->already_finished) {
        sr_text_printf(out,
                       "trained %lld updates in %s: %.0f images/s, %.0f%% of the time waiting for "
                       "data, peak memory %s\n"
                       "mean loss of the first epoch %.4f, of the last %.4f\n",
                       (long long)r->iterations, sr_duration_text(r->seconds, took, sizeof took),
                       r->images_per_s, 100 * r->wait_share,
                       sr_bytes_text((double)r->peak_bytes, peak, sizeof peak), r->first_loss,
                       r->last_loss);
    }
}

// The report as a line of metrics.json too.
static SrStatus keep_line(const SrConfig *config, SrText *line) {
    SrMetrics metrics;
    SR_TRY(sr_metrics_open(&metrics, config->checkpoint.dir, "metrics.json"));
    metrics.line.len = 0;
    sr_text_add(&metrics.line, line->s ? line->s : "");
    sr_metrics_write(&metrics);
    sr_metrics_close(&metrics);
    return SR_OK;
}

// A trunk by kNN; linear probes over a frozen one by their layers; any other model with labels has
// had its test phases.
static SrStatus evaluate(const SrConfig *config, SrRun *run, bool json, SrText *out) {
    SrText line = SR_TEXT_INIT;
    SrStatus status = SR_OK;
    if (config->supervised && !run->frozen_trunk)
        return SR_OK;
    sr_info("evaluating the frozen trunk and its baselines (TEST_MODEL=False leaves this out)");
    if (config->supervised) {
        SrLinearReport report;
        SR_TRY_GOTO(sr_linear_report(run, &report));
        sr_linear_report_print(&report, json, out);
        sr_linear_report_print(&report, true, &line);
    } else {
        SrKnnReport report;
        SrLayerReport layers;
        SR_TRY_GOTO(sr_knn_report(config, run->model, true, &report));
        sr_knn_report_print(&report, json, out);
        if (sr_layer_report(config, run->model, &layers) != SR_OK) // too few images of a class
            sr_warn("no figures of the layers: %s", sr_status_message());
        (json ? sr_layer_report_json : sr_layer_report_text)(&layers, out);
        sr_knn_report_json(&report, &line);
        sr_layer_report_json(&layers, &line);
    }
    SR_TRY_GOTO(keep_line(config, &line));
done:
    sr_text_deinit(&line);
    return status;
}

// TEST_ONLY: what `sslrun knn` does.
static SrStatus only_evaluate(const SrConfig *config, bool random, bool json) {
    SrKnnReport report;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_knn_report_configured(config, true, random, &report));
    sr_knn_report_print(&report, json, &out);
    return sr_args_print(&out);
}

// The run stays open until after the evaluation, which looks at the parameters in memory.
static SrStatus train(const SrArgs *args, const SrConfig *config, bool random, bool json) {
    SrText command = SR_TEXT_INIT, out = SR_TEXT_INIT;
    SrRun *run = NULL;
    SrTrainResult result;
    command_line(args, &command);
    sr_interrupt_at_once(
        "stopped before the first step: nothing is lost, the same command goes on");
    SrTrainOptions options = {
        .stop = sr_interrupt_asked, .test = &out, .again = command.s, .random = random};
    SrStatus status = sr_train(config, &options, &run, &result);
    if (status == SR_OK) {
        if (!config->test_only)
            print_result(&result, json, &out);
        status = sr_args_print(&out);
    }
    sr_interrupt_at_once("the evaluation was cut short: the same command catches up on it");
    if (status == SR_OK && sr_interrupt_signal())
        status = sr_fail(SR_ERR_INTERRUPT, "training had just finished and is saved; the same "
                                           "command catches up on its evaluation");
    bool test = config->test_model && !config->test_only && !result.already_finished;
    if (status == SR_OK && test && (!config->supervised || sr_split_has_test(config))) {
        status = evaluate(config, run, json, &out);
        if (status == SR_OK)
            status = sr_args_print(&out);
    }
    sr_interrupt_uninstall();
    sr_run_close(run);
    sr_log_close();
    sr_text_deinit(&command);
    sr_text_deinit(&out);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    bool json = false, random = false;
    const SrFlag flags[] = {
        {"--json", &json, NULL, "results as JSON lines", NULL},
        {"--random", &random, NULL, "a frozen trunk may be one that nobody trained", NULL},
        {0}};
    SrArgs args;
    SrConfig *config;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    SR_TRY(sr_args_load_config(&args, "train", &config));
    SrStatus status = config->test_only && !config->supervised ? only_evaluate(config, random, json)
                                                               : train(&args, config, random, json);
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_train = {
    .name = "train",
    .usage = "sslrun [train] CONFIG [KEY=VALUE ...] [--random] [--json]",
    .help = "Pretrains from a configuration, going on where the run folder stands.",
    .run = run_verb,
};
