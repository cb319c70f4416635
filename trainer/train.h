// Trains a model: epochs of steps, with log lines, metrics, checkpoints, resume, and a stop on
// request.
//
// Files in CHECKPOINT.DIR: log.txt, stdout.json (progress), metrics.json (epochs),
// train_config.yaml, checkpoints.
#ifndef SR_TRAINER_TRAIN_H
#define SR_TRAINER_TRAIN_H

#include "sslrun.h"
#include "trainer/run/run_parts.h"

// Events of a run that a caller may hear of, for pages about it.
typedef enum {
    SR_TOLD_BEGIN, // the run folder exists, nothing has been trained yet
    SR_TOLD_EPOCH, // an epoch's lines are written
} SrTold;

typedef struct {
    // Called before the first step, after every step, and after every batch of a test phase or
    // probe.  Non-zero: the run saves its state and ends with SR_ERR_INTERRUPT.  NULL: the run
    // never stops early
    int (*stop)(void *arg);
    void *stop_arg;
    // Called after every step on rank 0, before `stop`.  NULL: not called
    void (*stepped)(void *arg, const SrTrainStep *step);
    void *stepped_arg;
    bool random;       // a frozen trunk may stay as drawn; false: it needs weights
    SrText *test;      // TEST_ONLY: gets the meters as one JSON line.  NULL: not wanted
    const char *again; // command line that resumes this run, for messages.  NULL: none
    // Called at each event.  It must not change the run, and reports its own failures.  NULL: not
    // called
    void (*told)(void *arg, SrTold what);
    void *told_arg;
    bool restart; // begin a new run in any case (SrResumeOptions)
} SrTrainOptions;

typedef struct {
    bool already_finished; // nothing was done: the folder holds a finished run
    SrRunIdentity run;
    int64_t iterations; // updates of the whole run
    int64_t steps;      // updates by this process
    int epochs;
    double first_loss; // mean of the first epoch that this process completed
    double last_loss;  // mean of the last epoch
    double seconds;    // training time of this process
    double images_per_s;
    double wait_share; // share of that time spent waiting for data, 0 to 1
    size_t peak_bytes; // largest resident size of the process
    bool folder_lost;  // CHECKPOINT.DIR was moved or removed: its name may be another run's now
} SrTrainResult;

// Writes the command of this start, this version and the machine into the log that the run will
// open; log.txt holds the lines of all starts.
void sr_train_heading(const char *command);
// Trains from the run folder's newest checkpoint, or from the start.  *run stays open for
// evaluation; the caller closes it, also after SR_ERR_INTERRUPT and SR_ERR_RUN.  *run is NULL if
// building it failed.
SrStatus sr_train_run(const SrConfig *config, const SrTrainOptions *options, SrRun **run,
                      SrTrainResult *result);

#endif
