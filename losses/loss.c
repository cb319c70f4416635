// The registry of losses: every descriptor `const SrLoss sr_loss_<stem>` the build found, in name
// order. It knows names only; what a loss does is in its own file.
#include "losses/loss.h"

#include "base/plugin.h"

#include "gen/loss.def"

SR_REGISTRY(SrLoss, loss, loss, "loss")
