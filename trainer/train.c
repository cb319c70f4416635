// Runs the training loop: epochs of steps, and the work between them in its order.
// trainer/run/run.c builds the run and trainer/run/step.c does a step; train_start.c,
// train_save.c, train_say.c and train_evaluate.c hold the other parts.
#include "trainer/train.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine_text.h"
#include "base/own_file.h"
#include "base/parallel.h"
#include "base/ranks/comm.h"
#include "base/stop.h"
#include "base/version.h"
#include "kernels/machine.h"
#include "trainer/config/config.h"
#include "trainer/config/derived_config.h"
#include "trainer/config/stages.h"
#include "trainer/data/data_summary.h"
#include "trainer/run/epoch_pass.h"
#include "trainer/run/ranks/ranks_same.h"
#include "trainer/run/ranks/run_ranks.h"
#include "trainer/run/resume.h"
#include "trainer/run/run.h"
#include "trainer/run/run_rates.h"
#include "trainer/train_internal.h"
#include "trainer/train_stages.h"

void sr_train_heading(const char *command) {
    char machine[256];
    sr_log_keep();
    sr_log_file("==== %s", command);
    sr_log_file("sslrun " SR_VERSION " on %s; kernels %s, %d threads",
                sr_machine_text(machine, sizeof machine), sr_machine_name(sr_machine_default()),
                sr_parallel_threads());
}

bool sr__train_leads(void) { return sr_comm_rank() == 0; }

// Counts a loss in the position, so that a resumed epoch reports the mean of all its steps.
static void count_loss(SrPosition *at, double loss) {
    bool first = at->batch == 0;
    at->loss_sum = first ? loss : at->loss_sum + loss;
    at->loss_min = first ? loss : fmin(at->loss_min, loss);
    at->loss_max = first ? loss : fmax(at->loss_max, loss);
}

// Updates the training meters, while the outputs of this replica are in the plan.
static void count_outputs(void *arg, int replica) {
    SrTraining *t = arg;
    const SrReplicas *several = t->run->replicas;
    sr_phases_count(&t->phases, t->run, t->at.batch, replica,
                    several ? sr_replicas_labels(several, replica) : t->labels);
}

static void tell_step(const SrTraining *t, const SrProgressLine *line, double seconds) {
    if (!sr__train_leads() || !t->options->stepped)
        return;
    SrTrainStep step = {.step = line->iteration + 1,
                        .total_steps = t->run->max_iterations,
                        .epoch = line->epoch,
                        .loss = line->loss,
                        .lr = line->lr,
                        .seconds = seconds};
    t->options->stepped(t->options->stepped_arg, &step);
}

// Makes one update with the loaded batch, moves the position on, and writes all lines and
// checkpoints that are due.  If the step fails, the message adds the checkpoint to resume from.
static SrStatus one_step(SrTraining *t, double began, double wait_s) {
    SrRun *run = t->run;
    SrStepArgs args = {.iteration = t->at.iteration, .epoch = (int)t->at.epoch};
    double loss = 0;
    sr_run_rates(run, t->at.iteration, &args.lr, &args.lr_head);
    t->lr = args.lr;
    SrStatus status = sr_step_run(sr_run_step_at(run, t->at.batch), &args, &loss);
    if (status == SR_ERR_RUN)
        sr__train_say_finding(t, t->at.epoch, "not_finite", sr_status_message());
    if (status != SR_OK)
        SR_FAIL(status, "%s; the last good checkpoint is %s", sr_status_message(),
                *t->last_saved ? t->last_saved : "(none yet)");
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
    t->at.after_epoch = 0;
    sr__train_say_step(t, &line);
    sr_tensorboard_params(&t->board, line.iteration, sr_model_params(run->model));
    tell_step(t, &line, seconds);
    return SR_OK;
}

static void tell(const SrTraining *t, SrTold what) {
    if (sr__train_leads() && t->options->told)
        t->options->told(t->options->told_arg, what);
}

// Writes the lines of an epoch, unless the run resumed after they were written.
static void say_epoch(SrTraining *t, int64_t epoch, double mean, double seconds) {
    if (t->result->epochs++ == 0)
        t->result->first_loss = mean;
    t->result->last_loss = mean;
    if (t->at.after_epoch > 0)
        return;
    sr__train_say_epoch(t, epoch, mean, seconds);
    sr__train_say_meters(t, epoch);
    t->at.after_epoch = 1;
}

// Ends an epoch after its last batch: the position becomes the start of the next epoch.  A run
// that stops or fails during its evaluation is saved at the epoch's last batch, and comes here
// again when it resumes.
static SrStatus end_epoch(SrTraining *t, double began) {
    SrPosition last = t->at;
    int64_t epoch = t->at.epoch;
    double mean = t->at.loss_sum / (double)SR_MAX(t->at.batch, 1);
    t->at.epoch++;
    t->at.batch = 0;
    t->at.finished = t->at.epoch >= t->config->optimizer.num_epochs;
    say_epoch(t, epoch, mean, sr_clock() - began);
    SrStatus status = sr__train_evaluate(t, epoch);
    if (status != SR_OK) {
        last.after_epoch = t->at.after_epoch;
        last.best = t->at.best;
        t->at = last;
        return status == SR_ERR_INTERRUPT ? sr__train_interrupted(t) : sr__train_failed(t, status);
    }
    SR_TRY(sr__train_check_folder(t));
    tell(t, SR_TOLD_EPOCH);
    t->at.after_epoch = 0;
    return sr__train_save_by_epoch(t);
}

