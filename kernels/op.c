// The registry of operations, filled by the build from the descriptors it finds (base/plugin.h).
#include "kernels/op.h"

#include <string.h>

#define SR_PLUGIN(stem) extern const SrOp sr_op_##stem;
#include "gen/op.def"
#undef SR_PLUGIN
#define SR_PLUGIN(stem) &sr_op_##stem,
static const SrOp *const ops[] = {
#include "gen/op.def"
    NULL};

const SrOp *sr_op_find(const char *name) {
    for (int i = 0; ops[i]; i++)
        if (strcmp(ops[i]->name, name) == 0)
            return ops[i];
    return NULL;
}

const SrOp *sr_op_at(int i) { return i >= 0 && i < SR_COUNT(ops) ? ops[i] : NULL; }

bool *sr_op_switch(const SrOp *op, const void *params, const char *name) {
    const SrOption *option = op->options ? sr_options_find(op->options, name) : NULL;
    return option && option->type == SR_OPT_BOOL ? (bool *)((char *)params + option->offset) : NULL;
}
