// Declares the state of a run that is being trained, and what the files of the training loop share.
#ifndef SR_TRAINER_TRAIN_INTERNAL_H
#define SR_TRAINER_TRAIN_INTERNAL_H

#include "trainer/eval/online_probe.h"
#include "trainer/run/meters/health.h"
#include "trainer/run/meters/metrics.h"
#include "trainer/run/meters/progress.h"
#include "trainer/run/meters/tensorboard.h"
#include "trainer/run/phases.h"
#include "trainer/run/position.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_parts.h"
#include "trainer/train.h"

enum { SR_TRAIN_PATH_BYTES = 4096 };

// Lives as long as the call of sr_train_run.  `run` outlives it and belongs to the caller.
typedef struct {
    const SrConfig *config;
    const SrTrainOptions *options;
    int stage, end; // number of the stage (trainer/config/stages.h), and the first epoch after it
    SrRun *run;
    SrPosition at;
    SrLossFacts facts;
    SrProgress progress;
    SrPhases phases;
    SrOnlineProbe probe;
    const int64_t *labels; // (batch) labels of the current batch, with one replica
    bool whole_epoch;      // this process saw the epoch's first batch
    SrHealth health;
    double lr;               // learning rate of the last step
    SrMetrics lines, epochs; // stdout.json, metrics.json
    SrTensorboard board;
    SrTrainResult *result;
    double waited_s; // part of result->seconds spent waiting for data
    double live_at;  // seconds on the clock at the last live line
    char last_saved[SR_TRAIN_PATH_BYTES];
    int64_t saved_at;           // updates in the newest checkpoint to resume from
    SrStatus untested;          // failure of the last test phase; SR_OK: none
    char untested_reason[1024]; // message of that failure
    int lock;                   // file descriptor of the folder's lock
    int folder;                 // that of CHECKPOINT.DIR, to notice that it was moved; -1: none
} SrTraining;

// True on rank 0, which alone writes files and logs.
bool sr__train_leads(void);

// ---- before the first step (train_start.c)

// Makes and locks CHECKPOINT.DIR, and opens its log.
SrStatus sr__train_open_folder(SrTraining *t);
// Checks on rank 0 that CHECKPOINT.DIR still names the folder that was opened.  SR_ERR_IO: it was
// moved or removed, and nothing may be written under that name any more: it may be another run's.
SrStatus sr__train_check_folder(SrTraining *t);
// Loads parameters and position of the folder's newest checkpoint, or begins a new run; *how says
// which. Opens the files of metrics.  Collective.
SrStatus sr__train_resume(SrTraining *t, SrResume *how);
// Moves the position if batch size or images have changed (sr_position_fit), with a warning.
void sr__train_fit_position(SrTraining *t);
// Warns if this machine's instruction set is not the one that computed the run.
void sr__train_check_kernels(SrTraining *t);

// ---- saving (train_save.c); only rank 0 writes

// Saves a checkpoint.  SR_ERR_RUN: a parameter is not finite, and CHECK_NAN is set; nothing is
// written.
SrStatus sr__train_save(SrTraining *t, SrCheckpointKind kind);
SrStatus sr__train_save_by_iteration(SrTraining *t);
SrStatus sr__train_save_by_epoch(SrTraining *t);
// Saves and returns SR_ERR_INTERRUPT; the message has the command that resumes.
SrStatus sr__train_interrupted(SrTraining *t);
// Saves at the end of a stage unless the position is saved; the next stage continues from there.
SrStatus sr__train_leave_stage(SrTraining *t);
// Saves after a failure that does not concern the parameters (images, disk, memory).  Returns
// `why`; its message also says where the state is, and how to resume.  Collective.
SrStatus sr__train_failed(SrTraining *t, SrStatus why);

// ---- reporting (train_say.c)

void sr__train_say_start(SrTraining *t, SrResume how);
void sr__train_say_epochs(const SrTraining *t);
void sr__train_say_step(SrTraining *t, const SrProgressLine *line);
void sr__train_say_epoch(SrTraining *t, int64_t epoch, double mean, double seconds);
void sr__train_say_meters(SrTraining *t, int64_t epoch);
// Writes a finding about a run (health.h) to the log and to metrics.json.
void sr__train_say_finding(SrTraining *t, int64_t epoch, const char *name, const char *text);

// ---- between epochs (train_evaluate.c)

SrStatus sr__train_test(SrTraining *t, int64_t epoch);
// Runs test phase and probe if they are due after this epoch.  If test images cannot be read,
// training continues with a warning and without the figures.
SrStatus sr__train_evaluate(SrTraining *t, int64_t epoch);
// Returns the failure of the last test phase at the end of training, or SR_OK.
SrStatus sr__train_check_tested(const SrTraining *t);

#endif
