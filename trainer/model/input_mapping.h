// MODEL.MULTI_INPUT_HEAD_MAPPING: which input goes through which head on which features.
#ifndef SR_TRAINER_MODEL_INPUT_MAPPING_H
#define SR_TRAINER_MODEL_INPUT_MAPPING_H

#include "trainer/config/config.h"
#include "trunks/feature_extractor.h"

typedef struct {
    const char *key; // of the batch: "images"
    SrFeatures features;
    int head;    // index into MODEL.HEAD.PARAMS
    bool masked; // the trunk sees it through the batch's masks
} SrMappedInput;

typedef struct { // n 0: the batch has one input, which goes through all heads
    int n;
    SrMappedInput *v;
} SrInputMapping;

// Everything lives in the arena.  A wrong length, a repeated key, a head that does not exist or
// that no input uses: SR_ERR_CONFIG with file:line and the key.
SrStatus sr_input_mapping_parse(const SrYaml *list, int n_heads, SrArena *arena,
                                SrInputMapping *out);
// DATA.TRAIN.INPUT_KEY_NAMES, where it has several: each different, each input of the mapping among them.
SrStatus sr_input_mapping_check_names(const SrInputMapping *mapping, SrStrings names);
int sr_input_mapping_find(const SrInputMapping *mapping, const char *key); // -1 if absent

#endif
