// Registry of optimisers: every descriptor `const SrOptimizer sr_optimizer_<stem>` that the build
// found, in name order.
#include "trainer/optim/optimizer.h"

#include "base/plugin/plugin.h"

#include "gen/optimizer.def"

SR_REGISTRY(SrOptimizer, optimizer, optimizer, "optimizer")
