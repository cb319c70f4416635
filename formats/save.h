// Writing weights for others: .safetensors, .pth (torch.save's zip format), .npz, chosen by the
// name's ending.  Tensors are asked for one at a time, so that a conversion holds one in memory.
#ifndef SR_FORMATS_SAVE_H
#define SR_FORMATS_SAVE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/tensor.h"
#include "formats/safetensors.h"

typedef enum {
    SR_SAVE_TENSOR,
    SR_SAVE_TEXT,
    SR_SAVE_INT,
    SR_SAVE_FLOAT,
    SR_SAVE_BOOL,
    SR_SAVE_NONE,
    SR_SAVE_DICT, // an empty dict
} SrSaveKind;

// A value of a file to be.  In a .pth, '/' in the name nests dicts
// ("base_model/model/trunk/x.weight"); neighbours with the same beginning share them.  The other
// formats hold tensors alone, and '/' is written as '.'.
typedef struct {
    const char *name;
    SrSaveKind kind;
    SrShape shape; // of a tensor
    SrDtype dtype;
    const char *text;
    int64_t i; // of INT and BOOL
    double f;
} SrSaveItem;

typedef struct {
    const SrSaveItem *items;
    int n;
    SrTensorRead read; // numbers of item i, packed; valid until the next call
    void *arg;
} SrSave;

// Unknown ending, a type the format lacks: SR_ERR_CONFIG.  Replaces an older file atomically.
SrStatus sr_save(const char *path, const SrSave *save);
SrStatus sr_save_check(const char *path); // the ending alone
SrStatus sr__pth_save(const char *path, const SrSave *save);
SrStatus sr__numpy_save(const char *path, const SrSave *save);

#endif
