// When a run is saved: at an interruption, by updates, by epochs, and the best model.  How a checkpoint is written and which
// of them stay is run_folder.h's.
#include "base/file.h"
#include "trainer/run/run_folder.h"
#include "trainer/train_internal.h"

// Refuses to write parameters that are not numbers: the check of the loss would only see them in
// the next step, after the last good file may have been pruned.  With CHECK_NAN=False they are the
// user's wish.
SrStatus sr__train_save(SrTraining *t, SrCheckpointKind kind) {
    char name[96];
    SrCheckpointParts parts = sr_run_parts(t->run);
    if (!sr__train_leads())
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
SrStatus sr__train_save_by_iteration(SrTraining *t) {
    int64_t every = t->config->checkpoint.checkpoint_iter_frequency;
    return every > 0 && t->at.iteration % every == 0 ? sr__train_save(t, SR_CHECKPOINT_ITERATION)
                                                     : SR_OK;
}

// VISSL's rule: the phases 0, n, 2n, ... and always the last one, under its own name.
SrStatus sr__train_save_by_epoch(SrTraining *t) {
    int64_t done = t->at.epoch - 1; // the epoch just completed
    int every = t->config->checkpoint.checkpoint_frequency;
    if (t->at.finished)
        return sr__train_save(t, SR_CHECKPOINT_FINAL);
    return every > 0 && done % every == 0 ? sr__train_save(t, SR_CHECKPOINT_PHASE)
                                          : sr__train_save_by_iteration(t);
}

// An iteration checkpoint whatever the frequencies say; the message ends in the command to paste.
SrStatus sr__train_interrupted(SrTraining *t) {
    int64_t every = t->config->checkpoint.checkpoint_iter_frequency;
    t->at.stopped = every <= 0 || t->at.iteration % every != 0;
    SR_TRY(sr__train_save(t, SR_CHECKPOINT_ITERATION));
    SR_FAIL(SR_ERR_INTERRUPT, "stopped after %lld of %lld updates and saved %s; to go on: %s",
            (long long)t->at.iteration, (long long)t->run->max_iterations, t->last_saved,
            t->options->again ? t->options->again : "give the same command again");
}
