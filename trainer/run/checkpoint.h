// Saves and loads one checkpoint file, which holds all that a run needs to resume with the same
// bits.
//
// The file is a safetensors file with VISSL's parameter names and "optimizer.<parameter>.<state>"
// for optimiser state.  Metadata holds the position, the resolved configuration, a CRC-32 per
// tensor and one over the metadata.  A whole file is checked before any of it is copied to the
// model. trainer/run/run_folder.h decides which file to write or read, and how many to keep.
#ifndef SR_TRAINER_RUN_CHECKPOINT_H
#define SR_TRAINER_RUN_CHECKPOINT_H

#include "formats/weights/checkpoint_sums.h"
#include "graph/ir/params.h"
#include "trainer/optim/optim.h"

#define SR_RUN_ID_BYTES 20

// Identity of the run that a checkpoint belongs to: drawn when a run begins, kept when it resumes.
typedef struct {
    char id[SR_RUN_ID_BYTES]; // "": an old program wrote the file
    int64_t started;          // milliseconds since 1970; later than all older runs of the folder
} SrRunIdentity;

// Position of a run.  Schedules, the sample order and every random draw follow from it.
typedef struct {
    SrRunIdentity run;
    int64_t epoch; // current epoch, from 0
    // Next batch of that epoch; the number of batches if only the work after the last one is left
    int64_t batch;
    int64_t iteration; // updates done since the start
    int batch_size;    // images per update
    int64_t images;    // images in the sample order.  0: unknown, as is batch_size
    bool stopped;      // written because the run was asked to stop; removed once the run went on
    char kernels[24];  // instruction set that computed it.  "": unknown
    double loss_sum;   // sum over the epoch's steps so far
    double loss_min, loss_max;
    // Progress of the work after an epoch's last batch, so that a resumed run writes no line twice.
    // 0: not begun.  1: the epoch's lines are written.  2: its test phase is done.
    int after_epoch;
    double best;   // best first value of the first meter over the test phases.  0: none
    bool finished; // the last update of the run is done
} SrPosition;

// Parts of a run that a checkpoint holds; all borrowed.
typedef struct {
    SrParams *params;
    SrOptim *optim;       // NULL: the model alone
    const SrYaml *config; // resolved tree
} SrCheckpointParts;

SrStatus sr_checkpoint_save(const char *path, const SrCheckpointParts *parts, const SrPosition *at);

// Loads a checkpoint into the parts and *at.  On an error the parts are untouched.
// SR_ERR_IO: the file is damaged (unreadable, cut off, or a checksum differs).
// SR_ERR_CONFIG: the file belongs to another model; the message lists tensors that differ.
SrStatus sr_checkpoint_load(const char *path, const SrCheckpointParts *parts, SrPosition *at);

// Copies rank 0's parts to all ranks.  Collective.
void sr_checkpoint_share(const SrCheckpointParts *parts);

// Reads the position from the metadata, which is checked; tensors are not read.
SrStatus sr_checkpoint_position(const char *path, SrPosition *at);

// Adds the keys whose values differ between the checkpoint's configuration and `config`, as
// "KEY: old -> new, ...".  Keys of logging, evaluation and folders are left out: they do not change
// the numbers of a run.  Adds nothing if no key differs.
SrStatus sr_checkpoint_changes(const char *path, const SrYaml *config, SrText *out);

// Returns the name of the first parameter or state tensor that holds a NaN or an infinity.  NULL:
// all are finite.
const char *sr_params_nonfinite(SrParams *params);

#endif
