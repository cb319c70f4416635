// Description of the content of a new file of weights.  Tensors are requested one at a time, so
// that a conversion holds only one in memory.
#ifndef SR_FORMATS_WEIGHTS_SAVE_ITEM_H
#define SR_FORMATS_WEIGHTS_SAVE_ITEM_H

#include <stdbool.h>

#include "base/tensor.h"
#include "formats/weights/safetensors.h"

typedef enum {
    SR_SAVE_TENSOR,
    SR_SAVE_TEXT,
    SR_SAVE_INT,
    SR_SAVE_FLOAT,
    SR_SAVE_BOOL,
    SR_SAVE_NONE,
    SR_SAVE_DICT, // an empty dict
} SrSaveKind;

// A value to be written.  In a .pth, '/' in the name nests dicts
// ("base_model/model/trunk/x.weight"), and consecutive items with a common beginning share a
// dict.  The other formats hold tensors alone and write '/' as '.'.
typedef struct {
    const char *name;
    SrSaveKind kind;
    SrShape shape;    // TENSOR
    SrDtype dtype;    // TENSOR
    const char *text; // TEXT
    int64_t i;        // INT and BOOL
    double f;         // FLOAT
} SrSaveItem;

typedef struct {
    const SrSaveItem *items;
    int n;
    SrTensorRead read; // returns the packed numbers of item i, valid until the next call
    void *arg;
} SrSave;

#endif
