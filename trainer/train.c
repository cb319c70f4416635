// The training loop.  Not the step (step.c), not what a run is made of (run.c), not evaluation
// (eval/), which it only calls between epochs.
#include "trainer/train.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "kernels/conv/conv.h"
#include "kernels/cpu.h"
#include "trainer/eval/online_probe.h"
#include "trainer/model/weights_init.h"
#include "trainer/run/data_summary.h"
#include "trainer/run/health.h"
#include "trainer/run/metrics.h"
#include "trainer/run/phases.h"
#include "trainer/run/position.h"
#include "trainer/run/progress.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_ranks.h"
#include "trainer/run/tensorboard.h"

#define PATH_BYTES 4096

typedef struct {
    const SrConfig *config;
    const SrTrainOptions *options;
    SrRun *run;
    SrPosition at;
    SrLossFacts facts;
    SrProgress progress;
    SrPhases phases;
    SrOnlineProbe probe;
    const int64_t *labels; // of the batch in hand, with one replica
    bool whole_epoch;      // this process saw its first batch
    SrHealth health;
    double lr;               // of the last step
    SrMetrics lines, epochs; // stdout.json, metrics.json
    SrTensorboard board;
    SrTrainResult *result;
    double waited_s; // of result->seconds
    double live_at;  // clock of the last live line
    char last_saved[PATH_BYTES];
    int lock; // on the folder
} Train;

// Rank 0 alone writes files and speaks.
static bool leads(void) { return sr_comm_rank() == 0; }

// ---- before the first step ----------------------------------------------------------------------

// The log goes on whatever happens to the folder's checkpoints.
static SrStatus open_folder(Train *t) {
    const char *dir = t->config->checkpoint.dir;
    char path[PATH_BYTES];
    if (!leads())
        return SR_OK;
    SR_TRY(sr_file_mkdirs(dir));
    SR_TRY(sr_file_join(path, sizeof path, dir, ".lock"));
    SrStatus claimed = sr_file_lock(path, &t->lock);
    if (claimed != SR_OK)
        return sr_fail_prefix(claimed, "CHECKPOINT.DIR");
    SR_TRY(sr_file_join(path, sizeof path, dir, "log.txt"));
    return sr_log_open(path);
}

// Names are VISSL's; both files are appended to, so a run that was resumed ten times is one story.
static SrStatus open_metrics(Train *t) {
    const char *dir = t->config->checkpoint.dir;
    if (!leads())
        return SR_OK;
    SR_TRY(sr_metrics_open(&t->lines, dir, "stdout.json"));
    if (!t->config->test_only)
        SR_TRY(sr_tensorboard_open(&t->board, t->config));
    return sr_metrics_open(&t->epochs, dir, "metrics.json");
}

// Before the first step, when changing one's mind is still cheap.
static void say_cost(const Train *t) {
    SrText text = SR_TEXT_INIT;
    sr_run_cost_text(t->run, &text);
    sr_info("%s", text.s ? text.s : "");
    sr_text_deinit(&text);
}

// SwAV's two silent failures, said before hours are spent: too few rows for the prototypes, and
// what a loss that learns nothing looks like (spec 13.2).
static void say_facts(Train *t) {
    const SrTrainGraph *g = &t->run->graph;
    if (g->loss_kind->facts)
        g->loss_kind->facts(g->loss_state, &t->facts);
    if (t->facts.chance > 0)
        sr_info("a loss that stays at %.4f has learned nothing", t->facts.chance);
    if (t->facts.rows > 0 && t->facts.rows < t->facts.classes)
        sr_warn("batch and queue together hold %lld images, fewer than the %d prototypes they are "
                "spread over: "
                "assignments will be poor; use fewer prototypes, a larger batch or a queue",
                (long long)t->facts.rows, t->facts.classes);
}

// Raw pixels have no weights to forget.
static bool trunk_has_weights(const Train *t) {
    SrParams *params = sr_model_params(t->run->model);
    for (int i = 0; i < sr_params_count(params); i++)
        if (strncmp(sr_params_at(params, i)->name, "trunk.", 6) == 0)
            return true;
    return false;
}

