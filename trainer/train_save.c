// Decides when a run is saved: on an interruption, by updates, by epochs, and the best model.
// trainer/run/run_folder.h writes the checkpoints and decides which stay.
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "trainer/run/run.h"
#include "trainer/run/run_folder.h"
#include "trainer/train_internal.h"

// Refuses to save parameters that are not finite: the loss would show them only in the next step,
// when the last good file may have been pruned.  CHECK_NAN=False allows them.
SrStatus sr__train_save(SrTraining *t, SrCheckpointKind kind) {
    char name[96];
    SrCheckpointParts parts = sr_run_parts(t->run);
    int64_t before = t->saved_at;
    if (kind != SR_CHECKPOINT_BEST)
        t->saved_at = t->at.iteration;
    if (!sr__train_leads())
        return SR_OK;
    SR_TRY(sr__train_check_folder(t));
    const char *bad = t->config->check_nan ? sr_params_nonfinite(parts.params) : NULL;
    if (bad) {
        SrStatus status =
            sr_fail(SR_ERR_RUN, "after iteration %lld '%s' holds a NaN or an infinity",
                    (long long)t->at.iteration - 1, bad);
        sr__train_say_finding(t, t->at.epoch, "not_finite", sr_status_message());
        SR_FAIL(status,
                "%s; lower the learning rate, or check the images; nothing was saved, the last "
                "good checkpoint is %s",
                sr_status_message(), *t->last_saved ? t->last_saved : "(none yet)");
    }
    SrStatus status =
        sr_folder_save(&t->config->checkpoint, kind, &parts, &t->at, name, sizeof name);
    sr_mem_trim(); // names and metadata of the folder's checkpoints
    if (status != SR_OK) {
        t->saved_at = before;
        SR_TRY(sr__train_check_folder(t)); // it may have gone while the file was written
        return status;
    }
    return sr_file_join(t->last_saved, sizeof t->last_saved, t->config->checkpoint.dir, name);
}

// Saves after every n-th update of the whole run (CHECKPOINT_ITER_FREQUENCY).
SrStatus sr__train_save_by_iteration(SrTraining *t) {
    int64_t every = t->config->checkpoint.checkpoint_iter_frequency;
    return every > 0 && t->at.iteration % every == 0 ? sr__train_save(t, SR_CHECKPOINT_ITERATION)
                                                     : SR_OK;
}

// Saves after phases 0, n, 2n, ... and after the last one, under its own name: VISSL's rule.
SrStatus sr__train_save_by_epoch(SrTraining *t) {
    int64_t done = t->at.epoch - 1; // the epoch just completed
    int every = t->config->checkpoint.checkpoint_frequency;
    if (t->at.finished)
        return sr__train_save(t, SR_CHECKPOINT_FINAL);
    return every > 0 && done % every == 0 ? sr__train_save(t, SR_CHECKPOINT_PHASE)
                                          : sr__train_save_by_iteration(t);
}

SrStatus sr__train_leave_stage(SrTraining *t) {
    bool saved = t->at.iteration == t->saved_at;
    t->at.stopped = !saved;
    return saved ? SR_OK : sr_comm_agree(sr__train_save(t, SR_CHECKPOINT_ITERATION));
}

static const char *resume_command(const SrTraining *t) {
    return t->options->again ? t->options->again : "give the same command again";
}

// Writes an iteration checkpoint in any case; the message ends in the command to paste.
SrStatus sr__train_interrupted(SrTraining *t) {
    int64_t every = t->config->checkpoint.checkpoint_iter_frequency;
    t->at.stopped = every <= 0 || t->at.iteration % every != 0;
    SR_TRY(sr__train_save(t, SR_CHECKPOINT_ITERATION));
    SR_FAIL(SR_ERR_INTERRUPT, "stopped after %lld of %lld updates and saved %s; to resume: %s",
            (long long)t->at.iteration, (long long)t->run->max_iterations, t->last_saved,
            resume_command(t));
}

// Saves first: a run that fails between two checkpoints must not lose the updates since the last
// one.
SrStatus sr__train_failed(SrTraining *t, SrStatus why) {
    char cause[1024];
    if (why == SR_ERR_INTERRUPT || (t->at.iteration == t->saved_at && !*t->last_saved))
        return why;
    snprintf(cause, sizeof cause, "%s", sr_status_message());
    bool saved = t->at.iteration == t->saved_at;
    t->at.stopped = true;
    SrStatus status = saved ? SR_OK : sr_comm_agree(sr__train_save(t, SR_CHECKPOINT_ITERATION));
    if (status != SR_OK) {
        char reason[1024];
        snprintf(reason, sizeof reason, "%s", sr_status_message());
        SR_FAIL(why, "%s; saving the state failed too: %s; the last good checkpoint is %s", cause,
                reason, *t->last_saved ? t->last_saved : "(none yet)");
    }
    SR_FAIL(why, "%s; the state after %lld of %lld updates %s saved in %s; to resume: %s", cause,
            (long long)t->at.iteration, (long long)t->run->max_iterations, saved ? "was" : "is",
            t->last_saved, resume_command(t));
}
