// Further tensors of a batch: those other than pixels, labels and indices, such as masks of hidden
// patches and soft targets.  Transforms and collators announce them with the plan and fill them.  A
// loss finds one by its name (sr_loss_extra).
#ifndef SR_DATA_EXTRAS_H
#define SR_DATA_EXTRAS_H

#include "base/status.h"
#include "base/tensor.h"

#define SR_MAX_EXTRAS 64
#define SR_EXTRA_LABEL "label" // extra that replaces the label: (classes) F32, a distribution
typedef struct {
    const char *name; // such as "mask"
    int view;         // number of its view (transforms) or of its input (plan)
    SrShape shape;    // shape for one image; a batch has (N, ...)
    SrDtype dtype;
    int from; // in a plan: index of the transforms' extra; -1: the collator fills it
} SrBatchExtra;

typedef struct {
    int n;
    SrBatchExtra v[SR_MAX_EXTRAS];
} SrExtras;
SrStatus sr_extras_add(SrExtras *extras, const SrBatchExtra *extra);    // SR_ERR_CONFIG when full
int sr_extras_find(const SrExtras *extras, const char *name, int view); // index; -1: absent
size_t sr_batch_extra_bytes(const SrBatchExtra *extra);                 // bytes per image

#endif