// Linear probes of a trunk that nobody trained look like a result, and forgetting the key is the likeliest mistake.
static SrStatus check_weights(const Train *t, const char *path) {
    bool frozen = t->run->frozen_trunk && trunk_has_weights(t);
    if (*path || t->options->random || !(frozen || t->config->test_only))
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "no weights for the %s: CHECKPOINT.DIR '%s' holds no checkpoint; set "
            "MODEL.WEIGHTS_INIT.PARAMS_FILE to a file of weights, or ask for the trunk as it "
            "is drawn with --random",
            frozen ? "frozen trunk" : "model of TEST_ONLY", t->config->checkpoint.dir);
}

// Where the run's numbers come from besides its configuration.
static void kernels_text(const SrConfig *config, char out[24]) {
    bool pairs = config->model.use_amp && (sr_cpu_has_tiles() || sr_conv_has_pairs());
    snprintf(out, 24, "%s%s", sr_cpu_name(sr_cpu_level()), pairs ? "_bf16" : "");
}

// Nothing stands in the way of going on, but a reader of the figures should know.
static void check_kernels(Train *t) {
    char now[24];
    kernels_text(t->config, now);
    if (*t->at.kernels && strcmp(t->at.kernels, now) != 0)
        sr_warn("the run was computed with %s until here and is with %s from now on: the last bits "
                "of its numbers differ from those of one machine alone",
                t->at.kernels, now);
    snprintf(t->at.kernels, sizeof t->at.kernels, "%s", now);
}

// A new run: with the weights that the configuration names, or as it was drawn.  Nothing is moved for one that cannot
// begin.
static SrStatus start_fresh(Train *t) {
    SrWeightsSource source = sr_weights_source(&t->config->model);
    t->last_saved[0] = '\0';
    SR_TRY(check_weights(t, source.path));
    if (*source.path)
        SR_TRY(sr_weights_load(&source, sr_run_parts(t->run).params));
    SR_TRY(sr_model_load_teacher(t->run->model, t->options->random));
    return t->config->test_only ? SR_OK : sr_folder_move_aside(t->config->checkpoint.dir);
}

// A checkpoint of this folder wins over PARAMS_FILE, which describes how the run began.
static SrStatus look_into_folder(Train *t, SrResume *how) {
    SrCheckpointParts parts = sr_run_parts(t->run);
    SrResumeOptions options = {.checkpoint = &t->config->checkpoint,
                               .num_epochs = t->config->optimizer.num_epochs,
                               .restart = t->options->restart && !t->config->test_only,
                               .look_only = t->config->test_only};
    SR_TRY(sr_folder_resume(&options, &parts, &t->at, how, t->last_saved, sizeof t->last_saved));
    return *how == SR_RESUME_FRESH ? start_fresh(t) : SR_OK;
}

// Rank 0 reads, and all others get what it has found: they need not see its disk.
static SrStatus resume_or_init(Train *t, SrResume *how) {
    SrCheckpointParts parts = sr_run_parts(t->run);
    SR_TRY(sr_comm_agree(leads() ? look_into_folder(t, how) : SR_OK));
    sr_comm_broadcast(how, sizeof *how, 0);
    sr_comm_broadcast(&t->at, sizeof t->at, 0);
    sr_comm_broadcast(t->last_saved, sizeof t->last_saved, 0);
    sr_checkpoint_share(&parts);
    t->result->run = t->at.run;
    return open_metrics(t);
}

// A checkpoint from another batch size or data set counts batches that are not ours.
static void fit_position(Train *t) {
    const SrRun *run = t->run;
    SrPosition was = t->at;
    int64_t again, images = sr_loader_samples(run->train.loader);
    int loaded = t->config->train.batchsize_per_replica * t->config->replicas;
    SrFit fit = sr_position_fit(&t->at, loaded, images, run->steps_per_epoch, &again);
    if (fit == SR_FIT_BATCH)
        sr_warn("batches of %d where the checkpoint had %d: going on behind the same images, as "
                "update %lld instead of %lld (%lld images are seen again)",
                loaded, was.batch_size, (long long)t->at.iteration, (long long)was.iteration,
                (long long)again);
    else if (fit == SR_FIT_RESTART && was.iteration > 0)
        sr_warn("the checkpoint counts %lld updates where this data and batch size give %lld: "
                "starting its epoch %lld again",
                (long long)was.iteration, (long long)(was.epoch * run->steps_per_epoch + was.batch),
                (long long)was.epoch);
}

