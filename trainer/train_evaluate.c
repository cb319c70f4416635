// Evaluates the model between two epochs: test phase and online probe.
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "trainer/run/run_folder.h"
#include "trainer/train_internal.h"

// Writes the figures of the test phase after `epoch`, and saves the model if it is the best so far.
static SrStatus keep_figures(SrTraining *t, int64_t epoch, double began) {
    SrMeterList *meters = t->phases.test;
    double value = 0;
    sr_meter_list_say(meters, "test");
    SrText *out = sr_metrics_begin(&t->epochs);
    sr_json_int(out, "iteration", t->at.iteration);
    sr_json_int(out, "train_phase_idx", epoch);
    sr_meter_list_json(meters, "test", out);
    sr_json_float(out, "seconds", sr_clock() - began);
    sr_metrics_end(&t->epochs);
    if (t->config->test_only && t->options->test)
        sr_text_add(t->options->test, out->s ? out->s : "");
    if (!sr_meter_list_best(meters, &value) || value <= t->at.best)
        return SR_OK;
    t->at.best = value;
    bool kept = t->config->checkpoint.keep_best && !t->config->test_only;
    return kept ? sr__train_save(t, SR_CHECKPOINT_BEST) : SR_OK;
}

SrStatus sr__train_test(SrTraining *t, int64_t epoch) {
    double began = sr_clock();
    SR_TRY(sr_phases_run_test(&t->phases));
    return keep_figures(t, epoch, began);
}

// Runs a test phase between epochs.  If it fails, training continues, because hours of training
// are worth more than figures that can be computed later.  The run fails at its end if its last
// test phase did.
static SrStatus test(SrTraining *t, int64_t epoch) {
    double began = sr_clock();
    SrStatus status = sr_phases_run_test(&t->phases);
    if (status == SR_ERR_INTERRUPT)
        return status;
    t->untested = status;
    if (status == SR_OK)
        return keep_figures(t, epoch, began);
    snprintf(t->untested_reason, sizeof t->untested_reason, "%s", sr_status_message());
    sr_warn("the test phase after epoch %lld failed: %s; training continues", (long long)epoch,
            t->untested_reason);
    sr_status_clear();
    return SR_OK;
}

SrStatus sr__train_check_tested(const SrTraining *t) {
    if (t->untested == SR_OK)
        return SR_OK;
    SR_FAIL(SR_ERR_RUN,
            "training has finished and is saved in %s, but the last test phase failed: %s; to "
            "repeat it, repair the test images and give the same command with TEST_ONLY=True",
            t->last_saved, t->untested_reason);
}

// Runs the probe.  If it fails, training continues without its figures.
static SrStatus probe(SrTraining *t, int64_t epoch) {
    SrProbeResult r;
    SrStatus status = sr_online_probe_run(&t->probe, &r);
    if (status == SR_ERR_INTERRUPT)
        return status;
    if (status != SR_OK) {
        sr_warn("the probe after epoch %lld failed: %s", (long long)epoch, sr_status_message());
        sr_status_clear();
        return SR_OK;
    }
    sr_info("probe after epoch %lld: top-1 of kNN (k=%d) %.2f, linear %.2f; %lld test images "
            "against %lld, %.1f s",
            (long long)epoch, r.knn.k, r.knn.top1, r.linear_top1, (long long)r.n_test,
            (long long)r.n_train, r.seconds);
    SrText *out = sr_metrics_begin(&t->epochs);
    sr_json_int(out, "iteration", t->at.iteration);
    sr_json_int(out, "train_phase_idx", epoch);
    sr_json_float(out, "probe_knn_top1", r.knn.top1);
    sr_json_float(out, "probe_linear_top1", r.linear_top1);
    sr_tensorboard_figure(&t->board, t->at.iteration, "Testing/probe_knn_top1", r.knn.top1);
    sr_tensorboard_figure(&t->board, t->at.iteration, "Testing/probe_linear_top1", r.linear_top1);
    sr_json_float(out, "seconds", r.seconds);
    sr_metrics_end(&t->epochs);
    return SR_OK;
}

// Runs the test phase first, then the probe, if they are due.
SrStatus sr__train_evaluate(SrTraining *t, int64_t epoch) {
    if (t->at.after_epoch < 2 && sr_phases_test_due(&t->phases, t->config, epoch))
        SR_TRY(test(t, epoch));
    t->at.after_epoch = 2;
    // Comes before the checkpoint: a run that is killed in between writes it twice rather than
    // never.
    return sr_online_probe_due(&t->probe, epoch) ? probe(t, epoch) : SR_OK;
}
