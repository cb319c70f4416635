// Mixes images of a batch with each other: mixup (Zhang et al., arXiv:1710.09412) and CutMix (Yun
// et al., arXiv:1905.04899), drawn as in timm and VISSL.
#ifndef SR_DATA_COLLATORS_MIX_H
#define SR_DATA_COLLATORS_MIX_H

#include "data/collator.h"

enum { SR_MIX_BATCH, SR_MIX_PAIR, SR_MIX_ELEM };

typedef struct {
    double mixup_alpha, cutmix_alpha; // lambda is Beta(alpha, alpha); 0: never
    SrDoubles cutmix_minmax;          // range of the box's share of a side; n 0: lambda decides
    double prob, switch_prob;         // probability of mixing; of CutMix if both are possible
    int mode;                         // one draw per batch, pair of images or image (SR_MIX_*)
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

// Source of random numbers; a test can replay recorded ones.  A number is identified by `what`,
// view v and image i (0 for a whole batch), and stays the same however often it is asked for.
typedef struct {
    // Returns a uniform number or one of Beta(alpha, alpha), as `what` says.
    double (*number)(void *arg, SrMixNumber what, int v, int i, double alpha);
    int (*whole)(void *arg, SrMixNumber what, int v, int i, int low, int high); // low .. high - 1
    void *arg;
} SrMixDraws;
SrMixDraws sr__mix_draws(const SrCollateContext *ctx);

// Mixture that replaces image i, with j = n - 1 - i.  Mixup gives lambda x_i + (1 - lambda) x_j,
// and CutMix gives x_i with a box of x_j.
typedef struct {
    double lambda;                // share of x_i, in the label too
    bool cut;                     // CutMix; false: mixup
    int top, bottom, left, right; // bounds of the box in pixels, without bottom and right
} SrMixed;
SrMixed sr__mix_of(const SrMix *mix, SrMixDraws draws, int v, int i, int n, int h, int w);
// Mixes all images of view v, (N, h, w, C), in place.
void sr__mix_view(const SrMix *mix, SrMixDraws draws, int v, const SrBatch *batch);
// Blends images 2 m and 2 m + 1 of every view to image m, with shares lambda and 1 - lambda.
// Label, index and validity are those of image 2 m.
void sr__mixup_neighbours(SrBatch *batch, double lambda);

#endif
