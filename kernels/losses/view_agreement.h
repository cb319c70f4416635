// Params of view_agreement.
#ifndef SR_KERNELS_LOSSES_VIEW_AGREEMENT_H
#define SR_KERNELS_LOSSES_VIEW_AGREEMENT_H

typedef struct {   // view_agreement
    int num_views; // views per image; rows of x are view-major
} SrViewAgreementParams;

#endif
