// Opens a trained trunk from an sslrun checkpoint, which holds the configuration too, and
// computes its features of folders of images.  The commands linear, predict, similar and
// duplicates use it.
#ifndef SR_TRAINER_EVAL_CHECKPOINT_MODEL_H
#define SR_TRAINER_EVAL_CHECKPOINT_MODEL_H

#include "trainer/eval/baselines.h"
#include "trainer/eval/extract/feature_names.h"

typedef struct {
    char path[4096];  // of the checkpoint
    SrConfig *config; // the checkpoint's, without images
    SrModel *model;
    int batch, crop;
} SrCheckpointModel;

// path: a checkpoint, or a run folder, of which the newest is taken.  No checkpoint of ours:
// SR_ERR_CONFIG.
SrStatus sr_checkpoint_model_open(const char *path, SrCheckpointModel *out);
// Does so for images of side x side pixels, whatever the training's were.  drawn: the trunk keeps
// the parameters that the run's seed draws, as an untrained one.
SrStatus sr_checkpoint_model_open_at(const char *path, int side, bool drawn,
                                     SrCheckpointModel *out);
void sr_checkpoint_model_close(SrCheckpointModel *m); // a zeroed one is fine

// Both sides' images are those at `data` from now on, with the labels that come with them: train/
// and test/ or a tenth held out, as everywhere.  data is borrowed.
void sr_checkpoint_model_set_data(SrCheckpointModel *m, const char *const *data);

// Computes one row per image at `data` (all below a folder, or a list of paths that ends in
// .txt), and lists the files' names, "image 17" in a set without files.  stages: receives the
// trunk's stages, whose rows are computed.  NULL: `layer` alone, such as "flatten", pooled as a
// stage is.  A line counts the images that cannot be read and are left out.
SrStatus sr_checkpoint_model_features(SrCheckpointModel *m, const char *data, const char *layer,
                                      SrStages *stages, SrMatrix *out, SrStringList *files);

// Returns a checksum of the trunk's numbers: results made from its features fit this trunk alone.
uint32_t sr_checkpoint_model_checksum(const SrCheckpointModel *m);

// The configuration that a checkpoint of `sslrun train` carries; free with sr_config_free.
SrStatus sr_checkpoint_config(const char *path, SrConfig **out);

#endif