// Asks between steps only: a step is either complete and saved, or not begun.  All ranks stop
// after the same step, whichever rank was asked.
static bool stop_asked(const SrTraining *t) {
    return t->options->stop && sr_comm_max(t->options->stop(t->options->stop_arg)) > 0;
}

// Starts an epoch.  A checkpoint within the epoch holds the results, so a resumed run does not
// repeat it.
static SrStatus start_epoch(SrTraining *t) {
    SrRun *run = t->run;
    const SrTrainGraph *g = &run->graph;
    SrEpoch hook = sr_run_epoch(run, t->at.iteration, (int)t->at.epoch);
    if (g->loss_kind->before_epoch && t->at.batch == 0)
        SR_TRY(g->loss_kind->before_epoch(g->loss_state, &hook));
    return sr_run_start_epoch(run, t->at.epoch, t->at.batch);
}

// Loads a batch.  Collective: all ranks fail if one does, so that rank 0 can save; the message
// names the rank.
static SrStatus load(SrTraining *t, bool *end, double *wait_s) {
    SrStatus status = sr_run_load(t->run, t->at.batch, end, &t->labels, wait_s);
    if (status != SR_OK && sr_comm_size() > 1)
        status =
            sr_fail_prefix(status, "rank %d on %s", sr_comm_rank(), sr_comm_host(sr_comm_rank()));
    return sr_comm_agree(status);
}

// Trains an epoch from the position's batch on.  The loader needs only that number to resume:
// order and draws follow from (seed, epoch, sample).
static SrStatus train_epoch(SrTraining *t) {
    SrRun *run = t->run;
    double epoch_began = sr_clock();
    SrStatus status = start_epoch(t);
    if (status != SR_OK) // one rank may have failed alone, and cannot save together with the others
        return sr_comm_size() == 1 ? sr__train_failed(t, status) : status;
    t->whole_epoch = t->at.batch == 0;
    if (t->phases.train)
        sr_meter_list_reset(t->phases.train);
    for (;;) {
        bool end;
        double wait_s, began = sr_clock();
        status = load(t, &end, &wait_s);
        if (status != SR_OK)
            return sr__train_failed(t, status);
        if (end)
            return end_epoch(t, epoch_began);
        SR_TRY(one_step(t, began, wait_s));
        // end_epoch saves after the last step.
        if (t->at.batch == run->steps_per_epoch)
            continue;
        SR_TRY(sr__train_save_by_iteration(t));
        if (stop_asked(t))
            return sr__train_interrupted(t);
    }
}

// Runs one test phase (TEST_ONLY) with the weights of the newest checkpoint or of PARAMS_FILE.
static SrStatus test_alone(SrTraining *t) {
    SR_TRY(sr_phases_open(t->run, &t->phases));
    if (!t->phases.test)
        SR_FAIL(SR_ERR_CONFIG, "TEST_ONLY needs TEST_MODEL and test images: set "
                               "DATA.TEST.DATA_PATHS");
    return sr__train_test(t, t->at.epoch);
}

// Trains all epochs.  Everything that can be checked or logged before the first step comes before
// it.
static SrStatus train_all(SrTraining *t) {
    SrResume how;
    SR_TRY(sr__train_resume(t, &how));
    if (t->config->test_only)
        return test_alone(t);
    // Scripts that restart until success rely on the exit code 0, which VISSL gives here too.
    if (how == SR_RESUME_FINISHED) {
        t->result->already_finished = true;
        t->result->iterations = t->at.iteration;
        sr_info("%s: training has finished (%lld updates, %lld epochs); use --restart or another "
                "CHECKPOINT.DIR to train again",
                t->last_saved, (long long)t->at.iteration, (long long)t->at.epoch);
        // An interrupted run with fewer epochs now has finished: pages read that from the
        // checkpoint.
        if (t->at.finished || !sr__train_leads())
            return SR_OK;
        return sr_config_save(t->config, t->config->checkpoint.dir);
    }
    t->at.stopped = t->at.finished = false;
    sr__train_fit_position(t);
    t->saved_at = t->at.iteration;
    if (t->at.epoch >= t->end) // the stage is over
        return SR_OK;
    sr__train_check_kernels(t);
    sr__train_say_start(t, how);
    if (sr__train_leads())
        SR_TRY(sr_config_save(t->config, t->config->checkpoint.dir));
    if (t->result->steps == 0)
        tell(t, SR_TOLD_BEGIN);
    SR_TRY(sr_data_summary_check(t->config, &t->run->train));
    sr__train_say_epochs(t);
    SR_TRY(sr_run_begin(t->run, t->at.iteration, how == SR_RESUME_CONTINUE));
    SR_TRY(sr_phases_open(t->run, &t->phases));
    SR_TRY(sr_online_probe_open(t->config, t->run->model, &t->probe));
    sr_progress_start(&t->progress, t->run->max_iterations, t->run->step_images);
    SR_TRY(sr_train_later_steps(t->config, t->stage,
                                (double)t->run->max_iterations / t->config->optimizer.num_epochs,
                                &t->progress.later_steps));
    t->run->step.hook = t->run->tail.step.hook = (SrReplicaHook){count_outputs, t};
    sr_stop_set(t->options->stop, t->options->stop_arg);
    // Any rank may be asked to stop as soon as rank 0 has written the line of the first step.
    if (t->result->steps == 0 && stop_asked(t))
        return sr__train_interrupted(t);
    while (t->at.epoch < t->end) {
        SR_TRY(train_epoch(t));
        if (stop_asked(t) && !t->at.finished)
            return sr__train_interrupted(t);
    }
    if (!t->at.finished)
        SR_TRY(sr__train_leave_stage(t));
    return sr__train_check_tested(t);
}

