// The run folder (CHECKPOINT.DIR): which checkpoint is written under which name, which one a run
// goes on from, and how many stay.  VISSL's names with another ending:
//   model_phase<N>.safetensors, model_iteration<N>.safetensors,
//   model_final_checkpoint_phase<N>.safetensors, and the link checkpoint.safetensors to the newest.
//
// Checkpoints belong to runs (SrRunIdentity).  A run only ever removes its own, and never the one just written.  One
// that begins anew where another run's checkpoints stand first moves them to earlier-<N>/ below the folder.
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
// at->iteration), then moves the link, then removes what KEEP_LAST does not keep and what at->stopped
// marked.  A file system without links, or a file in the link's place, is a warning.  name: receives
// the file's name, NULL allowed.
SrStatus sr_folder_save(const SrCheckpointConfig *config, SrCheckpointKind kind,
                        const SrCheckpointParts *parts, const SrPosition *at, char *name,
                        size_t name_bytes);

// One checkpoint of the folder.
typedef struct {
    SrCheckpointKind kind;
    int64_t number; // of the phase or iteration, as the file's name has it
    bool readable;  // its metadata is whole and in `at`
    SrPosition at;
    char name[96];
} SrFolderEntry;
// All checkpoints: the run that began last first, of one run the furthest first, unreadable ones last;
// free with sr_free.
SrStatus sr_folder_list(const char *dir, SrFolderEntry **out, int *n);
// Path of the newest readable checkpoint, with a warning for each that is not; SR_ERR_CONFIG when
// there is none.
SrStatus sr_folder_newest(const char *dir, char *path, size_t path_bytes);

// The file of weights that a person names: a run folder stands for its newest checkpoint, as above, any
// other path for itself.  A folder without one: SR_ERR_CONFIG.
SrStatus sr_folder_weights(const char *given, char *path, size_t path_bytes);

typedef enum {
    SR_RESUME_FRESH,    // nothing to go on from: *at is the start of a run that has just been drawn
    SR_RESUME_CONTINUE, // parts and *at are the checkpoint's
    SR_RESUME_FINISHED, // likewise, and the run has done all its epochs
} SrResume;

typedef struct {
    const SrCheckpointConfig *checkpoint;
    int num_epochs; // of the whole run, to tell a finished run from one that was given more
    bool restart;   // begin anew whatever is there, as AUTO_RESUME=False does
    bool look_only; // TEST_ONLY: OVERWRITE_EXISTING has no meaning
} SrResumeOptions;

// Loads the newest checkpoint that is whole, with a warning for each damaged one, and says in one line
// what of the configuration differs.  SR_ERR_CONFIG, with every file as it was: none of them is whole,
// one cannot even be opened (it may be the newest), or the checkpoint is of another model.  path:
// receives the file used.
// Nothing of the folder is changed: a run that begins anew calls sr_folder_move_aside once it can.
SrStatus sr_folder_resume(const SrResumeOptions *options, const SrCheckpointParts *parts,
                          SrPosition *at, SrResume *out, char *path, size_t path_bytes);
// Points the link at `path`, the folder's newest whole checkpoint, where a save that was cut off has left it elsewhere
// or nowhere.  A failure is a warning.
void sr_folder_mend_link(const char *dir, const char *path);
// All checkpoints with what stands beside them to the first earlier-<N>/ that is not there yet; without any, nothing.
SrStatus sr_folder_move_aside(const char *dir);

#endif
