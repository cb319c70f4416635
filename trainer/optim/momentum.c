#include "trainer/optim/momentum.h"

SrStatus sr__momentum_check(const char *name, double momentum, bool nesterov) {
    if (!(momentum >= 0 && momentum < 1))
        SR_FAIL(SR_ERR_CONFIG, "OPTIMIZER.momentum is %g, but %s needs 0 <= momentum < 1", momentum,
                name);
    if (nesterov && momentum == 0)
        SR_FAIL(SR_ERR_CONFIG, "OPTIMIZER.nesterov=True needs OPTIMIZER.momentum above 0");
    return SR_OK;
}
