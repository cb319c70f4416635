// Extracts features of one tensor of images into a file.
#ifndef SR_TRAINER_EVAL_EXTRACT_EXTRACT_INPUT_H
#define SR_TRAINER_EVAL_EXTRACT_EXTRACT_INPUT_H

#include "base/text/text.h"
#include "trainer/eval/extract/extract_options.h"

// Writes one tensor per layer, with the rows of x.  In train mode all of x is one batch.  An
// existing file is replaced only if this function wrote it.
SrStatus sr_extract_input(const SrExtractOptions *options, SrText *report);

#endif
