// Writes a run's reports: log lines for people, lines of stdout.json (steps) and metrics.json
// (epochs) for programs, and TensorBoard's events.
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "data/load/loader.h"
#include "trainer/config/stages.h"
#include "trainer/optim/grad_clip.h"
#include "trainer/run/ranks/run_ranks.h"
#include "trainer/run/run_cost.h"
#include "trainer/train_internal.h"

static void say_resume(const SrTraining *t, SrResume how) {
    if (how == SR_RESUME_CONTINUE)
        sr_info("resuming from %s: epoch %lld, batch %lld, %lld of %lld updates done",
                t->last_saved, (long long)t->at.epoch, (long long)t->at.batch,
                (long long)t->at.iteration, (long long)t->run->max_iterations);
    sr_log_file("run %s", t->at.run.id);
}

// Logs the cost before the first step, when a change of plan is still cheap.
static void say_cost(const SrTraining *t) {
    SrText text = SR_TEXT_INIT;
    sr_run_cost_text(t->run, &text);
    sr_info("%s", text.s ? text.s : "");
    sr_text_deinit(&text);
}

// Logs two facts before hours are spent: too few rows for the prototypes, and the loss of a model
// that learns nothing.  Both are silent failures of SwAV.
static void say_facts(SrTraining *t) {
    const SrTrainGraph *g = &t->run->graph;
    if (g->loss_kind->facts)
        g->loss_kind->facts(g->loss_state, &t->facts);
    if (t->facts.chance > 0)
        sr_info("a loss that stays at %.4f means that the model learns nothing", t->facts.chance);
    if (t->facts.rows > 0 && t->facts.rows < t->facts.classes)
        sr_warn("batch and queue together hold %lld images, fewer than the %d prototypes, so "
                "assignments will be poor; use fewer prototypes, a larger batch or a queue",
                (long long)t->facts.rows, t->facts.classes);
}

// Logs which epochs the stage has, and what it sets.
static void say_stage(const SrTraining *t) {
    SrText text = SR_TEXT_INIT;
    sr_stage_text(t->config, t->stage, &text);
    if (sr_stages_count(t->config) > 1 && text.s)
        sr_info("%s", text.s);
    sr_text_deinit(&text);
}

void sr__train_say_start(SrTraining *t, SrResume how) {
    say_resume(t, how);
    say_stage(t);
    say_cost(t);
    say_facts(t);
}

// Logs which images an epoch shows and which it leaves out.
void sr__train_say_epochs(const SrTraining *t) {
    char left[192] = "";
    const SrSplit *s = &t->run->train;
    int64_t n =
        t->config->train.data_limit > 0 ? t->config->train.data_limit : s->source->length(s->set);
    int64_t whole = t->run->steps_per_epoch * t->run->step_loaded,
            shown = t->config->replicas > 1 ? whole : sr_loader_length(s->loader);
    n -= shown;
    if (n > 0)
        snprintf(left, sizeof left, " (%lld images do not fill a batch and are left out: %s)",
                 (long long)n,
                 t->config->train.drop_last ? "DROP_LAST"
                 : t->config->whole_batches ? t->config->whole_batches
                                            : "a step needs one batch for every replica");
    sr_info("%lld images per epoch%s, %d view%s, batch size %d: %lld updates per epoch, %d epoch%s",
            (long long)shown, left, s->n_views, s->n_views == 1 ? "" : "s", t->run->step_images,
            (long long)t->run->steps_per_epoch, t->config->optimizer.num_epochs,
            t->config->optimizer.num_epochs == 1 ? "" : "s");
    sr_run_ranks_say(t->run);
}

// Writes a line with VISSL's keys where it has them; figures of the loss itself are added as they
// are.
static void write_metrics(SrTraining *t, const SrProgressLine *line) {
    SrText *out = sr_metrics_begin(&t->lines);
    sr_json_int(out, "ep", line->epoch);
    sr_json_int(out, "iter", line->iteration);
    sr_json_float(out, "lr", line->lr);
    sr_json_float(out, "loss", line->loss);
    sr_json_float(out, "btime(ms)", 1e3 * t->progress.step_s);
    sr_json_float(out, "eta_s", sr_progress_eta(&t->progress, line->iteration + 1));
    sr_json_float(out, "images_per_s", sr_progress_rate(&t->progress));
    sr_json_float(out, "data_wait", sr_progress_wait(&t->progress));
    // Without a maximum nothing is clipped: the call measures the norm, after the step's own
    // clipping.
    double norm = sr_grad_clip(sr_model_params(t->run->model), NULL, 2, INFINITY);
    sr_json_float(out, "grad_norm", norm);
    double exchange, waited;
    if (sr_replicas_sums(t->run->replicas, &exchange, &waited)) {
        sr_json_float(out, "exchange_ms", 1e3 * exchange);
        sr_json_float(out, "exchange_wait_ms", 1e3 * waited);
    }
    sr_tensorboard_step(&t->board,
                        &(SrTensorboardStep){.iteration = line->iteration,
                                             .loss = line->loss,
                                             .lr = line->lr,
                                             .step_s = t->progress.step_s,
                                             .wait_share = sr_progress_wait(&t->progress),
                                             .images_per_s = sr_progress_rate(&t->progress),
                                             .grad_norm = norm});
    const SrTrainGraph *g = &t->run->graph;
    SrLossStep step = sr_step_view(&t->run->step, line->iteration, (int)line->epoch);
    if (g->loss_kind->report)
        g->loss_kind->report(g->loss_state, &step, out);
    sr_metrics_end(&t->lines);
}

