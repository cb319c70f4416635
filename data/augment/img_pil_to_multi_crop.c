// ImgPilToMultiCrop: several random resized crops of one image, in groups of one size and area
// range (SwAV, arXiv:2006.09882, section 3.2).
#include <stddef.h>

#include "data/augment/shared/crop.h"
#include "data/pixels/pixel_geometry.h"
#include "data/transform.h"

typedef struct {
    int total;
    SrInts counts, sizes; // one entry per group
    const SrYaml *scales; // list of [low, high], one per group
    int interpolation;
    double scale[SR_MAX_VIEWS][2]; // read from `scales`
    SrCropStyle style;
} Params;

// clang-format off
static const SrOption options[] = {
    {"total_num_crops", SR_OPT_INT, offsetof(Params, total), "2", 1, SR_MAX_VIEWS,
     .help = "Number of crops per image, the sum of num_crops."},
    {"num_crops", SR_OPT_INTS, offsetof(Params, counts), "[2]", 1, SR_MAX_VIEWS, .help = "Number of crops in each"
     " group."},
    {"size_crops", SR_OPT_INTS, offsetof(Params, sizes), "[224]", 1, 4096, .help = "Side of each group's crops in pixels."},
    {"crop_scales", SR_OPT_TREE, offsetof(Params, scales), "[[0.14, 1]]",
     .help = "Range [low, high] of a crop's share of the image's area, for each group."},
    {"interpolation", SR_OPT_ENUM, offsetof(Params, interpolation), "bilinear", .choices = SR_FILTER_CHOICES, .help = "Resampling filter, by name or PIL's number."},
    SR_OPTION_END};
// clang-format on

static bool is_number(const SrYaml *node) {
    return node->type == SR_YAML_INT || node->type == SR_YAML_FLOAT;
}

// Reads [low, high] of group g.
static SrStatus read_scale(const SrYaml *pair, const char *where, int g, double scale[2]) {
    bool numbers = pair->type == SR_YAML_LIST && pair->n == 2 && is_number(pair->items[0]) &&
                   is_number(pair->items[1]);
    if (numbers) {
        scale[0] = pair->items[0]->f;
        scale[1] = pair->items[1]->f;
    }
    if (!numbers || !(scale[0] > 0 && scale[0] <= scale[1] && scale[1] <= 1))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s.crop_scales[%d]: expected [low, high] with 0 < low <= high <= 1",
                sr_yaml_place(pair).text, where, g);
    return SR_OK;
}

// The option table knows no list of pairs: crop_scales is read here, into `scale`, with its own
// checks.
static SrStatus prepare(void *params, const char *where, uint32_t stage, SrArena *arena) {
    (void)stage;
    (void)arena;
    Params *p = params;
    p->style.filter = (SrFilter)(p->interpolation % SR_FILTERS);
    const SrYaml *list = p->scales;
    if (!list || list->type != SR_YAML_LIST || list->n != p->sizes.n || p->counts.n != p->sizes.n ||
        list->n > SR_MAX_VIEWS)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: num_crops, size_crops and crop_scales have %d, %d and %d entries; expected "
                "equal numbers",
                where, p->counts.n, p->sizes.n, list && list->type == SR_YAML_LIST ? list->n : 0);
    for (int g = 0; g < list->n; g++)
        SR_TRY(read_scale(list->items[g], where, g, p->scale[g]));
    return SR_OK;
}

// total_num_crops is redundant and VISSL asserts it; a typo in num_crops is found by it.
static SrStatus check(const void *params) {
    const Params *p = params;
    int sum = 0;
    for (int g = 0; g < p->counts.n; g++)
        sum += p->counts.v[g];
    if (sum != p->total)
        SR_FAIL(SR_ERR_CONFIG, "num_crops add up to %d, but total_num_crops is %d; make them equal",
                sum, p->total);
    return SR_OK;
}

// Group after group: the large crops come first, as the loss numbers them.
static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    const Params *p = params;
    if (*n != 1)
        SR_FAIL(SR_ERR_CONFIG, "needs one image, but a transform before it makes %d", *n);
    *n = 0;
    for (int g = 0; g < p->counts.n; g++)
        for (int i = 0; i < p->counts.v[g]; i++, ++*n)
            h[*n] = w[*n] = p->sizes.v[g];
    return SR_OK;
}

static bool absorb(void *params, const SrTransform *next, const void *next_params,
                   uint32_t next_stage) {
    return sr__crop_absorb(&((Params *)params)->style, next, next_params, next_stage);
}

// Each crop resamples its own box of the source only; the source itself is never resized.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    static const double ratio[2] = {3.0 / 4, 4.0 / 3};
    SrImage src = views->view[0];
    SrCrop crops[SR_MAX_VIEWS];
    int v = 0;
    for (int g = 0; g < p->counts.n; g++)
        for (int i = 0; i < p->counts.v[g]; i++, v++) {
            SrRng rng = sr__transform_rng(ctx, v);
            SrBox box = sr_pixel_draw_box(&rng, src.H, src.W, p->scale[g], ratio);
            crops[v] = (SrCrop){box, p->sizes.v[g], p->sizes.v[g]};
        }
    views->n = v;
    return sr__crop_all(&p->style, ctx, src, crops, 0, v, views->view);
}

const SrTransform sr_transform_img_pil_to_multi_crop = {
    .name = "ImgPilToMultiCrop",
    .help = "Cuts several random resized crops out of an image; the crops of a group share size "
            "and range of area.",
    .stands_on = "",
    .options = options,
    .params_bytes = sizeof(Params),
    .box_scale = "crop_scales.0",
    .takes_encoded = true,
    .prepare = prepare,
    .absorb = absorb,
    .check = check,
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
