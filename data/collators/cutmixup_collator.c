// cutmixup_collator: mixes image i of a batch of n with image n - 1 - i, by mixup or CutMix, each
// view separately.  The target of an image is the same mixture of smoothed labels (VISSL, after
// timm's Mixup).
//
// For losses without labels ssl_method names the views.  VISSL then gives data_idx and data_valid
// in another order; here both stay those of image i.  timm refuses batches of an odd size; here
// the image in the middle is mixed with itself.
#include "data/collators/cutmixup_collator.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "data/collator.h"
#include "data/collators/mix.h"
#include "data/extras.h"

enum { SSL_NONE, SSL_SIMCLR, SSL_MOCO, SSL_SWAV };

typedef struct {
    SrMix mix;
    double label_smoothing;
    int num_classes, ssl_method;
} Params;

#define FIELD(f) offsetof(Params, f)
// clang-format off
static const SrOption options[] = {
    {"mixup_alpha", SR_OPT_FLOAT, FIELD(mix.mixup_alpha), "1.0", 0, 1e6,
     .help = "alpha of Beta(alpha, alpha), which mixup draws its blending weight from; 0: no mixup."},
    {"cutmix_alpha", SR_OPT_FLOAT, FIELD(mix.cutmix_alpha), "0.0", 0, 1e6,
     .help = "alpha of Beta(alpha, alpha), which CutMix draws its box size from; 0: no CutMix."},
    {"cutmix_minmax", SR_OPT_FLOATS, FIELD(mix.cutmix_minmax), "null", 0, 1,
     .help = "Range [least, most] of a box's side as a share of the image's; replaces cutmix_alpha."},
    {"prob", SR_OPT_FLOAT, FIELD(mix.prob), "1.0", 0, 1, .help = "Probability of mixing."},
    {"switch_prob", SR_OPT_FLOAT, FIELD(mix.switch_prob), "0.5", 0, 1,
     .help = "Probability of CutMix where mixup is possible too."},
    {"mode", SR_OPT_ENUM, FIELD(mix.mode), "batch", .choices = "batch|pair|elem",
     .help = "Drawn once for: the batch, two images that are mixed with each other (pair), or each image (elem)."},
    {"correct_lam", SR_OPT_BOOL, FIELD(mix.correct_lam), "True",
     .help = "Correct the label's weight if the image's border cuts off part of a box."},
    {"label_smoothing", SR_OPT_FLOAT, FIELD(label_smoothing), "0.1", 0, 1,
     .help = "Share of a target that is spread over all classes."},
    {"num_classes", SR_OPT_INT, FIELD(num_classes), "1000", 1, 1 << 24,
     .help = "Number of classes, which is the number of scores."},
    {"ssl_method", SR_OPT_ENUM, FIELD(ssl_method), "\"\"", .choices = "|simclr|moco|swav",
     .help = "Arrange the views as simclr_collator, moco_collator or multicrop_collator does."},
    SR_OPTION_END};
// clang-format on
#undef FIELD

static SrStatus check(const Params *p, const SrBatchPlan *plan) {
    SrDoubles share = p->mix.cutmix_minmax;
    if (share.n != 0 && (share.n != 2 || share.v[0] > share.v[1]))
        SR_FAIL(SR_ERR_CONFIG, "cutmix_minmax: expected [least, most]");
    if (p->mix.mixup_alpha <= 0 && p->mix.cutmix_alpha <= 0 && share.n == 0)
        SR_FAIL(SR_ERR_CONFIG, "mixup_alpha and cutmix_alpha are 0, so nothing is mixed; raise one "
                               "of them, or use default_collate");
    if (plan->made.n > 0)
        SR_FAIL(SR_ERR_CONFIG, "cannot mix the tensor '%s' that the transforms make of each image",
                plan->made.v[0].name);
    if (p->ssl_method == SSL_MOCO && plan->n_views != 2)
        SR_FAIL(SR_ERR_CONFIG,
                "ssl_method moco needs 2 views per image, but the transforms make %d",
                plan->n_views);
    for (int v = 1; v < plan->n_views && p->ssl_method == SSL_SIMCLR; v++)
        if (plan->h[v] != plan->h[0] || plan->w[v] != plan->w[0])
            SR_FAIL(SR_ERR_CONFIG,
                    "ssl_method simclr needs views of equal size, but view %d differs", v);
    return SR_OK;
}

static SrStatus plan(const void *params, SrBatchPlan *plan) {
    const Params *p = params;
    SR_TRY(check(p, plan));
    for (int v = 0; v < plan->n_views; v++) {
        bool momentum = p->ssl_method == SSL_MOCO && v == 1;
        SrBatchExtra target = {.name = SR_EXTRA_LABEL,
                               .view = v,
                               .shape = SR_SHAPE(p->num_classes),
                               .dtype = SR_F32,
                               .from = -1};
        SR_TRY(sr_batch_plan_input(plan, momentum ? "data_momentum" : "data", v, 1));
        SR_TRY(sr_extras_add(&plan->extras, &target));
    }
    return SR_OK;
}

// CutMix is on if its shares are given, even with alpha 0.
static SrMix mix_of(const Params *p) {
    SrMix mix = p->mix;
    if (mix.cutmix_minmax.n > 0)
        mix.cutmix_alpha = 1;
    return mix;
}

static void add_label(const Params *p, int64_t label, double share, float *target) {
    double off = p->label_smoothing / p->num_classes;
    for (int c = 0; c < p->num_classes; c++)
        target[c] += (float)(share * (c == label ? 1 - p->label_smoothing + off : off));
}

void sr__cutmixup_fill(const void *params, SrMixDraws draws, SrBatch *batch) {
    const Params *p = params;
    SrMix mix = mix_of(p);
    int n = batch->batch;
    for (int v = 0; v < batch->n_views; v++) {
        float *targets = batch->extra[v]; // (n, num_classes)
        memset(targets, 0, (size_t)n * (size_t)p->num_classes * sizeof *targets);
        for (int i = 0; i < n; i++) {
            SrMixed m = sr__mix_of(&mix, draws, v, i, n, batch->h[v], batch->w[v]);
            float *target = targets + (int64_t)i * p->num_classes;
            add_label(p, batch->label[i], m.lambda, target);
            add_label(p, batch->label[n - 1 - i], 1 - m.lambda, target);
        }
        sr__mix_view(&mix, draws, v, batch);
    }
}

static void fill(const void *params, const SrBatchPlan *plan, const SrCollateContext *ctx,
                 SrBatch *batch) {
    (void)plan;
    sr__cutmixup_fill(params, sr__mix_draws(ctx), batch);
}

static const SrCollatorExample examples[] = {
    {.options = "{mixup_alpha: 0.8, cutmix_alpha: 1.0, mode: elem, num_classes: 3}", .sizes = {8}},
    {.options = "{cutmix_minmax: [0.2, 0.8], mixup_alpha: 0, mode: pair, num_classes: 3, "
                "ssl_method: moco}",
     .sizes = {8, 8}},
    {.options = "{num_classes: 3, ssl_method: swav}", .sizes = {8, 8, 4}},
};

const SrCollator sr_collator_cutmixup_collator = {
    .name = "cutmixup_collator",
    .help = "Mixes images in pairs by mixup and CutMix, with soft labels.",
    .options = options,
    .params_bytes = sizeof(Params),
    .plan = plan,
    .fill = fill,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
