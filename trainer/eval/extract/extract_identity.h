// Records in extract.json which features a folder holds, so that another extraction never adds to
// it.
#ifndef SR_TRAINER_EVAL_EXTRACT_EXTRACT_IDENTITY_H
#define SR_TRAINER_EVAL_EXTRACT_EXTRACT_IDENTITY_H

#include "trainer/data/data_split.h"
#include "trainer/eval/extract/extract_options.h"

typedef struct {
    const SrExtractOptions *options;
    const SrFeatureSource *source; // compiled: its graph and weights count, wherever they came from
    const SrSplit *split;
    const SrYaml *transforms; // list
    int64_t images;
    int shard; // images
} SrExtractIdentity;

// Makes <out>/extract.json, or compares with the one there: names in it that only help a reader
// (the path of the weights, of the configuration) may differ.  SR_ERR_CONFIG with what else
// differs.
SrStatus sr__extract_claim(const SrExtractIdentity *id);

#endif
