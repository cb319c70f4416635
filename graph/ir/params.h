// The parameter table: owns every learned tensor and every state tensor, by name.  Any number of
// nodes share an entry: a trunk built at two resolutions, a train and an eval plan.
//
// Names are VISSL's state-dict keys: "trunk._feature_blocks.layer1.0.conv1.weight",
// "heads.0.prototypes0.weight", "loss.local_emb_queue".  Tensors have PyTorch's layout and never
// move once allocated.  Each call of sr_params_allocate makes one block of values and one of
// gradients.
#ifndef SR_GRAPH_IR_PARAMS_H
#define SR_GRAPH_IR_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "kernels/op.h"

typedef struct {
    const char *name;
    SrShape shape;
    SrDtype dtype;
    SrSlotKind kind;
    SrRole role;
    SrInit init;
    bool trainable;      // the entry is learned and not frozen: it has a gradient
    bool merged;         // the value is formed of other entries: it has a gradient and no update
    void *value;         // tensor of `shape` and `dtype`; NULL: before sr_params_allocate
    float *grad;         // gradient of `shape`; NULL: not trainable
    int64_t grad_offset; // offset in floats among all gradients; -1: not trainable
} SrParam;

typedef struct SrParams SrParams;

SrStatus sr_params_new(SrParams **out);
void sr_params_free(SrParams *params);

// Gives the index of an entry and adds the entry if the name is new.  SR_ERR_CONFIG: the entry
// exists with another shape or dtype.
SrStatus sr_params_add(SrParams *params, const char *name, const SrSlot *slot, int *index);
int sr_params_count(const SrParams *params);
SrParam *sr_params_at(SrParams *params, int index);           // pointer valid until the next add
int sr_params_find(const SrParams *params, const char *name); // -1 if absent
// Sets `trainable` of all entries whose name matches the glob, before they are allocated.
// Returns the number of matches.
int sr_params_set_trainable(SrParams *params, const char *glob, bool trainable);

// Allocates entries that have no memory yet.  Callers may add entries and call it again; nothing
// moves.
SrStatus sr_params_allocate(SrParams *params);
// Draws every allocated entry that was not initialised before, keyed by (seed, name).
void sr_params_init(SrParams *params, uint64_t seed);
// Allocates `to` and copies the values of from's allocated entries of equal names.  Copied entries
// count as initialised.  Shapes and dtypes must agree.
SrStatus sr_params_copy(SrParams *to, SrParams *from);
// Does so for entries of equal shapes and dtypes, and leaves the others.
SrStatus sr_params_copy_fitting(SrParams *to, SrParams *from);
void sr_params_zero_grad(SrParams *params);
size_t sr_params_bytes(const SrParams *params); // values and gradients together
int64_t sr_params_numbers(const SrParams *params, bool trainable_only); // learned numbers

#endif
