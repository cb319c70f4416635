// Values that a pickle holds, as inert data, and the memory that they take.
#ifndef SR_FORMATS_WEIGHTS_PICKLE_VALUE_H
#define SR_FORMATS_WEIGHTS_PICKLE_VALUE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/tensor.h"

typedef enum {
    SR_PICKLE_NONE,
    SR_PICKLE_BOOL,
    SR_PICKLE_INT,
    SR_PICKLE_FLOAT,
    SR_PICKLE_TEXT, // str or bytes, also device and dtype names
    SR_PICKLE_LIST, // list, tuple, set, torch.Size
    SR_PICKLE_DICT, // dict, OrderedDict, defaultdict, Namespace
    SR_PICKLE_GLOBAL,
    SR_PICKLE_STORAGE,
    SR_PICKLE_TENSOR,
} SrPickleKind;

typedef struct SrPickleValue SrPickleValue;
typedef struct SrPickleGlobal SrPickleGlobal;

// A block of numbers that tensors view.  The container knows where its bytes are.
typedef struct {
    const char *key;
    SrDtype dtype;
    int64_t count;       // elements
    const uint8_t *data; // in the mapping; NULL until the container has found it
} SrPickleStorage;

typedef struct {
    SrPickleValue *storage;
    int64_t offset; // elements
    int rank;
    int64_t sizes[SR_MAX_RANK], strides[SR_MAX_RANK]; // elements
} SrPickleTensor;

struct SrPickleValue {
    SrPickleKind kind;
    int n, cap; // length of a text in bytes, a list in values, a dict in keys plus values
    union {
        int64_t i; // INT, BOOL
        double f;
        const char *text; // NUL-terminated beyond n
        SrPickleValue **items;
        const SrPickleGlobal *global;
        SrPickleStorage *storage;
        SrPickleTensor *tensor;
    };
};

// Memory and stack of one file; consecutive pickles of a file share them.
typedef struct {
    SrArena *arena;           // holds the values; its bound limits their size
    const char *path;         // for messages
    SrStatus failure;         // why the last sr__pickle_take returned NULL
    SrPickleValue **storages; // one per tensor, in reading order, so that keys repeat
    int n_storages, cap_storages;
} SrPickle;

// Returns zeroed memory; NULL: p->failure holds the reason.
void *sr__pickle_take(SrPickle *p, size_t bytes);
SrPickleValue *sr__pickle_new(SrPickle *p, SrPickleKind kind);
SrStatus sr__pickle_push(SrPickle *p, SrPickleValue *list, SrPickleValue *item);

#endif
