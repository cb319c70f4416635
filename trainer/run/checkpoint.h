// One checkpoint file: everything a run needs to go on and end in the same bits.
//
// safetensors with VISSL's parameter names, "optimizer.<parameter>.<state>" for optimiser state,
// and string metadata: position, resolved configuration, a CRC-32 a tensor and one over the
// metadata itself.  Nothing of a file reaches the model before all of it has been checked.  Which
// file to write or read, and how many to keep, is trainer/run/run_folder.h.
#ifndef SR_TRAINER_RUN_CHECKPOINT_H
#define SR_TRAINER_RUN_CHECKPOINT_H

#include "formats/checkpoint_sums.h"
#include "graph/params.h"
#include "trainer/optim/optim.h"

#define SR_RUN_ID_BYTES 20

// Whose checkpoint it is: drawn when a run begins and kept by all that goes on from it.
typedef struct {
    char id[SR_RUN_ID_BYTES]; // "" in files of programs before there were any
    int64_t started;          // milliseconds since 1970; later than any other run of the folder
} SrRunIdentity;

// Where a run stands.  `where` of the schedules, the sample order and every draw follow from it.
typedef struct {
    SrRunIdentity run;
    int64_t epoch; // in progress, from 0
    int64_t batch; // next batch of that epoch; behind its last one when a test phase is still due
    int64_t iteration; // updates done since the start
    int batch_size;    // images an update, and
    int64_t images;    // images the sample order is drawn of: what `batch` counts by; 0: unknown
    bool stopped;      // written because the run was asked to stop, and of no use once it went on
    char kernels[24];  // the instruction set it was computed with; "": unknown
    double loss_sum;   // of this epoch's steps so far, for its mean
    double loss_min, loss_max;
    // How far the work after an epoch's last batch got, so that a resumed run does not write its lines twice.  0: not
    // begun; 1: the epoch's lines are written; 2: its test phase is done.
    int after_epoch;
    double best;   // of the test phases so far, in the first meter's first value; 0: none
    bool finished; // the last update of the run has been done
} SrPosition;

// What a checkpoint is made of.  optim may be NULL (a bare model).
typedef struct {
    SrParams *params;
    SrOptim *optim;
    const SrYaml *config; // resolved tree
} SrCheckpointParts;

SrStatus sr_checkpoint_save(const char *path, const SrCheckpointParts *parts, const SrPosition *at);

// SR_ERR_IO: damaged (unreadable, cut off, a checksum differs) - an older file may serve.
// SR_ERR_CONFIG: whole, but of another model; the message lists the tensors that differ. In both
// cases parts are untouched.
SrStatus sr_checkpoint_load(const char *path, const SrCheckpointParts *parts, SrPosition *at);

// Every rank's parts become rank 0's.  Collective.
void sr_checkpoint_share(const SrCheckpointParts *parts);

// Position alone, from the checked metadata; the tensors are not read.
SrStatus sr_checkpoint_position(const char *path, SrPosition *at);

// Keys whose values differ between the checkpoint's configuration and `config`, as "KEY: old ->
// new, ...". Only what changes the numbers of a run: logging, evaluation and folders are left out.
// "" if none.
SrStatus sr_checkpoint_changes(const char *path, const SrYaml *config, SrText *out);

// Name of the first parameter or state tensor that holds a NaN or an infinity; NULL if all are
// finite.
const char *sr_params_nonfinite(SrParams *params);

#endif
