// Extracts features of a data set into the shards of a folder.
#ifndef SR_TRAINER_EVAL_EXTRACT_EXTRACT_DATA_H
#define SR_TRAINER_EVAL_EXTRACT_EXTRACT_DATA_H

#include "base/text/text.h"
#include "trainer/eval/extract/extract_options.h"

// Writes <out>/features-00000.safetensors and so on, with layers, "labels" (-1: none), "valid" (0:
// an unreadable file, whose features are those of a grey image), and the names "files" and
// "classes" (feature_names.h).  NumPy's format has <layer>-00000.npy, labels-, valid- and files-,
// and classes.npy.  extract.json identifies the extraction (extract_identity.h): existing shards
// are kept, and a folder of another extraction is refused.
SrStatus sr_extract_data(const SrExtractOptions *options, SrText *report);

#endif
