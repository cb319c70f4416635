// RegNet's rule for widths and depths of stages (Radosavovic et al., "Designing network design
// spaces", arXiv:2003.13678, section 3.3), shared by torchvision's nets and VISSL's.
#ifndef SR_TRUNKS_REGNET_REGNET_LAYOUT_H
#define SR_TRUNKS_REGNET_REGNET_LAYOUT_H

#include <stdbool.h>

enum { SR_REGNET_MAX_STAGES = 8 };
typedef struct {
    int depth;         // number of blocks
    double w_0;        // width of the first block
    double w_a, w_m;   // slope of the widths over blocks; ratio of widths between stages
    int group_width;   // channels in a group of the 3x3 convolution
    double bottleneck; // ratio of inner to outer channels: 1
    bool nearest;      // true: ClassyVision's fit of widths to groups, always the nearest multiple
} SrRegnetParams;
typedef struct {
    int n;
    int width[SR_REGNET_MAX_STAGES], blocks[SR_REGNET_MAX_STAGES];
    int group_width[SR_REGNET_MAX_STAGES];
} SrRegnetLayout;

// Computes block widths on the line w_0 + w_a i, rounded to w_0 w_m^k and then to multiples of 8.
// Blocks of equal width form a stage, whose width becomes a multiple of the group width.  If
// there are more stages than the result has room for, its blocks do not add up to `depth`.
SrRegnetLayout sr_regnet_layout(const SrRegnetParams *p);

#endif
