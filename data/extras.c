// Lists of the further tensors of a batch.
#include "data/extras.h"

#include <string.h>

#include "base/compiler.h"

SrStatus sr_extras_add(SrExtras *extras, const SrBatchExtra *extra) {
    SR_ASSERT(extras->n >= 0 && extras->n <= SR_MAX_EXTRAS && extra->name);
    if (extras->n == SR_MAX_EXTRAS)
        SR_FAIL(SR_ERR_CONFIG, "a batch has more than %d tensors besides its pixels",
                SR_MAX_EXTRAS);
    extras->v[extras->n++] = *extra;
    return SR_OK;
}

int sr_extras_find(const SrExtras *extras, const char *name, int view) {
    for (int i = 0; i < extras->n; i++)
        if (extras->v[i].view == view && strcmp(extras->v[i].name, name) == 0)
            return i;
    return -1;
}

size_t sr_batch_extra_bytes(const SrBatchExtra *extra) {
    return (size_t)sr_shape_count(extra->shape) * sr_dtype_bytes(extra->dtype);
}
