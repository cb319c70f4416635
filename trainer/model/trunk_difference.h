// Says how the trunk of an sslrun checkpoint differs from the trunk that a configuration asks for.
#ifndef SR_TRAINER_MODEL_TRUNK_DIFFERENCE_H
#define SR_TRAINER_MODEL_TRUNK_DIFFERENCE_H

#include "base/text/text.h"
#include "formats/weights/weights_table.h"
#include "trainer/config/config.h"

// Adds "the checkpoint holds ..., the configuration asks for ..." to `out`, with the options that
// differ.  Adds nothing if the trunks are equal or the file holds no configuration.
void sr_trunk_difference(const SrWeights *file, const SrModelConfig *config, SrText *out);

#endif
