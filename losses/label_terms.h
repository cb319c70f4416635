// What the losses of labelled images share: one term an output of the model against the same
// labels, summed (VISSL sums over outputs, so that linear probes of several layers learn side by
// side as if each were alone).
#ifndef SR_LOSSES_LABEL_TERMS_H
#define SR_LOSSES_LABEL_TERMS_H

#include "losses/loss.h"

// `op`: cross_entropy or bce_logits, node "<op><i>" for output i.  normalize: outputs get length 1
// first.  Labels of F32 are distributions: cross_entropy becomes soft_cross_entropy.  No labels, or
// outputs that are no scores: SR_ERR_CONFIG.
SrStatus sr_label_terms_build(SrLossContext *ctx, const char *op, const void *params,
                              bool normalize, SrNodeId *loss);
// Scores of 4 classes for images of 16 pixels.
extern const SrLossExample sr_label_terms_examples[1];

#endif
