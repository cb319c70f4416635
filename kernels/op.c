// The registry of operations, filled by the build from the descriptors it finds
// (base/plugin/plugin.h).
#include "kernels/op.h"

#include "base/plugin/plugin.h"
#include "gen/op.def"

SR_REGISTRY(SrOp, op, op, "operation")

bool *sr_op_switch(const SrOp *op, const void *params, const char *name) {
    const SrOption *option = op->options ? sr_options_find(op->options, name) : NULL;
    return option && option->type == SR_OPT_BOOL ? (bool *)((char *)params + option->offset) : NULL;
}
