// Images of a batch mixed with each other: mixup (Zhang et al., arXiv:1710.09412) and CutMix (Yun et al.,
// arXiv:1905.04899), as timm and VISSL draw them.
#ifndef SR_DATA_COLLATORS_MIX_H
#define SR_DATA_COLLATORS_MIX_H

#include "data/data.h"

enum { SR_MIX_BATCH, SR_MIX_PAIR, SR_MIX_ELEM };

typedef struct {
    double mixup_alpha, cutmix_alpha; // of Beta(alpha, alpha); 0: never
    SrDoubles cutmix_minmax;          // shares of a side that the box has; n 0: lambda decides
    double prob, switch_prob;         // of mixing at all; of CutMix where both are possible
    int mode;                         // one draw a batch, a pair of images, an image
    bool correct_lam;                 // lambda becomes the share of pixels that stayed
} SrMix;

typedef enum {
    SR_MIX_APPLY, // uniform numbers
    SR_MIX_SWITCH,
    SR_MIX_BETA_CUTMIX,
    SR_MIX_BETA_MIXUP,
    SR_MIX_H, // whole numbers: size and place of the box
    SR_MIX_W,
    SR_MIX_Y,
    SR_MIX_X,
} SrMixNumber;

// Where the numbers come from, so that recorded ones can be replayed: the same for the same number of
// image i (0 for a whole batch) of view v, however often it is asked for.
typedef struct {
    double (*number)(void *arg, SrMixNumber what, int v, int i,
                     double alpha); // of Beta(alpha, alpha)
    int (*whole)(void *arg, SrMixNumber what, int v, int i, int low, int high); // low .. high - 1
    void *arg;
} SrMixDraws;
SrMixDraws sr__mix_draws(const SrCollateContext *ctx);

// What image i becomes: lambda x_i + (1 - lambda) x_j, or x_i with the box of x_j; j = n - 1 - i.
typedef struct {
    double lambda; // share of x_i, in its label too
    bool cut;
    int top, bottom, left, right; // of the box
} SrMixed;
SrMixed sr__mix_of(const SrMix *mix, SrMixDraws draws, int v, int i, int n, int h, int w);
// All images of view v, (n, h, w, 3), in place.
void sr__mix_view(const SrMix *mix, SrMixDraws draws, int v, float *view, int n, int h, int w);
// Images 2 m and 2 m + 1 of every view blended to image m, lambda and 1 - lambda; label, index and validity
// of 2 m.
void sr__mixup_neighbours(SrBatch *batch, double lambda);
// What cutmixup_collator does to a batch, with `draws`; params: its options.
void sr__cutmixup_fill(const void *params, SrMixDraws draws, SrBatch *batch);

#endif
