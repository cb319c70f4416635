// Enters a file's nested dicts by key, as VISSL's STATE_DICT_KEY_NAME does.  A checkpoint with a
// teacher and a student, or with a model and its optimiser, is then read as if it held only one.
#ifndef SR_FORMATS_WEIGHTS_NESTED_DICT_H
#define SR_FORMATS_WEIGHTS_NESTED_DICT_H

#include "formats/weights/weights_table.h"

// Keeps the tensors below a key of the outermost dict ("teacher", "state_dict") and removes the key
// from their names.  SR_ERR_CONFIG: no such key; the message lists the keys of the file.
SrStatus sr_weights_descend(SrWeights *w, const char *key);

#endif