static void say_start(const Train *t, SrResume how) {
    if (how == SR_RESUME_CONTINUE)
        sr_info("going on from %s: epoch %lld, batch %lld, %lld of %lld updates done",
                t->last_saved, (long long)t->at.epoch, (long long)t->at.batch,
                (long long)t->at.iteration, (long long)t->run->max_iterations);
    sr_log_file("run %s", t->at.run.id);
}

// ---- saving -------------------------------------------------------------------------------------

// Refuses to write parameters that are not numbers: the check of the loss would only see them in
// the next step, after the last good file may have been pruned.  With CHECK_NAN=False they are the
// user's wish.
static SrStatus save(Train *t, SrCheckpointKind kind) {
    char name[96];
    SrCheckpointParts parts = sr_run_parts(t->run);
    if (!leads())
        return SR_OK;
    const char *bad = t->config->check_nan ? sr_params_nonfinite(parts.params) : NULL;
    if (bad)
        SR_FAIL(SR_ERR_RUN,
                "after iteration %lld '%s' holds a NaN or an infinity; nothing was saved, "
                "the last good "
                "checkpoint is %s",
                (long long)t->at.iteration - 1, bad, *t->last_saved ? t->last_saved : "(none yet)");
    SR_TRY(sr_folder_save(&t->config->checkpoint, kind, &parts, &t->at, name, sizeof name));
    return sr_file_join(t->last_saved, sizeof t->last_saved, t->config->checkpoint.dir, name);
}

// CHECKPOINT_ITER_FREQUENCY: after every n-th update of the whole run.
static SrStatus save_by_iteration(Train *t) {
    int64_t every = t->config->checkpoint.checkpoint_iter_frequency;
    return every > 0 && t->at.iteration % every == 0 ? save(t, SR_CHECKPOINT_ITERATION) : SR_OK;
}

// VISSL's rule: the phases 0, n, 2n, ... and always the last one, under its own name.
static SrStatus save_by_epoch(Train *t) {
    int64_t done = t->at.epoch - 1; // the epoch just completed
    int every = t->config->checkpoint.checkpoint_frequency;
    if (t->at.finished)
        return save(t, SR_CHECKPOINT_FINAL);
    return every > 0 && done % every == 0 ? save(t, SR_CHECKPOINT_PHASE) : save_by_iteration(t);
}

// An iteration checkpoint whatever the frequencies say; the message ends in the command to paste.
static SrStatus interrupted(Train *t) {
    int64_t every = t->config->checkpoint.checkpoint_iter_frequency;
    t->at.stopped = every <= 0 || t->at.iteration % every != 0;
    SR_TRY(save(t, SR_CHECKPOINT_ITERATION));
    SR_FAIL(SR_ERR_INTERRUPT, "stopped after %lld of %lld updates and saved %s; to go on: %s",
            (long long)t->at.iteration, (long long)t->run->max_iterations, t->last_saved,
            t->options->again ? t->options->again : "give the same command again");
}

// ---- saying -------------------------------------------------------------------------------------