// Logs a line every LOG_FREQUENCY updates and at the end of an epoch; in between, a terminal
// shows a live line.
void sr__train_say_step(SrTraining *t, const SrProgressLine *line) {
    char fitted[512], whole[512];
    int every = SR_MAX(t->config->log_frequency, 1);
    bool due = line->iteration % every == 0 || line->epoch_step + 1 == line->epoch_steps;
    double now = sr_clock();
    if (!due && (!sr_log_is_terminal() || now - t->live_at < 0.2))
        return;
    sr_progress_text(&t->progress, line, sr_log_columns(), fitted, sizeof fitted);
    sr_progress_text(&t->progress, line, 0, whole, sizeof whole);
    if (!due) {
        t->live_at = now;
        sr_log_live("%s", fitted);
        return;
    }
    sr_log_fitted(fitted, whole);
    write_metrics(t, line);
    sr_progress_reset_window(&t->progress);
}

// `sslrun doctor` reads the line of metrics.json.
void sr__train_say_finding(SrTraining *t, int64_t epoch, const char *name, const char *text) {
    SrText *out = sr_metrics_begin(&t->epochs);
    sr_json_int(out, "iteration", t->at.iteration);
    sr_json_int(out, "train_phase_idx", epoch);
    sr_json_string(out, "health", name);
    sr_json_string(out, "finding", text);
    sr_metrics_end(&t->epochs);
    sr_warn("%s: %s", name, text);
}

// Measures the health.  False: the run resumed within the epoch, and the plan has no outputs yet.
static bool measure_health(SrTraining *t, SrHealthFigures *figures) {
    SrLossStep view = sr_step_view(&t->run->step, t->at.iteration, (int)t->at.epoch);
    *figures = (SrHealthFigures){.loss_min = t->at.loss_min,
                                 .loss_max = t->at.loss_max,
                                 .chance = t->facts.chance,
                                 .lr = t->lr};
    if (!t->whole_epoch || t->run->frozen_trunk)
        return false;
    if (sr_health_measure(&t->health, &t->run->step, &view, figures) == SR_OK)
        return true;
    sr_warn("the checks of the epoch failed: %s", sr_status_message());
    sr_status_clear();
    return false;
}

// Writes a log line, a line of metrics.json, and the findings about the run's health.
void sr__train_say_epoch(SrTraining *t, int64_t epoch, double mean, double seconds) {
    char took[48];
    SrHealthFigures figures;
    SrHealthFinding findings[SR_HEALTH_MAX];
    bool measured = measure_health(t, &figures);
    sr_info("epoch %lld done in %s: mean loss %.5f", (long long)epoch,
            sr_duration_text(seconds, took, sizeof took), mean);
    SrText *out = sr_metrics_begin(&t->epochs);
    sr_json_int(out, "iteration", t->at.iteration);
    sr_json_int(out, "train_phase_idx", epoch);
    sr_json_float(out, "train_loss", mean);
    sr_tensorboard_figure(&t->board, t->at.iteration, "Training/Mean_loss_of_epoch", mean);
    sr_json_float(out, "seconds", seconds);
    if (measured)
        sr_health_json(&figures, out);
    sr_metrics_end(&t->epochs);
    for (int i = 0, n = measured ? sr_health_judge(&figures, findings) : 0; i < n; i++)
        sr__train_say_finding(t, epoch, findings[i].name, findings[i].text);
}

// Logs the training meters of an epoch.  After a resume within the epoch they saw only a part: no
// line then.
void sr__train_say_meters(SrTraining *t, int64_t epoch) {
    SrMeterList *meters = t->phases.train;
    if (!meters || !t->whole_epoch || sr_meter_list_count(meters) == 0)
        return;
    sr_meter_list_say(meters, "train");
    SrText *out = sr_metrics_begin(&t->epochs);
    sr_json_int(out, "iteration", t->at.iteration);
    sr_json_int(out, "train_phase_idx", epoch);
    sr_meter_list_json(meters, "train", out);
    sr_metrics_end(&t->epochs);
}
