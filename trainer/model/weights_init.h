// Loads initial weights: MODEL.WEIGHTS_INIT.  Reads every format of formats/weights/weights.h.
//
// Tensor names are VISSL's, changed by REMOVE_PREFIX and APPEND_PREFIX.  If neither is set, other
// writers' names of a trunk are recognised (formats/names/naming.h).  The log says what became of
// each tensor, in VISSL's words.  Unlike VISSL, loading fails if nothing of the trunk was found.
#ifndef SR_TRAINER_MODEL_WEIGHTS_INIT_H
#define SR_TRAINER_MODEL_WEIGHTS_INIT_H

#include "graph/ir/params.h"
#include "trainer/config/config.h"

// REMOVE_PREFIX that takes the averaged model (trainer/run/ema_model.h) of a checkpoint instead of
// the model itself.
#define SR_EMA_PREFIX "ema_model."

typedef struct {
    const char *path;
    // The trunk is compared with the one in an sslrun checkpoint, for messages.  NULL: no
    // comparison
    const SrModelConfig *model;
    const char *remove_prefix, *append_prefix; // "": none
    // STATE_DICT_KEY_NAME: nested dicts that hold the weights.  n is 0: the usual ones are
    // recognised
    SrStrings keys;
    SrStrings skip_layers; // tensors whose names contain one of these are not loaded
    // Loads entries of the table whose names start with it, before "trunk." and "heads.".  NULL:
    // none
    const char *prefix;
    int channels;           // of the model's images.  0: 3
    bool quiet;             // do not log each tensor
    bool skip_heads;        // do not load heads
    bool lax_head_shapes;   // skip heads of another shape; false: they are an error
    double min_trunk_share; // 0 to 1; SR_ERR_CONFIG if a smaller share of the trunk is loaded
    bool whole_trunk;       // every tensor of the trunk must be in the file (evaluation)
} SrWeightsSource;

// Returns the source that WEIGHTS_INIT describes; it borrows the configuration's strings.
SrWeightsSource sr_weights_source(const SrConfig *config);
// Makes a source of a checkpoint of sslrun, whose names stay as they are.  Of WEIGHTS_INIT only
// REMOVE_PREFIX "ema_model." counts, which asks for the averaged weights.
SrWeightsSource sr_weights_of_checkpoint(const SrConfig *config, const char *path);
// Loads the weights.  On an error the table may be half loaded.  SR_ERR_IO: an sslrun checkpoint is
// damaged.  SR_ERR_CONFIG: shapes differ (the message has both), or too little of the trunk fits.
SrStatus sr_weights_load(const SrWeightsSource *source, SrParams *params);

#endif