// VISSL's keys where it has one; what the loss reports of itself goes in as it is.
static void write_metrics(Train *t, const SrProgressLine *line) {
    SrText *out = sr_metrics_begin(&t->lines);
    sr_json_int(out, "ep", line->epoch);
    sr_json_int(out, "iter", line->iteration);
    sr_json_float(out, "lr", line->lr);
    sr_json_float(out, "loss", line->loss);
    sr_json_float(out, "btime(ms)", 1e3 * t->progress.step_s);
    sr_json_float(out, "eta_s", sr_progress_eta(&t->progress, line->iteration + 1));
    sr_json_float(out, "images_per_s", sr_progress_rate(&t->progress));
    sr_json_float(out, "data_wait", sr_progress_wait(&t->progress));
    // No maximum: nothing is clipped, only measured (after the clipping of the step, where there is one).
    double norm = sr_grad_clip(sr_model_params(t->run->model), NULL, 2, INFINITY);
    sr_json_float(out, "grad_norm", norm);
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

// A plain line every LOG_FREQUENCY updates and at the end of an epoch; between them a live one on a
// terminal.
static void say_step(Train *t, const SrProgressLine *line) {
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

// To the log, and as a line of metrics.json that `sslrun doctor` reads.
static void say_finding(Train *t, int64_t epoch, const char *name, const char *text) {
    SrText *out = sr_metrics_begin(&t->epochs);
    sr_json_int(out, "iteration", t->at.iteration);
    sr_json_int(out, "train_phase_idx", epoch);
    sr_json_string(out, "health", name);
    sr_json_string(out, "finding", text);
    sr_metrics_end(&t->epochs);
    sr_warn("%s: %s", name, text);
}

// An epoch that was resumed within may have no outputs in the plan yet.
static bool measure_health(Train *t, SrHealthFigures *figures) {
    SrLossStep view = sr_step_view(&t->run->step, t->at.iteration, (int)t->at.epoch);
    *figures = (SrHealthFigures){.loss_min = t->at.loss_min,
                                 .loss_max = t->at.loss_max,
                                 .chance = t->facts.chance,
                                 .lr = t->lr};
    if (!t->whole_epoch || t->run->frozen_trunk)
        return false;
    if (sr_health_measure(&t->health, &t->run->step, &view, figures) == SR_OK)
        return true;
    sr_warn("no figures of health: %s", sr_status_message());
    return false;
}

// One line for the person, one for the file, and what is wrong (VISSL's users asked for it: swav issues 12 and 120).
static void say_epoch(Train *t, int64_t epoch, double mean, double seconds) {
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
        say_finding(t, epoch, findings[i].name, findings[i].text);
}

// ---- the loop -----------------------------------------------------------------------------------

// Part of the position, so that a resumed epoch reports the mean of all its steps.
static void count_loss(SrPosition *at, double loss) {
    bool first = at->batch == 0;
    at->loss_sum = first ? loss : at->loss_sum + loss;
    at->loss_min = first ? loss : fmin(at->loss_min, loss);
    at->loss_max = first ? loss : fmax(at->loss_max, loss);
}

// Meters of training, while the outputs of this replica stand in the plan.
static void count_outputs(void *arg, int replica) {
    Train *t = arg;
    const SrReplicas *several = t->run->replicas;
    sr_phases_count(&t->phases, t->run, t->at.batch, replica,
                    several ? sr_replicas_labels(several, replica) : t->labels);
}

// One update: batch in hand, position moved on, everything said and saved that is due.  Whatever
// the step failed of, the message adds where to go on from.
static SrStatus one_step(Train *t, double began, double wait_s) {
    SrRun *run = t->run;
    SrStepArgs args = {.iteration = t->at.iteration, .epoch = (int)t->at.epoch};
    double loss = 0;
    sr_run_rates(run, t->at.iteration, &args.lr, &args.lr_head);
    t->lr = args.lr;
    SrStatus status = sr_step_run(sr_run_step_at(run, t->at.batch), &args, &loss);
    if (status == SR_ERR_RUN)
        say_finding(t, t->at.epoch, "not_finite", sr_status_message());
    if (status == SR_ERR_RUN)
        SR_FAIL(status, "%s; the last good checkpoint is %s", sr_status_message(),
                *t->last_saved ? t->last_saved : "(none yet)");
    SR_TRY(status);
    sr_phases_count_ranks(&t->phases, run);
    double seconds = sr_clock() - began;
    sr_progress_step(&t->progress, seconds, wait_s);
    t->result->seconds += seconds;
    t->waited_s += wait_s;
    t->result->steps++;
    count_loss(&t->at, loss);
    SrProgressLine line = {t->at.epoch,          t->at.iteration, t->at.batch,
                           run->steps_per_epoch, args.lr,         loss};
    t->at.batch++;
    t->at.iteration++;
    say_step(t, &line);
    sr_tensorboard_params(&t->board, line.iteration, sr_model_params(run->model));
    return SR_OK;
}

// Meters of the epoch's training; one that was resumed within has seen a part only and says nothing.
static void say_training(Train *t, int64_t epoch) {
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

// The test phase after `epoch`; the model is kept aside when it is the best so far.
static SrStatus test(Train *t, int64_t epoch) {
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
    return kept ? save(t, SR_CHECKPOINT_BEST) : SR_OK;
}

// What a probe fails of is no reason to lose the epoch: training goes on without its figures.
static SrStatus probe(Train *t, int64_t epoch) {
    SrProbeResult r;
    SrStatus status = sr_online_probe_run(&t->probe, &r);
    if (status == SR_ERR_INTERRUPT)
        return status;
    if (status != SR_OK) {
        sr_warn("no probe after epoch %lld: %s", (long long)epoch, sr_status_message());
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
static SrStatus look(Train *t, int64_t epoch) {
    if (sr_phases_test_due(&t->phases, t->config, epoch))
        SR_TRY(test(t, epoch));
    // Before the checkpoint: a run killed in between says it again rather than never.
    return sr_online_probe_due(&t->probe, epoch) ? probe(t, epoch) : SR_OK;
}

static void tell(const Train *t, SrTold what) {
    if (leads() && t->options->told)
        t->options->told(t->options->told_arg, what);
}

// After the last batch: the position becomes the start of the next epoch.  Interrupted while it is being looked at,
// the run is saved as it stands behind the epoch's last batch, from where it comes here again.
static SrStatus end_epoch(Train *t, double began) {
    SrPosition last = t->at;
    int64_t epoch = t->at.epoch;
    double mean = t->at.loss_sum / (double)SR_MAX(t->at.batch, 1);
    t->at.epoch++;
    t->at.batch = 0;
    t->at.finished = t->at.epoch >= t->config->optimizer.num_epochs;
    say_epoch(t, epoch, mean, sr_clock() - began);
    if (t->result->epochs++ == 0)
        t->result->first_loss = mean;
    t->result->last_loss = mean;
    say_training(t, epoch);
    SrStatus status = look(t, epoch);
    if (status == SR_OK)
        tell(t, SR_TOLD_EPOCH);
    if (status == SR_ERR_INTERRUPT) {
        t->at = last;
        return interrupted(t);
    }
    SR_TRY(status);
    return save_by_epoch(t);
}

// Between steps only: a step is the unit that is either done and saved or not begun.
// All ranks between the same two, whichever was asked.
static bool stop_asked(const Train *t) {
    return t->options->stop && sr_comm_max(t->options->stop(t->options->stop_arg)) > 0;
}

// The loader is told at which batch to begin, which is all there is to resuming within an epoch:
// order and draws follow from (seed, epoch, sample).
static SrStatus train_epoch(Train *t) {
    SrRun *run = t->run;
    double epoch_began = sr_clock();
    const SrTrainGraph *g = &run->graph;
    SrEpoch hook = sr_run_epoch(run, t->at.iteration, (int)t->at.epoch);
    // What an epoch's start computes is part of the state that a checkpoint inside the epoch holds.
    if (g->loss_kind->before_epoch && t->at.batch == 0)
        SR_TRY(g->loss_kind->before_epoch(g->loss_state, &hook));
    int mine = run->replicas ? sr_replicas_mine(run->replicas) : 1;
    SR_TRY(sr_feed_start(&run->feed, t->at.epoch, t->at.batch * mine));
    t->whole_epoch = t->at.batch == 0;
    if (t->phases.train)
        sr_meter_list_reset(t->phases.train);
    for (;;) {
        bool end;
        double wait_s, began = sr_clock();
        SR_TRY(sr_run_load(run, t->at.batch, &end, &t->labels, &wait_s));
        if (end)
            return end_epoch(t, epoch_began);
        SR_TRY(one_step(t, began, wait_s));
        // The last step's checkpoints are end_epoch's.
        if (t->at.batch == run->steps_per_epoch)
            continue;
        SR_TRY(save_by_iteration(t));
        if (stop_asked(t))
            return interrupted(t);
    }
}

// TEST_ONLY: one test phase with the weights of the newest checkpoint or of PARAMS_FILE.
static SrStatus test_alone(Train *t) {
    SR_TRY(sr_phases_open(t->run, &t->phases));
    if (!t->phases.test)
        SR_FAIL(SR_ERR_CONFIG, "TEST_ONLY needs TEST_MODEL and test images: set "
                               "DATA.TEST.DATA_PATHS");
    return test(t, t->at.epoch);
}

// What an epoch shows and what it leaves out.
static void say_epochs(const Train *t) {
    char left[128] = "";
    const SrSplit *s = &t->run->train;
    int64_t n =
        t->config->train.data_limit > 0 ? t->config->train.data_limit : s->source->length(s->set);
    int64_t whole = t->run->steps_per_epoch * t->run->step_loaded,
            shown = t->config->replicas > 1 ? whole : sr_loader_length(s->loader);
    n -= shown;
    if (n > 0)
        snprintf(left, sizeof left, " (%lld images fill no batch and are left out: %s)",
                 (long long)n,
                 t->config->train.drop_last ? "DROP_LAST" : "this loss takes whole batches only");
    sr_info("%lld images an epoch%s, %d view%s, batch %d: %lld updates an epoch, %d epochs",
            (long long)shown, left, s->n_views, s->n_views == 1 ? "" : "s", t->run->step_images,
            (long long)t->run->steps_per_epoch, t->config->optimizer.num_epochs);
    sr_run_ranks_say(t->run);
}

// Everything that can be said before the first step is said before it.
static SrStatus train_all(Train *t) {
    SrResume how;
    SR_TRY(resume_or_init(t, &how));
    if (t->config->test_only)
        return test_alone(t);
    // VISSL exits without a word on the screen here; scripts that restart until success rely on the
    // exit code 0.
    if (how == SR_RESUME_FINISHED) {
        t->result->already_finished = true;
        t->result->iterations = t->at.iteration;
        sr_info("%s: training has finished (%lld updates, %lld epochs); --restart, or another "
                "CHECKPOINT.DIR, trains again",
                t->last_saved, (long long)t->at.iteration, (long long)t->at.epoch);
        return SR_OK;
    }
    t->at.stopped = false;
    fit_position(t);
    check_kernels(t);
    say_start(t, how);
    say_cost(t);
    say_facts(t);
    if (leads())
        SR_TRY(sr_config_save(t->config, t->config->checkpoint.dir));
    tell(t, SR_TOLD_BEGIN);
    SR_TRY(sr_data_summary_check(t->config, &t->run->train));
    say_epochs(t);
    SR_TRY(sr_run_begin(t->run, t->at.iteration, how == SR_RESUME_CONTINUE));
    SR_TRY(sr_phases_open(t->run, &t->phases));
    SR_TRY(sr_online_probe_open(t->config, t->run->model, &t->probe));
    sr_progress_start(&t->progress, t->run->max_iterations, t->run->step_images);
    t->run->step.hook = t->run->tail.step.hook = (SrReplicaHook){count_outputs, t};
    sr_stop_set(t->options->stop, t->options->stop_arg);
    while (t->at.epoch < t->config->optimizer.num_epochs) {
        SR_TRY(train_epoch(t));
        if (stop_asked(t) && !t->at.finished)
            return interrupted(t);
    }
    return SR_OK;
}

// Also of a run that was interrupted or failed: how far it got.
static void fill_result(Train *t) {
    struct rusage usage;
    SrTrainResult *r = t->result;
    r->iterations = t->at.iteration;
    r->images_per_s = r->seconds > 0 ? (double)r->steps * t->run->step_images / r->seconds : 0;
    r->wait_share = r->seconds > 0 ? fmin(t->waited_s / r->seconds, 1) : 0;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        r->peak_bytes = (size_t)usage.ru_maxrss * 1024;
}

SrStatus sr_train(const SrConfig *config, const SrTrainOptions *options, SrRun **run,
                  SrTrainResult *result) {
    Train t = {.config = config, .options = options, .result = result, .lock = -1};
    SrStatus status;
    *result = (SrTrainResult){0};
    *run = NULL;
    // The folder comes second: a wrong configuration leaves no trace on disk.
    SR_TRY_GOTO(sr_run_open(config, SR_RUN_TRAIN, &t.run));
    *run = t.run;
    SR_TRY_GOTO(open_folder(&t));
    SR_TRY_GOTO(train_all(&t));
done:
    sr_stop_set(NULL, NULL);
    // The run outlives `t`, which the hooks read.
    if (t.run)
        t.run->step.hook = t.run->tail.step.hook = (SrReplicaHook){NULL, NULL};
    if (t.run && !result->already_finished) {
        fill_result(&t);
        if (status == SR_OK || status == SR_ERR_INTERRUPT || sr_comm_size() == 1)
            sr_run_ranks_say_bad(t.run->train.loader);
        sr_data_summary_say_bad(t.phases.split.loader, "test images", "are not judged");
    }
    sr_phases_close(&t.phases);
    sr_metrics_close(&t.lines);
    sr_tensorboard_close(&t.board);
    sr_metrics_close(&t.epochs);
    sr_file_unlock(t.lock);
    return status;
}
