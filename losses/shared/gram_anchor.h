// Gram anchoring (Siméoni et al., "DINOv3", arXiv:2508.10104, section 4.2): the cosines between an
// image's patches shall stay those of an earlier state of the model, the anchor, which sees the
// image larger.  Long training improves features of images and blurs those of patches; the term
// holds the latter.
//
//   L = mean over images and pairs of patches of (x_i x_j' - g_i g_j')^2
//
// x_i: patch i of the student, g_i: of the anchor, whose maps are resized to the student's grid by
// bilinear interpolation; the paper uses bicubic.  Both have length 1.
#ifndef SR_LOSSES_SHARED_GRAM_ANCHOR_H
#define SR_LOSSES_SHARED_GRAM_ANCHOR_H

#include "losses/shared/momentum_encoder.h"

typedef struct {
    int n_views; // first crops of an image that the term compares
    int enlarge; // factor by which the anchor sees them larger
    int update;  // steps after which the anchor becomes the teacher of that moment; 0: never
} SrGramAnchorParams;

typedef struct {
    SrMomentumEncoder pairs; // the teacher's entries, as `student`, and the anchor's
    int update;
} SrGramAnchor;

// Adds the anchor under loss.gram_anchor. and builds the term, a scalar.  teacher: the encoder that
// the anchor is copied from.  SR_ERR_CONFIG: the trunk has no map.
SrStatus sr_gram_anchor_build(SrLossContext *ctx, const SrGramAnchorParams *p,
                              const SrMomentumEncoder *teacher, SrGramAnchor *out, SrNodeId *term);
// Part of the hook `start`, after the teacher has its values: copies them unless the run is
// resumed.
void sr_gram_anchor_start(SrGramAnchor *anchor, const SrLossStep *step, bool resumed);
// Part of the hook after_update: copies the teacher when it is time.
void sr_gram_anchor_update(SrGramAnchor *anchor, const SrLossStep *step);

#endif
