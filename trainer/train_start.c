// Prepares a run for its first step: locks the folder, resumes or begins, loads weights, and fits
// the position to the data.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/own_file.h"
#include "base/ranks/comm.h"
#include "data/load/loader.h"
#include "kernels/conv/conv.h"
#include "kernels/machine.h"
#include "trainer/model/teacher_model.h"
#include "trainer/model/weights_init.h"
#include "trainer/run/run.h"
#include "trainer/run/run_folder.h"
#include "trainer/train_internal.h"

// The log is appended to, whatever happens to the folder's checkpoints.
SrStatus sr__train_open_folder(SrTraining *t) {
    const char *dir = t->config->checkpoint.dir;
    char path[SR_TRAIN_PATH_BYTES];
    if (!sr__train_leads())
        return SR_OK;
    SrStatus status = sr_file_mkdirs(dir);
    if (status == SR_OK)
        status = sr_file_join(path, sizeof path, dir, ".lock");
    if (status == SR_OK)
        status = sr_file_lock(path, &t->lock);
    if (status != SR_OK)
        return sr_fail_prefix(status, "CHECKPOINT.DIR");
    t->folder = sr_file_hold_folder(dir);
    sr_file_remove_orphans(dir);
    SR_TRY(sr_file_join(path, sizeof path, dir, "log.txt"));
    return sr_log_open(path);
}

SrStatus sr__train_check_folder(SrTraining *t) {
    SrStatus status = sr_file_check_folder(t->folder, t->config->checkpoint.dir);
    if (status == SR_OK)
        return SR_OK;
    t->result->folder_lost = true;
    SR_FAIL(status,
            "CHECKPOINT.DIR: %s; training stopped after %lld of %lld updates and wrote nothing "
            "under the old name; to resume from the last checkpoint, put the folder back or name "
            "its new place",
            sr_status_message(), (long long)t->at.iteration, (long long)t->run->max_iterations);
}

// Names are VISSL's.  Both files are appended to, so that a resumed run has all its lines in one
// file.
static SrStatus open_metrics(SrTraining *t) {
    const char *dir = t->config->checkpoint.dir;
    if (!sr__train_leads())
        return SR_OK;
    SR_TRY(sr_metrics_open(&t->lines, dir, "stdout.json"));
    if (!t->config->test_only)
        SR_TRY(sr_tensorboard_open(&t->board, t->config));
    return sr_metrics_open(&t->epochs, dir, "metrics.json");
}

// False for a trunk that passes on raw pixels, which needs no weights.
static bool trunk_has_weights(const SrTraining *t) {
    SrParams *params = sr_model_params(t->run->model);
    for (int i = 0; i < sr_params_count(params); i++)
        if (strncmp(sr_params_at(params, i)->name, "trunk.", 6) == 0)
            return true;
    return false;
}

// Refuses linear probes of an untrained trunk unless asked for: most likely the user forgot the
// key.
static SrStatus check_weights(const SrTraining *t, const char *path) {
    bool frozen = t->run->frozen_trunk && trunk_has_weights(t);
    if (*path || t->options->random || !(frozen || t->config->test_only))
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "no weights for the %s: CHECKPOINT.DIR '%s' holds no checkpoint; set "
            "MODEL.WEIGHTS_INIT.PARAMS_FILE to a file of weights, or use the untrained trunk with "
            "--random",
            frozen ? "frozen trunk" : "model of TEST_ONLY", t->config->checkpoint.dir);
}

// Writes the kernels that the run's numbers depend on, in addition to its configuration.
static void kernels_text(const SrConfig *config, char out[24]) {
    SrMachine machine = sr_machine_of_config(config);
    bool pairs =
        config->model.use_amp && (sr_machine_has_tiles(&machine) || sr_machine_has_pairs(&machine));
    snprintf(out, 24, "%s%s", sr_machine_name(&machine), pairs ? "_bf16" : "");
}

