// The training loop: epochs of steps, with log lines, metrics, checkpoints, resume, and
// a stop on request.
//
// Files in CHECKPOINT.DIR: log.txt, stdout.json (progress), metrics.json (epochs),
// train_config.yaml, checkpoints.
#ifndef SR_TRAINER_TRAIN_H
#define SR_TRAINER_TRAIN_H

#include "trainer/run/run.h"

// What may be told of a run while it trains, for pages about it.
typedef enum {
    SR_TOLD_BEGIN, // its folder is there, nothing has been trained yet
    SR_TOLD_EPOCH, // an epoch's lines are written
} SrTold;

typedef struct {
    // Asked after every step, and every batch of a test phase or probe: non-zero saves the state and ends with
    // SR_ERR_INTERRUPT.  Never before the first step, when there is nothing to save.  NULL: never.
    int (*stop)(void *arg);
    void *stop_arg;
    bool random;       // a frozen trunk may be as drawn; else its weights must come from somewhere
    SrText *test;      // TEST_ONLY: receives the meters as one JSON line; may be NULL
    const char *again; // the command line that continues this run, for the message; may be NULL
    // What fails in it is its own to tell; it must not change anything of the run.  NULL: nobody listens.
    void (*told)(void *arg, SrTold what);
    void *told_arg;
    bool restart; // begin anew whatever the folder holds (run_folder.h)
} SrTrainOptions;

typedef struct {
    bool already_finished; // nothing was done: the folder holds a finished run
    SrRunIdentity run;
    int64_t iterations; // updates in all
    int64_t steps;      // of them by this process
    int epochs;
    double first_loss; // mean of the first epoch this process completed
    double last_loss;  // and of the last
    double seconds;    // of training in this process
    double images_per_s;
    double wait_share; // of that time spent waiting for data
    size_t peak_bytes; // largest resident size of the process
} SrTrainResult;

// Trains from where the folder stands.  *run stays open for evaluation and is the caller's to close
// (NULL on failure to set up; on SR_ERR_INTERRUPT and SR_ERR_RUN too the caller closes it).
SrStatus sr_train(const SrConfig *config, const SrTrainOptions *options, SrRun **run,
                  SrTrainResult *result);

#endif
