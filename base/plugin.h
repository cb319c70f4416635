// Plugin lists without a list: the build finds every descriptor `const Sr<Kind> sr_<kind>_<stem>` that starts a
// line in the sources and writes gen/<kind>.def with one SR_PLUGIN(stem) a line.
//
// A registry includes this header, then
//     #define SR_PLUGIN(stem) extern const SrOp sr_op_##stem;
//     #include "gen/op.def"
//     #undef SR_PLUGIN
//     #define SR_PLUGIN(stem) &sr_op_##stem,
//     static const SrOp *const ops[] = {
//     #include "gen/op.def"
//         NULL};
#ifndef SR_BASE_PLUGIN_H
#define SR_BASE_PLUGIN_H

#include "base/status.h"

// SR_ERR_CONFIG "unknown trunk 'resnett'; did you mean 'resnet'? (known: ...)".
SrStatus sr_plugin_unknown(const char *kind, const char *name, const char *const *known, int n);

#endif
