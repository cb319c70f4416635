// Extracts features of a data set into the shards of a folder.
#ifndef SR_TRAINER_EVAL_EXTRACT_EXTRACT_DATA_H
#define SR_TRAINER_EVAL_EXTRACT_EXTRACT_DATA_H

#include "base/text/text.h"
#include "trainer/eval/extract/extract_options.h"

// Writes the shards of extract_shard.h into the folder <out>, images in the order of the data set.
// extract.json identifies the extraction (extract_identity.h): existing shards are kept, and a
// folder of another extraction is refused.
SrStatus sr_extract_data(const SrExtractOptions *options, SrText *report);

#endif
