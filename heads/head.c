// The registry of heads: every descriptor `const SrHead sr_head_<stem>` the build found, in name
// order. It knows names only; what a head does is in its own file.
#include "heads/head.h"

#include "base/plugin.h"

#include "gen/head.def"

SR_REGISTRY(SrHead, head, head, "head")