// The run may continue with other kernels, but readers of its figures should know.
void sr__train_check_kernels(SrTraining *t) {
    char now[24];
    kernels_text(t->config, now);
    if (*t->at.kernels && strcmp(t->at.kernels, now) != 0)
        sr_warn("the run was computed with %s so far and continues with %s, so the last bits of "
                "its numbers differ from those of a run on one machine",
                t->at.kernels, now);
    snprintf(t->at.kernels, sizeof t->at.kernels, "%s", now);
}

// Loads PARAMS_FILE and the teacher's weights; a run folder stands for its newest checkpoint.
static SrStatus load_weights(SrTraining *t) {
    char path[SR_TRAIN_PATH_BYTES];
    SrWeightsSource source = sr_weights_source(t->config);
    const char *teacher = sr_model_teacher_file(t->run->model);
    if (*source.path) {
        SR_TRY(sr_folder_weights(source.path, path, sizeof path));
        source.path = path;
        SR_TRY(sr_weights_load(&source, sr_run_parts(t->run).params));
    }
    if (!teacher)
        return SR_OK;
    SrStatus found = sr_folder_weights(teacher, path, sizeof path);
    if (found != SR_OK)
        return sr_fail_prefix(found, "DISTILLATION.TEACHER_MODEL");
    return sr_model_load_teacher(t->run->model, path, t->options->random);
}

// Begins a new run, with the configured weights or as drawn.  Old checkpoints are moved only once
// nothing can fail.
static SrStatus start_fresh(SrTraining *t) {
    t->last_saved[0] = '\0';
    SR_TRY(check_weights(t, t->config->model.params_file));
    SR_TRY(load_weights(t));
    return t->config->test_only ? SR_OK : sr_folder_move_aside(t->config->checkpoint.dir);
}

// A checkpoint of this folder wins over PARAMS_FILE, which describes how the run began.
static SrStatus look_into_folder(SrTraining *t, SrResume *how) {
    SrCheckpointParts parts = sr_run_parts(t->run);
    SrResumeOptions options = {.checkpoint = &t->config->checkpoint,
                               .num_epochs = t->config->optimizer.num_epochs,
                               .restart = t->options->restart && !t->config->test_only,
                               .look_only = t->config->test_only};
    SR_TRY(sr_folder_resume(&options, &parts, &t->at, how, t->last_saved, sizeof t->last_saved));
    if (*how == SR_RESUME_FRESH)
        return start_fresh(t);
    if (!t->config->test_only)
        sr_folder_mend_link(t->config->checkpoint.dir, t->last_saved);
    return SR_OK;
}

// Rank 0 reads and sends the result to the other ranks: they need not see its disk.
SrStatus sr__train_resume(SrTraining *t, SrResume *how) {
    SrCheckpointParts parts = sr_run_parts(t->run);
    SR_TRY(sr_comm_agree(sr__train_leads() ? look_into_folder(t, how) : SR_OK));
    sr_comm_broadcast(how, sizeof *how, 0);
    sr_comm_broadcast(&t->at, sizeof t->at, 0);
    sr_comm_broadcast(t->last_saved, sizeof t->last_saved, 0);
    sr_checkpoint_share(&parts);
    t->result->run = t->at.run;
    return open_metrics(t);
}

// A checkpoint of another batch size or data set counts batches differently.
void sr__train_fit_position(SrTraining *t) {
    const SrRun *run = t->run;
    SrPosition was = t->at;
    int64_t again, images = sr_loader_samples(run->train.loader);
    int loaded = t->config->batch * t->config->replicas;
    SrFit fit = sr_position_fit(&t->at, loaded, images, run->steps_per_epoch, &again);
    if (fit == SR_FIT_BATCH)
        sr_warn("the batch size is %d, but it was %d in the checkpoint; training resumes after the "
                "same images, as update %lld instead of %lld (%lld images are seen twice)",
                loaded, was.batch_size, (long long)t->at.iteration, (long long)was.iteration,
                (long long)again);
    else if (fit == SR_FIT_RESTART && was.iteration > 0)
        sr_warn("an epoch has %lld images, but it had %lld in the checkpoint; training resumes at "
                "the start of epoch %lld, as update %lld instead of %lld",
                (long long)images, (long long)was.images, (long long)t->at.epoch,
                (long long)t->at.iteration, (long long)was.iteration);
}
