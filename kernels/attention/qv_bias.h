// Params of qv_bias.
#ifndef SR_KERNELS_ATTENTION_QV_BIAS_H
#define SR_KERNELS_ATTENTION_QV_BIAS_H

#include <stdbool.h>

typedef struct {   // qv_bias
    bool separate; // two parameters q_bias and v_bias (D); false: one of 3 D numbers
} SrQvBiasParams;

#endif
