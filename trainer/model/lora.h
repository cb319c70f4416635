// Low-rank adapters: MODEL.LORA (Hu et al., "LoRA", arXiv:2106.09685; Khanna et al., "ExPLoRA",
// arXiv:2406.10973).
//
// A weight W (out, in) of the trunk becomes W0 + s B A, with A (rank, in) and B (out, rank) learned
// and W0 frozen; s = ALPHA / RANK.  The graph knows nothing of it: its weight is the sum, which is
// formed after each update, and the gradients of A and B follow from the sum's gradient.  Features,
// checkpoints and exports therefore hold a plain trunk.  Of the other parameters of the trunk the
// norms and the last UNFREEZE_LAST blocks learn; heads and the loss's parameters learn as without
// adapters.
//
// Entries of the table for a weight NAME: lora.a.NAME, lora.b.NAME, and lora.start.NAME, which is
// W0; names of adapters on queries or values alone end in .q or .v.
#ifndef SR_TRAINER_MODEL_LORA_H
#define SR_TRAINER_MODEL_LORA_H

#include "base/arena.h"
#include "graph/ir/params.h"
#include "trainer/config/config.h"

typedef struct {
    int weight, a, b, start; // entries of the table
    int first, rows, in;     // rows of the weight that the adapter changes; numbers of a row
} SrLoraAdapter;

typedef struct {
    int n; // 0: no adapters, and the functions below do nothing
    int rank;
    float scale; // s
    SrLoraAdapter *v;
    SrParams *params;
} SrLora;

// Freezes the trunk and adds the adapters, after all graphs are built and before entries get
// memory.  Does nothing without MODEL.LORA.USE_LORA.  The memory of *out is the arena's.
// SR_ERR_CONFIG: an unknown target, or a trunk without such a layer.  SR_ERR_MEMORY: no room, for
// the work space of products either.
SrStatus sr_lora_add(SrLora *out, SrParams *params, const SrConfig *config, SrArena *arena);
// Takes the weights as W0: before the first update of a run that is not resumed.
void sr_lora_start(const SrLora *lora);
// Sets the gradients of A and B: s B' dW and s dW A'.  Bits do not depend on threads.
void sr_lora_backward(const SrLora *lora);
// Sets the weights to W0 + s B A.  Bits do not depend on threads.
void sr_lora_merge(const SrLora *lora);

#endif
