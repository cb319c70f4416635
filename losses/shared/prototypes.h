// Prototypes in the parameter table: the weights of a head's layers prototypes<i>, found by name as
// in VISSL.  The functions run on the host between plan runs.
#ifndef SR_LOSSES_SHARED_PROTOTYPES_H
#define SR_LOSSES_SHARED_PROTOTYPES_H

#include "graph/ir/params.h"

// One set of P prototypes with D numbers each: plain rows, or g v / |v| with weight norm.
typedef struct {
    int weight; // table index of weight (P, D), or of weight_v (P, D) when `norm` >= 0
    int norm;   // table index of weight_g (P, 1); -1: plain prototypes
    int P, D;
} SrPrototypes;

// Finds the entries "<prefix>heads.*.prototypes<set>.*".  prefix: "" for the student,
// "loss.momentum_encoder." for a teacher.  SR_ERR_CONFIG: no head has the set, or several heads do.
SrStatus sr_prototypes_find(SrParams *params, const char *prefix, int set, SrPrototypes *out);

// Scales every row of plain prototypes to length 1; rows of zeros stay zero, as in
// torch.nn.functional.normalize.  Does nothing for prototypes with weight norm.
void sr_prototypes_normalize(SrParams *params, const SrPrototypes *p);
// Computes scores (n, P): the products of x (n, D) with the present prototypes.
void sr_prototypes_scores(SrParams *params, const SrPrototypes *p, const float *x, int n,
                          float *scores);

#endif
