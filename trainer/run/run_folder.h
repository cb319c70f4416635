// The run folder (CHECKPOINT.DIR): which checkpoint is written under which name, which one a run
// goes on from, and how many stay.  VISSL's names with another ending (spec 9.6):
//   model_phase<N>.safetensors, model_iteration<N>.safetensors,
//   model_final_checkpoint_phase<N>.safetensors, and the link checkpoint.safetensors to the newest.
#ifndef SR_TRAINER_RUN_RUN_FOLDER_H
#define SR_TRAINER_RUN_RUN_FOLDER_H

#include "trainer/config/config.h"
#include "trainer/run/checkpoint.h"

typedef enum {
    SR_CHECKPOINT_ITERATION,
    SR_CHECKPOINT_PHASE,
    SR_CHECKPOINT_FINAL,
    SR_CHECKPOINT_BEST
} SrCheckpointKind;

// model_best.safetensors (SR_CHECKPOINT_BEST) stands beside these: a run never goes on from it, nothing
// removes it, and the link does not point to it.
// Saves under the kind's name (the phase is at->epoch - 1, the epoch just done; the iteration is
// at->iteration), moves the link and removes what KEEP_LAST does not keep.  name: receives the
// file's name, NULL allowed.
SrStatus sr_folder_save(const SrCheckpointConfig *config, SrCheckpointKind kind,
                        const SrCheckpointParts *parts, const SrPosition *at, char *name,
                        size_t name_bytes);

// One checkpoint of the folder.
typedef struct {
    SrCheckpointKind kind;
    int64_t number;    // in its name
    int64_t iteration; // updates it has seen, from its metadata; -1: unreadable
    bool finished;
    char name[96];
} SrFolderEntry;
// All checkpoints, newest (most updates) first, unreadable ones last; free with sr_free.
SrStatus sr_folder_list(const char *dir, SrFolderEntry **out, int *n);
// Path of the newest readable checkpoint; SR_ERR_CONFIG when there is none.
SrStatus sr_folder_newest(const char *dir, char *path, size_t path_bytes);

typedef enum {
    SR_RESUME_FRESH,    // nothing to go on from
    SR_RESUME_CONTINUE, // parts and *at are the checkpoint's
    SR_RESUME_FINISHED, // the run has done all its updates
} SrResume;
// Loads the newest checkpoint that is whole, with a warning for each damaged one on the way, and
// says in one line what of the configuration differs.  A whole checkpoint of another model is an
// error.  max_iterations: updates of the whole run, to tell a finished run from one that was given
// more epochs.  path: receives the file used.
SrStatus sr_folder_resume(const SrCheckpointConfig *config, const SrCheckpointParts *parts,
                          int64_t max_iterations, SrPosition *at, SrResume *out, char *path,
                          size_t path_bytes);

#endif
