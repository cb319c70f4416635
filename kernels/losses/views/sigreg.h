// Params of sigreg and view_spread.
#ifndef SR_KERNELS_LOSSES_VIEWS_SIGREG_H
#define SR_KERNELS_LOSSES_VIEWS_SIGREG_H

typedef struct { // sigreg
    int num_views, knots;
    double t_max;
} SrSigregParams;

typedef struct { // view_spread
    int num_views, global_views;
} SrViewSpreadParams;

#endif
