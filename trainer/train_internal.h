// What the files of the training loop share: the state of a run that is being trained.
#ifndef SR_TRAINER_TRAIN_INTERNAL_H
#define SR_TRAINER_TRAIN_INTERNAL_H

#include "trainer/eval/online_probe.h"
#include "trainer/run/health.h"
#include "trainer/run/metrics.h"
#include "trainer/run/phases.h"
#include "trainer/run/position.h"
#include "trainer/run/progress.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/tensorboard.h"
#include "trainer/train.h"

enum { SR_TRAIN_PATH_BYTES = 4096 };

// Lives as long as sr_train; `run`, which outlives it, is the caller's.
typedef struct {
    const SrConfig *config;
    const SrTrainOptions *options;
    SrRun *run;
    SrPosition at;
    SrLossFacts facts;
    SrProgress progress;
    SrPhases phases;
    SrOnlineProbe probe;
    const int64_t *labels; // (batch) of the batch in hand, with one replica
    bool whole_epoch;      // this process saw its first batch
    SrHealth health;
    double lr;               // of the last step
    SrMetrics lines, epochs; // stdout.json, metrics.json
    SrTensorboard board;
    SrTrainResult *result;
    double waited_s; // of result->seconds
    double live_at;  // clock of the last live line
    char last_saved[SR_TRAIN_PATH_BYTES];
    int64_t saved_at;           // updates that the newest checkpoint to resume from holds
    SrStatus untested;          // of the last test phase; SR_OK: it was judged, or there was none
    char untested_reason[1024]; // its message
    int lock;                   // on the folder
} SrTraining;

// Rank 0 alone writes files and speaks.
bool sr__train_leads(void);

// ---- before the first step (train_start.c)

// Makes and locks CHECKPOINT.DIR, and opens its log.
SrStatus sr__train_open_folder(SrTraining *t);
// Parameters and position of the folder's newest checkpoint, or of a run that begins; *how says which.  Opens the
// files of metrics.  Collective.
SrStatus sr__train_resume(SrTraining *t, SrResume *how);
// Where the position lies in the data as they are now: batch size and images may have changed.  Warns.
void sr__train_fit_position(SrTraining *t);
// Warns where this machine's kernels are not those that the run was computed with.
void sr__train_check_kernels(SrTraining *t);

// ---- saving (train_save.c); only rank 0 writes

// SR_ERR_RUN, and nothing is written, where a parameter is no number and CHECK_NAN asks for numbers.
SrStatus sr__train_save(SrTraining *t, SrCheckpointKind kind);
SrStatus sr__train_save_by_iteration(SrTraining *t);
SrStatus sr__train_save_by_epoch(SrTraining *t);
// Saves and gives SR_ERR_INTERRUPT, with the command that goes on.
SrStatus sr__train_interrupted(SrTraining *t);
// A failure that has nothing to do with the parameters (images, disk, memory): saves what is not saved yet, and gives
// `why` with its message, where the state is, and the command that resumes.  Collective.
SrStatus sr__train_failed(SrTraining *t, SrStatus why);

// ---- telling (train_say.c)

void sr__train_say_start(SrTraining *t, SrResume how);
void sr__train_say_epochs(const SrTraining *t);
void sr__train_say_step(SrTraining *t, const SrProgressLine *line);
void sr__train_say_epoch(SrTraining *t, int64_t epoch, double mean, double seconds);
void sr__train_say_meters(SrTraining *t, int64_t epoch);
// What is wrong with a run, by name (health.h), to the log and to metrics.json.
void sr__train_say_finding(SrTraining *t, int64_t epoch, const char *name, const char *text);

// ---- between epochs (train_evaluate.c)

SrStatus sr__train_test(SrTraining *t, int64_t epoch);
// Test phase and probe, where one is due after this epoch.  A test phase whose images cannot be read costs its figures,
// with a warning, and training continues.
SrStatus sr__train_evaluate(SrTraining *t, int64_t epoch);
// At the end of training: SR_OK unless the last test phase failed.
SrStatus sr__train_check_tested(const SrTraining *t);

#endif
