// Terms that the losses of labelled images share: one term for each output of the model, all
// against the same labels, summed.  VISSL sums over outputs, so that linear probes of several
// layers learn together as if each were alone.
#ifndef SR_LOSSES_SHARED_LABEL_TERMS_H
#define SR_LOSSES_SHARED_LABEL_TERMS_H

#include "losses/loss.h"

// Builds the sum of the terms, a scalar; the term of output i is node "<op><i>".  op: cross_entropy
// or bce_logits, with its params.  normalize: rows of scores get length 1 first.  Labels of F32 are
// distributions, and soft_cross_entropy takes the place of cross_entropy.  SR_ERR_CONFIG: there are
// no labels, an output is no table of scores, or labels and op do not fit.
SrStatus sr_label_terms_build(SrLossContext *ctx, const char *op, const void *params,
                              bool normalize, SrNodeId *loss);
// Example for the contract tests: 8 scores for images of 16 pixels.
extern const SrLossExample sr_label_terms_examples[1];

#endif
