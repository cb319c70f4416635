// Manages the checkpoints of a run folder (CHECKPOINT.DIR): their names, which one a run resumes
// from, and how many stay.  Names are VISSL's with another ending:
//   model_phase<N>.safetensors, model_iteration<N>.safetensors,
//   model_final_checkpoint_phase<N>.safetensors, and the link checkpoint.safetensors to the newest.
//
// Checkpoints belong to runs (SrRunIdentity).  A run removes only its own, and never the one that
// was just written.  A new run first moves another run's checkpoints to earlier-<N>/ below the
// folder.
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

// Saves a checkpoint, then moves the link, then removes checkpoints beyond KEEP_LAST and those
// that were written for a stop.  The phase in the name is at->epoch - 1, the iteration is
// at->iteration.  name gets the file's name; NULL: not wanted.  If the link cannot be made, a
// warning is logged.
//
// model_best.safetensors (SR_CHECKPOINT_BEST) is separate: no run resumes from it, nothing
// removes it, and the link never points to it.
SrStatus sr_folder_save(const SrCheckpointConfig *config, SrCheckpointKind kind,
                        const SrCheckpointParts *parts, const SrPosition *at, char *name,
                        size_t name_bytes);

// Checkpoint of a folder.
typedef struct {
    SrCheckpointKind kind;
    int64_t number; // phase or iteration in the file's name
    bool readable;  // the metadata is whole, and `at` holds its position
    SrPosition at;
    char name[96];
} SrFolderEntry;
// Lists all checkpoints; free with sr_free.  The run that began last comes first, within a run the
// furthest checkpoint; unreadable ones come last.
SrStatus sr_folder_list(const char *dir, SrFolderEntry **out, int *n);
// Gets the path of the newest readable checkpoint; logs a warning for each unreadable one.
// SR_ERR_CONFIG: there is none.
SrStatus sr_folder_newest(const char *dir, char *path, size_t path_bytes);

// Gets the file of weights that a user means: a run folder stands for its newest checkpoint, any
// other path for itself.  SR_ERR_CONFIG: a folder without a checkpoint.
SrStatus sr_folder_weights(const char *given, char *path, size_t path_bytes);

// Points the link at `path`, the folder's newest whole checkpoint: a save that was cut off may
// have left it elsewhere.  A failure is a warning.
void sr_folder_mend_link(const char *dir, const char *path);

#endif
