// Draws boxes for RandomErasing and overwrites them.
#include "data/augment/shared/erasing.h"

#include <math.h>

#include "base/rng.h"

bool sr__erasing_draw(SrRng *rng, int H, int W, const double scale[2], const double ratio[2],
                      SrBox *box) {
    double log_low = log(ratio[0]), log_high = log(ratio[1]);
    for (int try = 0; try < 10; try++) {
        double area = (double)H * W * sr_rng_range(rng, scale[0], scale[1]);
        double aspect = exp(sr_rng_range(rng, log_low, log_high));
        double h = rint(sqrt(area * aspect)), w = rint(sqrt(area / aspect));
        if (!(h < H && w < W))
            continue;
        int top = (int)sr_rng_below(rng, (uint32_t)(H - (int)h + 1));
        int left = (int)sr_rng_below(rng, (uint32_t)(W - (int)w + 1));
        *box = (SrBox){top, left, (int)h, (int)w};
        return true;
    }
    return false;
}

void sr__erasing_apply(SrImage *image, SrBox box, const double *level, int n_levels, SrRng *noise) {
    int C = sr_channels(image->channels);
    for (int y = 0; y < box.h; y++) {
        float *to = image->f + ((int64_t)(box.top + y) * image->W + box.left) * C;
        for (int i = 0; i < C * box.w; i++)
            to[i] = (float)(noise ? sr_rng_normal(noise) : level[n_levels > 1 ? i % C : 0]);
    }
}