// Fills the result, also for a run that was interrupted or failed.
static void fill_result(SrTraining *t) {
    struct rusage usage;
    SrTrainResult *r = t->result;
    r->iterations = t->at.iteration;
    r->images_per_s = r->seconds > 0 ? (double)r->steps * t->run->step_images / r->seconds : 0;
    r->wait_share = r->seconds > 0 ? fmin(t->waited_s / r->seconds, 1) : 0;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        r->peak_bytes = (size_t)usage.ru_maxrss * 1024;
}

// Trains up to epoch `end` from the folder's newest checkpoint, or from the start.  *over: the
// whole run is.
static SrStatus train_until(const SrConfig *config, const SrTrainOptions *options, int stage,
                            int end, SrRun **run, SrTrainResult *result, bool *over) {
    SrTraining t = {.config = config,
                    .options = options,
                    .stage = stage,
                    .end = end,
                    .result = result,
                    .lock = -1,
                    .folder = -1};
    SrStatus status;
    *run = NULL;
    // The folder comes after this check: a wrong configuration leaves no trace on disk.
    SR_TRY_GOTO(sr_ranks_same_start(config));
    SR_TRY_GOTO(sr_run_open(config, SR_RUN_TRAIN, &t.run));
    *run = t.run;
    SR_TRY_GOTO(sr_ranks_same_data(&t.run->train));
    SR_TRY_GOTO(sr__train_open_folder(&t));
    SR_TRY_GOTO(train_all(&t));
done:
    sr_stop_set(NULL, NULL);
    // The run outlives `t`, which the hooks read.
    if (t.run)
        t.run->step.hook = t.run->tail.step.hook = (SrReplicaHook){NULL, NULL};
    if (t.run && !result->already_finished) {
        fill_result(&t);
        sr_run_ranks_say_sums(t.run);
        sr_data_summary_say_bad(
            &(SrBadImages){t.run->train.loader, false, "images", "were replaced"}, status);
        sr_data_summary_say_bad(
            &(SrBadImages){t.phases.split.loader, true, "test images", "are not evaluated"},
            status);
    }
    sr_phases_close(&t.phases);
    sr_online_probe_close(&t.probe);
    sr_metrics_close(&t.lines);
    sr_tensorboard_close(&t.board);
    sr_metrics_close(&t.epochs);
    sr_file_unlock(t.folder);
    sr_file_unlock(t.lock);
    *over = result->already_finished || t.at.finished || config->test_only;
    return status;
}

// Trains stage k with its own configuration, which the run then owns.  continues: a stage came
// before, and left the checkpoint that this one begins from.
static SrStatus train_stage(const SrConfig *config, const SrTrainOptions *options, int k,
                            bool continues, SrRun **run, SrTrainResult *result, bool *over) {
    SrConfig *stage;
    SrTrainOptions again = *options;
    SR_TRY(sr_config_stage(config, k, &stage));
    if (continues) {
        again.restart = false;
        stage->checkpoint.auto_resume = true;
        stage->checkpoint.overwrite_existing = false;
    }
    SrStatus status = train_until(stage, &again, k, sr_stage_end(config, k), run, result, over);
    if (*run)
        (*run)->stage = stage;
    else
        sr_config_free(stage);
    return status;
}

SrStatus sr_train_run(const SrConfig *config, const SrTrainOptions *options, SrRun **run,
                      SrTrainResult *result) {
    int n = sr_stages_count(config);
    bool over = false;
    *result = (SrTrainResult){0};
    *run = NULL;
    if (n == 1)
        return train_until(config, options, 0, config->optimizer.num_epochs, run, result, &over);
    SR_TRY(sr_train_check_stages(config, NULL, NULL));
    for (int k = 0; k < n && !over; k++) {
        if (sr_stage_end(config, k) == 0) // too short for an epoch
            continue;
        bool continues = *run != NULL;
        sr_run_close(*run);
        SR_TRY(train_stage(config, options, k, continues, run, result, &over));
    }
    return SR_OK;
}
