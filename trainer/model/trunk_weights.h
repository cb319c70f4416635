// Loads a frozen trunk's weights strictly, as load_state_dict(strict=True) does in torch, and
// lists all mistakes at once.  Reads every format of formats/weights/weights.h, with the tensor
// names of torchvision, VISSL or any other writer that formats/names/naming.h knows.
//
// weights_init.h is for MODEL.WEIGHTS_INIT, which starts a training from the tensors that fit.
#ifndef SR_TRAINER_MODEL_TRUNK_WEIGHTS_H
#define SR_TRAINER_MODEL_TRUNK_WEIGHTS_H

#include "base/text/text.h"
#include "graph/ir/params.h"

typedef struct {
    const char *path;
    // Name of the classifier ("fc").  It may be missing in the file if no node needs it, and left
    // over if the trunk has none.
    const char *classifier;
    int channels; // of the trunk's images.  0: 3
    // Missing tensors keep their values, and left-over ones are ignored.  A wrong shape stays an
    // error
    bool lax;
} SrTrunkWeights;

// Loads weights.
//   whole   table of the whole trunk, which the file must match
//   params  table of the wanted part, which is allocated here
// Tensor names lose a prefix ("trunk._feature_blocks.", "module.", or none) or are mapped by
// formats/names/naming.h; the reading that matches most names is taken.  Counters
// (num_batches_tracked) may be missing, as in files of old torch versions.
SrStatus sr_trunk_weights_load(const SrTrunkWeights *source, SrParams *whole, SrParams *params);
// Compares a file with the whole trunk without keeping its numbers: adds "211 of 211 tensors used,
// 0 left over" to out, then the names of what is missing, left over or of another shape.
// SR_ERR_CONFIG: there are such names, or the file is refused.
SrStatus sr_trunk_weights_compare(const SrTrunkWeights *source, SrParams *whole, SrText *out);

#endif
