// What looks at the model between two epochs: the test phase and the online probe.
#include "base/clock.h"
#include "base/log.h"
#include "trainer/run/run_folder.h"
#include "trainer/train_internal.h"

// The test phase after `epoch`; the model is kept aside when it is the best so far.
SrStatus sr__train_test(SrTraining *t, int64_t epoch) {
    SrMeterList *meters = t->phases.test;
    double began = sr_clock(), value = 0;
    SR_TRY(sr_phases_run_test(&t->phases));
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

// What a probe fails of is no reason to lose the epoch: training goes on without its figures.
static SrStatus probe(SrTraining *t, int64_t epoch) {
    SrProbeResult r;
    SrStatus status = sr_online_probe_run(&t->probe, &r);
    if (status == SR_ERR_INTERRUPT)
        return status;
    if (status != SR_OK) {
        sr_warn("no probe after epoch %lld: %s", (long long)epoch, sr_status_message());
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

// What looks at the model between two epochs.
SrStatus sr__train_evaluate(SrTraining *t, int64_t epoch) {
    if (sr_phases_test_due(&t->phases, t->config, epoch))
        SR_TRY(sr__train_test(t, epoch));
    // Before the checkpoint: a run killed in between says it again rather than never.
    return sr_online_probe_due(&t->probe, epoch) ? probe(t, epoch) : SR_OK;
}
