// RegNet's rule for widths and depths of stages (Radosavovic et al., "Designing network design spaces",
// arXiv:2003.13678, section 3.3), shared by torchvision's nets and VISSL's.
#ifndef SR_TRUNKS_REGNET_LAYOUT_H
#define SR_TRUNKS_REGNET_LAYOUT_H

#include <stdbool.h>

enum { SR_REGNET_MAX_STAGES = 8 };
typedef struct {
    int depth;         // blocks
    double w_0;        // width of the first block
    double w_a, w_m;   // slope of the widths over blocks; their ratio between stages
    int group_width;   // channels in a group of the 3x3 convolution
    double bottleneck; // inner channels over outer ones: 1
    bool
        nearest; // ClassyVision's fit of widths to groups: the nearest multiple, also where it is much smaller
} SrRegnetParams;
typedef struct {
    int n;
    int width[SR_REGNET_MAX_STAGES], blocks[SR_REGNET_MAX_STAGES];
    int group_width[SR_REGNET_MAX_STAGES];
} SrRegnetLayout;

// Blocks' widths on the line w_0 + w_a i, rounded to w_0 w_m^k and then to multiples of 8; equal ones are a
// stage, whose width is made a multiple of its groups'.  Where there are more stages than room the blocks do not add up to `depth`.
SrRegnetLayout sr_regnet_layout(const SrRegnetParams *p);

#endif
