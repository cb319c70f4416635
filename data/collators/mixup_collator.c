// mixup_collator: mixup of images without labels, as lightly-train's distillation mixes its inputs
// (mixup: Zhang et al., arXiv:1710.09412):
//
//   x_i <- l x_i + (1 - l) x_j,   j = (i + k) mod n,   l ~ Beta(alpha, alpha),   k from 0 .. n - 1
//
// One l and one k hold for a batch of n images and for all views of them.  Batches are shuffled, so
// that j is any image of the batch with equal chance.  Index and label of a row stay those of x_i:
// losses that read labels need cutmixup_collator.
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "data/collator.h"
#include "data/image.h"

typedef struct {
    double alpha;
} Params;

static const SrOption options[] = {
    {"mixup_alpha", SR_OPT_FLOAT, offsetof(Params, alpha), "1.0", 1e-3, 1e6,
     .help = "alpha of Beta(alpha, alpha), which the blending weight is drawn from; 1: uniform."},
    SR_OPTION_END};

static SrStatus plan(const void *params, SrBatchPlan *p) {
    (void)params;
    if (p->made.n > 0)
        SR_FAIL(SR_ERR_CONFIG, "cannot mix the tensor '%s' that the transforms make of each image",
                p->made.v[0].name);
    return sr_batch_plan_list(p, "data");
}

// Mixes columns of x, rows of n images that begin `stride` floats apart.  Goes along each cycle of
// i -> i + k; the cycle's last image is mixed with the first one as it was.
static void mix_columns(float *x, int64_t stride, int width, int n, int k, float l) {
    float first[1024];
    bool whole = false;
    for (int start = 0; !whole; start++) {
        int i = start, visited = 0;
        memcpy(first, x + start * stride, (size_t)width * sizeof *first);
        do {
            int j = (i + k) % n;
            float *to = x + i * stride;
            const float *from = j == start ? first : x + j * stride;
            for (int c = 0; c < width; c++)
                to[c] = l * to[c] + (1 - l) * from[c];
            i = j;
            visited++;
        } while (i != start);
        whole = (int64_t)(start + 1) * visited >= n; // all cycles are equally long
    }
}

static void fill(const void *params, const SrBatchPlan *plan, const SrCollateContext *ctx,
                 SrBatch *batch) {
    enum { WIDTH = 1024 };
    (void)plan;
    SrRng rng =
        sr_rng(ctx->seed, SR_RNG_COLLATE, (uint64_t)ctx->epoch, (uint64_t)ctx->number, 0, 0);
    int n = batch->batch, k = (int)sr_rng_below(&rng, (uint32_t)SR_MAX(n, 1));
    double alpha = ((const Params *)params)->alpha;
    float l = (float)sr_rng_beta(&rng, alpha, alpha);
    for (int v = 0; v < batch->n_views && n > 0; v++) {
        int64_t row = (int64_t)batch->h[v] * batch->w[v] * sr_channels(batch->channels);
        for (int64_t at = 0; at < row; at += WIDTH)
            mix_columns(batch->view[v] + at, row, (int)SR_MIN(WIDTH, row - at), n, k, l);
    }
}

static const SrCollatorExample examples[] = {{.sizes = {8, 8, 4}},
                                             {.options = "{mixup_alpha: 0.2}", .sizes = {24}}};

const SrCollator sr_collator_mixup_collator = {
    .name = "mixup_collator",
    .help = "Mixes the images of a batch by mixup, for losses without labels.",
    .options = options,
    .params_bytes = sizeof(Params),
    .plan = plan,
    .blends = true,
    .fill = fill,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
