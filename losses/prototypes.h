// Prototypes in the parameter table: the weights of a head's prototypes<i>, found by name as VISSL
// does.
#ifndef SR_LOSSES_PROTOTYPES_H
#define SR_LOSSES_PROTOTYPES_H

#include "graph/params.h"

// One set: P rows of length D, plain or as g v / |v|.
typedef struct {
    int weight; // table index of weight (P, D), or of weight_v (P, D) when `norm` >= 0
    int norm;   // table index of weight_g (P, 1), -1 for plain prototypes
    int P, D;
} SrPrototypes;

// The set "<prefix>heads.<anything>prototypes<set>" of the table; none, or more than one head that
// has it: SR_ERR_CONFIG.  prefix: "" for the student, "loss.momentum_encoder." for a teacher.
SrStatus sr_prototypes_find(SrParams *params, const char *prefix, int set, SrPrototypes *out);

// Every row to length 1; rows of zeros stay (torch.nn.functional.normalize).  Nothing for g v /
// |v|.
void sr_prototypes_normalize(SrParams *params, const SrPrototypes *p);
// scores (n, P) = x (n, D) times the prototypes as they are now.
void sr_prototypes_scores(SrParams *params, const SrPrototypes *p, const float *x, int n,
                          float *scores);

#endif
