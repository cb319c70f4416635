// Mixup and CutMix: draws, boxes, and the mixture of pairs of images.
#include "data/collators/mix.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "data/collator.h"
#include "data/image.h"

// ---- draws

// Every number has a stream of its own, so that asking for one changes no other.
static SrRng rng_of(const SrCollateContext *ctx, SrMixNumber what, int v, int i) {
    return sr_rng(ctx->seed, SR_RNG_COLLATE, (uint64_t)ctx->epoch, (uint64_t)ctx->number,
                  (uint32_t)(v * 16 + (int)what), (uint32_t)i);
}

static double number(void *arg, SrMixNumber what, int v, int i, double alpha) {
    SrRng rng = rng_of(arg, what, v, i);
    bool beta = what == SR_MIX_BETA_CUTMIX || what == SR_MIX_BETA_MIXUP;
    return beta ? sr_rng_beta(&rng, alpha, alpha) : sr_rng_uniform(&rng);
}

static int whole(void *arg, SrMixNumber what, int v, int i, int low, int high) {
    SrRng rng = rng_of(arg, what, v, i);
    return low + (int)sr_rng_below(&rng, (uint32_t)SR_MAX(high - low, 1));
}

SrMixDraws sr__mix_draws(const SrCollateContext *ctx) {
    return (SrMixDraws){number, whole, (void *)ctx};
}

typedef struct {
    const SrMix *mix;
    SrMixDraws d;
    int v, i, h, w;
} Draw;

static int draw_whole(const Draw *d, SrMixNumber what, int low, int high) {
    return d->d.whole(d->d.arg, what, d->v, d->i, low, high);
}

static double draw_number(const Draw *d, SrMixNumber what, double alpha) {
    return d->d.number(d->d.arg, what, d->v, d->i, alpha);
}

// ---- the box

static int clip(int x, int high) { return SR_MIN(SR_MAX(x, 0), high); }

// Draws a box around a random centre, cut off at the image's border.
static void box_by_lambda(const Draw *d, SrMixed *m) {
    double ratio = sqrt(1 - m->lambda);
    int h = (int)(d->h * ratio), w = (int)(d->w * ratio);
    int y = draw_whole(d, SR_MIX_Y, 0, d->h), x = draw_whole(d, SR_MIX_X, 0, d->w);
    m->top = clip(y - h / 2, d->h);
    m->bottom = clip(y + h / 2, d->h);
    m->left = clip(x - w / 2, d->w);
    m->right = clip(x + w / 2, d->w);
}

static void box_by_share(const Draw *d, SrMixed *m) {
    const double *share = d->mix->cutmix_minmax.v;
    int h = draw_whole(d, SR_MIX_H, (int)(d->h * share[0]), (int)(d->h * share[1]));
    int w = draw_whole(d, SR_MIX_W, (int)(d->w * share[0]), (int)(d->w * share[1]));
    m->top = draw_whole(d, SR_MIX_Y, 0, d->h - h);
    m->left = draw_whole(d, SR_MIX_X, 0, d->w - w);
    m->bottom = m->top + h;
    m->right = m->left + w;
}

static void draw_box(const Draw *d, SrMixed *m) {
    bool by_share = d->mix->cutmix_minmax.n > 0;
    if (by_share)
        box_by_share(d, m);
    else
        box_by_lambda(d, m);
    if (by_share || d->mix->correct_lam)
        m->lambda =
            1 - (double)((m->bottom - m->top) * (m->right - m->left)) / ((double)d->h * d->w);
}

// ---- an image

SrMixed sr__mix_of(const SrMix *mix, SrMixDraws draws, int v, int i, int n, int h, int w) {
    int of = mix->mode == SR_MIX_BATCH ? 0 : mix->mode == SR_MIX_PAIR ? SR_MIN(i, n - 1 - i) : i;
    Draw d = {mix, draws, v, of, h, w};
    SrMixed m = {.lambda = 1};
    bool cuts = mix->cutmix_alpha > 0, blends = mix->mixup_alpha > 0;
    if (!(draw_number(&d, SR_MIX_APPLY, 0) < mix->prob) || (!cuts && !blends))
        return m;
    m.cut = cuts && (!blends || draw_number(&d, SR_MIX_SWITCH, 0) < mix->switch_prob);
    m.lambda = m.cut ? draw_number(&d, SR_MIX_BETA_CUTMIX, mix->cutmix_alpha)
                     : draw_number(&d, SR_MIX_BETA_MIXUP, mix->mixup_alpha);
    if (m.cut && m.lambda < 1)
        draw_box(&d, &m);
    return m;
}

// Share of the image itself at row y, column x.
static float share_at(const SrMixed *m, int y, int x) {
    if (!m->cut)
        return (float)m->lambda;
    return y >= m->top && y < m->bottom && x >= m->left && x < m->right ? 0.0F : 1.0F;
}

// Mixes both images of a pair at once, because each needs the unmixed other.
static void mix_pair(float *a, float *b, const SrMixed *ma, const SrMixed *mb, int h, int w,
                     int channels) {
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float sa = share_at(ma, y, x), sb = share_at(mb, y, x);
            for (int c = 0; c < channels; c++, a++, b++) {
                float pa = *a, pb = *b;
                *a = pa * sa + pb * (1 - sa);
                *b = pb * sb + pa * (1 - sb);
            }
        }
}

void sr__mix_view(const SrMix *mix, SrMixDraws draws, int v, const SrBatch *batch) {
    int n = batch->batch, h = batch->h[v], w = batch->w[v];
    float *view = batch->view[v];
    int channels = sr_channels(batch->channels);
    int64_t samples = (int64_t)h * w * channels;
    for (int i = 0; i < n / 2; i++) { // the middle image of an odd number is its own partner
        int j = n - 1 - i;
        SrMixed a = sr__mix_of(mix, draws, v, i, n, h, w),
                b = sr__mix_of(mix, draws, v, j, n, h, w);
        mix_pair(view + i * samples, view + j * samples, &a, &b, h, w, channels);
    }
}

// ---- neighbours

static void blend_view(float *view, int n, int64_t pixels, float lambda) {
    for (int m = 0; m < (n + 1) / 2; m++) {
        const float *a = view + 2 * m * pixels, *b = 2 * m + 1 < n ? a + pixels : a;
        float *to = view + m * pixels;
        for (int64_t i = 0; i < pixels; i++)
            to[i] = a[i] * lambda + b[i] * (1 - lambda);
    }
}

void sr__mixup_neighbours(SrBatch *batch, double lambda) {
    int n = batch->batch;
    for (int v = 0; v < batch->n_views; v++) {
        int64_t samples = (int64_t)batch->h[v] * batch->w[v] * sr_channels(batch->channels);
        blend_view(batch->view[v], n, samples, (float)lambda);
    }
    size_t length = (size_t)SR_MAX(batch->n_targets, 1);
    for (int m = 0; m < (n + 1) / 2; m++) {
        memmove(batch->label + (size_t)m * length, batch->label + 2 * (size_t)m * length,
                length * sizeof *batch->label);
        batch->index[m] = batch->index[2 * m];
        batch->valid[m] = batch->valid[2 * m];
    }
    batch->batch = (n + 1) / 2;
}
