// Reads MODEL.MULTI_INPUT_HEAD_MAPPING: which input goes through which head, on which features.
#ifndef SR_TRAINER_MODEL_INPUT_MAPPING_H
#define SR_TRAINER_MODEL_INPUT_MAPPING_H

#include "trainer/config/config.h"
#include "trunks/shared/feature_extractor.h"

typedef struct {
    const char *key; // name of an input of the batch: "images"
    SrFeatures features;
    int head;    // index in MODEL.HEAD.PARAMS
    bool masked; // the batch's masks hide patches from the trunk
} SrMappedInput;

typedef struct {
    int n; // 0: the batch has one input, which goes through all heads
    SrMappedInput *v;
} SrInputMapping;

// Reads the list into the arena.  SR_ERR_CONFIG with file:line and key: wrong length, repeated key,
// missing head, or a head that no input uses.
SrStatus sr_input_mapping_parse(const SrYaml *list, int n_heads, SrArena *arena,
                                SrInputMapping *out);
// Checks DATA.TRAIN.INPUT_KEY_NAMES where it has several names: they differ, and each input of the
// mapping is one of them.
SrStatus sr_input_mapping_check_names(const SrInputMapping *mapping, SrStrings names);
int sr_input_mapping_find(const SrInputMapping *mapping, const char *key); // -1 if absent

#endif
