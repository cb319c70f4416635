// Params of batch_norm, for builders of graphs.
#ifndef SR_KERNELS_NORM_BATCH_NORM_H
#define SR_KERNELS_NORM_BATCH_NORM_H

#include "kernels/norm/batch_norm_params.h"

#endif
