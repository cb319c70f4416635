// ImgReplicatePil: copies of the same image, so that later transforms treat each differently
// (VISSL).
#include <stddef.h>

#include "data/pixels/pixel_geometry.h"
#include "data/transform.h"

typedef struct {
    int num_times;
} Params;

// clang-format off
static const SrOption options[] = {
    {"num_times", SR_OPT_INT, offsetof(Params, num_times), "2", 1, 64,
     .help = "Number of copies, including the original."},
    SR_OPTION_END};
// clang-format on

static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    const Params *p = params;
    if (*n != 1)
        SR_FAIL(SR_ERR_CONFIG, "needs one image, but a transform before it makes %d", *n);
    *n = p->num_times;
    for (int v = 1; v < *n; v++) {
        h[v] = h[0];
        w[v] = w[0];
    }
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    views->n = p->num_times;
    for (int v = 1; v < views->n; v++) // copied: what follows works in place
        SR_TRY(sr_pixel_copy(&views->view[0], ctx->pool, &views->view[v]));
    return SR_OK;
}

const SrTransform sr_transform_img_replicate_pil = {
    .name = "ImgReplicatePil",
    .help = "Copies an image; each copy is then augmented independently.",
    .stands_on = "",
    .fixed = true,
    .options = options,
    .params_bytes = sizeof(Params),
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
