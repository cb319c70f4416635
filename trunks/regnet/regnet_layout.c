// Computes widths and depths of RegNets.
#include "trunks/regnet/regnet_layout.h"

#include <math.h>

#include "trunks/shared/conv_norm.h"

static void fit_groups(const SrRegnetParams *p, SrRegnetLayout *out, int s) {
    int inner = (int)(out->width[s] * p->bottleneck);
    int group = p->group_width < inner ? p->group_width : inner;
    int whole =
        p->nearest ? (int)rint((double)inner / group) * group : sr_make_divisible(inner, group);
    out->group_width[s] = group;
    out->width[s] = (int)(whole / p->bottleneck);
}

SrRegnetLayout sr_regnet_layout(const SrRegnetParams *p) {
    SrRegnetLayout out = {.n = 0};
    for (int i = 0; i < p->depth; i++) {
        double line = p->w_0 + p->w_a * i, k = rint(log(line / p->w_0) / log(p->w_m));
        int width = (int)(rint(p->w_0 * pow(p->w_m, k) / 8) * 8);
        if (out.n > 0 && out.width[out.n - 1] == width) {
            out.blocks[out.n - 1]++;
        } else if (out.n < SR_REGNET_MAX_STAGES) {
            out.width[out.n] = width;
            out.blocks[out.n++] = 1;
        }
    }
    for (int s = 0; s < out.n; s++)
        fit_groups(p, &out, s);
    return out;
}
