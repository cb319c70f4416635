// Masks of random rectangles: rectangles are drawn until enough patches are hidden.
#include "data/augment/shared/block_mask.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"

static double rng_uniform(void *arg, double low, double high) {
    return low + (high - low) * sr_rng_uniform(arg); // high may lie below low
}

static int rng_whole(void *arg, int low, int high) {
    return low + (int)sr_rng_below(arg, (uint32_t)(high - low + 1));
}

SrDraws sr__draws_of(SrRng *rng) { return (SrDraws){rng_uniform, rng_whole, rng}; }

typedef struct {
    int h, w;
    uint8_t *mask; // (h, w)
} Grid;

// Hides a rectangle and returns the number of newly hidden patches.  0: it would hide nothing
// new, or more than `room` patches, and is left out.
static int hide(Grid g, int top, int left, int h, int w, int room) {
    int fresh = h * w;
    for (int y = top; y < top + h; y++)
        for (int x = left; x < left + w; x++)
            fresh -= g.mask[y * g.w + x];
    if (fresh <= 0 || fresh > room)
        return 0;
    for (int y = top; y < top + h; y++)
        memset(g.mask + y * g.w + left, 1, (size_t)w);
    return fresh;
}

// Tries up to ten rectangles and takes the first that fits.  0: none fits.
static int add_block(const SrBlockMask *p, SrDraws d, Grid g, int room) {
    int low = SR_MIN(g.h, g.w) / 3;
    for (int try = 0; try < 10; try++) {
        double area = d.uniform(d.arg, low * low, room);
        double aspect = exp(d.uniform(d.arg, p->log_aspect[0], p->log_aspect[1]));
        double h = rint(sqrt(area * aspect)), w = rint(sqrt(area / aspect));
        if (!(w < g.w && h < g.h))
            continue;
        int top = d.whole(d.arg, 0, g.h - (int)h), left = d.whole(d.arg, 0, g.w - (int)w);
        int fresh = hide(g, top, left, (int)h, (int)w, room);
        if (fresh > 0)
            return fresh;
    }
    return 0;
}

int sr__block_mask_draw(const SrBlockMask *p, SrDraws d, int h, int w, uint8_t *mask) {
    Grid g = {h, w, mask};
    int i = d.whole(d.arg, 0, p->n_ratios - 1), hidden = 0;
    double ratio = p->mean[i], var = p->var[i];
    if (var > 0)
        ratio = d.uniform(d.arg, ratio - var, ratio + var);
    int wanted = (int)(h * w * ratio);
    memset(mask, 0, (size_t)h * (size_t)w);
    while (hidden < wanted) {
        int fresh = add_block(p, d, g, wanted - hidden);
        if (fresh == 0)
            break;
        hidden += fresh;
    }
    return hidden;
}
