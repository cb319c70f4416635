// The operations of AutoAugment's and RandAugment's policies at a magnitude of 0 to 10, as VISSL has
// them (Cubuk et al., arXiv:1805.09501, section 3 and appendix; arXiv:1909.13719).
#ifndef SR_DATA_AUGMENT_POLICY_OPS_H
#define SR_DATA_AUGMENT_POLICY_OPS_H

#include "data/data.h"
#include "data/pixels/pixel.h"

typedef struct SrPolicyOp SrPolicyOp;
const SrPolicyOp *sr__policy_op(const char *name); // "ShearX", "PosterizeIncreasing"; NULL: unknown

// One operation of a policy as drawn for an image.
typedef struct {
    const SrPolicyOp *op;
    double magnitude; // 0 .. 10
    bool negate;      // of operations with a direction: the other one
    SrFilter filter;  // of operations that move pixels
} SrPolicyStep;

// What the step comes to: degrees, bits, a threshold, a factor, a share; 0 for operations without.
double sr__policy_argument(const SrPolicyStep *step);
const char *sr__policy_name(const SrPolicyStep *step);
SrStatus sr__policy_apply(const SrPolicyStep *step, SrImage *image, SrImagePool *pool);
// Done with probability p; the magnitude normal around `magnitude` with deviation std, kept to
// 0 .. 10.  False: not done.
bool sr__policy_draw(SrRng *rng, const SrPolicyOp *op, double p, double magnitude, double std,
                     SrPolicyStep *out);

// A policy's whole work on view v, with the draws of that view.
typedef SrStatus (*SrPolicyAugment)(const void *params, const SrTransformContext *ctx, int v,
                                    SrRng *rng, SrImage *image);
// `apply` of a transform that does it to all views, each with draws of its own.
SrStatus sr__policy_views(const void *params, const SrTransformContext *ctx, SrViews *views,
                          SrPolicyAugment augment);

#endif
