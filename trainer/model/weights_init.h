// MODEL.WEIGHTS_INIT: starting from somebody's weights.  Reads every format of
// formats/weights.h.  Names are VISSL's, changed by REMOVE_PREFIX and APPEND_PREFIX; where neither
// is set, other people's naming of a trunk is recognised (formats/naming.h).  Says what became of
// each tensor in VISSL's words, and unlike VISSL refuses to go on when nothing of the trunk was
// found.
#ifndef SR_TRAINER_MODEL_WEIGHTS_INIT_H
#define SR_TRAINER_MODEL_WEIGHTS_INIT_H

#include "graph/params.h"
#include "trainer/config/config.h"

// REMOVE_PREFIX of the averaged model (trainer/run/ema_model.h) in a checkpoint that holds both: its tensors are taken
// instead of the model's own.
#define SR_EMA_PREFIX "ema_model."

typedef struct {
    const char *path;
    const SrModelConfig *model; // whose trunk a checkpoint's is compared with; NULL: it is not
    const char *remove_prefix, *append_prefix; // "" for none
    SrStrings keys; // STATE_DICT_KEY_NAME: dicts to enter; n 0: the usual ones are recognised
    SrStrings skip_layers; // parts of names left as they are
    const char
        *prefix;     // of the table's entries that are meant, before trunk. and heads.; NULL: none
    bool quiet;      // no line a tensor
    bool skip_heads; // what the file holds for the heads is not wanted
    bool lax_head_shapes;   // heads of another shape are skipped instead of refused
    double min_trunk_share; // fewer of the trunk's tensors loaded: SR_ERR_CONFIG
    bool whole_trunk;       // every tensor of the trunk must be there (evaluation)
} SrWeightsSource;

SrWeightsSource sr_weights_source(const SrModelConfig *config); // WEIGHTS_INIT as configured
// A checkpoint of ours is verified first, damaged: SR_ERR_IO.  Shapes that differ: SR_ERR_CONFIG
// with both.
SrStatus sr_weights_load(const SrWeightsSource *source, SrParams *params);

#endif
