// Resuming from the checkpoints of a run folder, or making room for a new run.
#ifndef SR_TRAINER_RUN_RESUME_H
#define SR_TRAINER_RUN_RESUME_H

#include "trainer/run/run_folder.h"

typedef enum {
    SR_RESUME_FRESH,    // no checkpoint to resume from: *at is the start of a new run
    SR_RESUME_CONTINUE, // parts and *at are the checkpoint's
    SR_RESUME_FINISHED, // they are the checkpoint's, and the run has done all its epochs
} SrResume;

typedef struct {
    const SrCheckpointConfig *checkpoint;
    int num_epochs; // epochs of the whole run, to tell whether it has finished
    bool restart;   // begin a new run in any case, as with AUTO_RESUME=False
    bool look_only; // TEST_ONLY: OVERWRITE_EXISTING has no effect
} SrResumeOptions;

// Loads the newest whole checkpoint; `path` gets its file.  Logs a warning for each damaged file
// and one line with the keys that differ in the configuration.  Does not change the folder: a new
// run calls sr_folder_move_aside later. SR_ERR_CONFIG: no checkpoint is whole, one cannot be
// opened (it may be the newest), or the checkpoint belongs to another model.
SrStatus sr_folder_resume(const SrResumeOptions *options, const SrCheckpointParts *parts,
                          SrPosition *at, SrResume *out, char *path, size_t path_bytes);
// Moves all checkpoints, and the files next to them, to the first earlier-<N>/ that does not
// exist.  Does nothing without checkpoints.
SrStatus sr_folder_move_aside(const char *dir);

#endif
