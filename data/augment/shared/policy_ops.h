// Operations of the policies of AutoAugment and RandAugment at a magnitude of 0 to 10, as in VISSL
// (Cubuk et al., arXiv:1805.09501, section 3 and appendix; arXiv:1909.13719).
#ifndef SR_DATA_AUGMENT_SHARED_POLICY_OPS_H
#define SR_DATA_AUGMENT_SHARED_POLICY_OPS_H

#include "data/pixels/pixel.h"
#include "data/transform.h"

typedef struct SrPolicyOp SrPolicyOp;
const SrPolicyOp *sr__policy_op(const char *name); // "ShearX", "PosterizeIncreasing"; NULL: unknown

// One operation of a policy as drawn for an image.
typedef struct {
    const SrPolicyOp *op;
    double magnitude; // 0 .. 10
    bool negate;      // reverses the direction of operations that have one
    SrFilter filter;  // filter of operations that move pixels
} SrPolicyStep;

// Returns the argument of the operation: degrees, bits, a threshold, a factor or a share.  0: the
// operation has none.
double sr__policy_argument(const SrPolicyStep *step);
const char *sr__policy_name(const SrPolicyStep *step);
SrStatus sr__policy_apply(const SrPolicyStep *step, SrImage *image, SrImagePool *pool);
// Draws a step, which is done with probability p.  Its magnitude is normal around `magnitude` with
// deviation std, clipped to 0 .. 10.  False: the step is not done.
bool sr__policy_draw(SrRng *rng, const SrPolicyOp *op, double p, double magnitude, double std,
                     SrPolicyStep *out);

// Function that applies a policy to view v, with the draws of that view.
typedef SrStatus (*SrPolicyAugment)(const void *params, const SrTransformContext *ctx, int v,
                                    SrRng *rng, SrImage *image);
// Implements SrTransform.apply: applies a policy to all views, each with draws of its own.
SrStatus sr__policy_views(const void *params, const SrTransformContext *ctx, SrViews *views,
                          SrPolicyAugment augment);

#endif
