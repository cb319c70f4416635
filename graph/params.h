// The parameter table: every learned tensor and every state entry, by name, owned here and shared by any
// number of nodes (a trunk built at two resolutions, a train and an eval plan).
//
// Names are VISSL's state-dict keys: "trunk._feature_blocks.layer1.0.conv1.weight",
// "heads.0.prototypes0.weight", "loss.local_emb_queue".  Tensors are in PyTorch's layout and never move
// once allocated; values, gradients and optimiser state are each one block.
#ifndef SR_GRAPH_PARAMS_H
#define SR_GRAPH_PARAMS_H

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
    bool trainable;      // PARAM and not frozen: has a gradient
    void *value;         // of `shape` and `dtype`; NULL before sr_params_allocate
    float *grad;         // of `shape`; NULL unless trainable
    int64_t grad_offset; // in floats, into the gradient block; -1 unless trainable
} SrParam;

typedef struct SrParams SrParams;

SrStatus sr_params_new(SrParams **out);
void sr_params_free(SrParams *params);

// The index of an entry, added if the name is new.  An entry of another shape or dtype: SR_ERR_CONFIG.
SrStatus sr_params_add(SrParams *params, const char *name, const SrSlot *slot, int *index);
int sr_params_count(const SrParams *params);
SrParam *sr_params_at(SrParams *params, int index);           // pointer valid until the next add
int sr_params_find(const SrParams *params, const char *name); // -1 if absent
// trainable = value for entries whose name matches the glob; returns how many matched.  Before allocate.
int sr_params_set_trainable(SrParams *params, const char *glob, bool trainable);

// Gives memory to entries that have none yet (may be called again after more were added; nothing moves).
SrStatus sr_params_allocate(SrParams *params);
// Draws every entry that was allocated and never initialised, keyed by (seed, name).
void sr_params_init(SrParams *params, uint64_t seed);
// Allocates `to` and gives each of its entries the value of from's entry of that name, where there is one with memory;
// such entries are not drawn again.  Shapes and dtypes must agree.
SrStatus sr_params_copy(SrParams *to, SrParams *from);
void sr_params_zero_grad(SrParams *params);
size_t sr_params_bytes(const SrParams *params); // values and gradients together
int64_t sr_params_numbers(const SrParams *params, bool trainable_only); // learned numbers

#endif
