// The check of momentum that sgd, lars and muon share.
#ifndef SR_TRAINER_OPTIM_MOMENTUM_H
#define SR_TRAINER_OPTIM_MOMENTUM_H

#include <stdbool.h>

#include "base/status.h"

// SR_ERR_CONFIG: momentum is outside of [0, 1), or nesterov has none to look ahead with.  name: the
// optimiser, for the message.
SrStatus sr__momentum_check(const char *name, double momentum, bool nesterov);

#endif
