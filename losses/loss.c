// Registry of losses: every descriptor `const SrLoss sr_loss_<stem>` that the build found, in name
// order.
#include "losses/loss.h"

#include "base/plugin/plugin.h"

#include "gen/loss.def"

SR_REGISTRY(SrLoss, loss, loss, "loss")
