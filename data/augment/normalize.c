// Normalize: (x - mean) / std for each channel (torchvision); stands after ToTensor.
#include <stddef.h>

#include "data/pixels/pixel_float.h"
#include "data/transform.h"

#include "data/augment/normalize.h"

// clang-format off
static const SrOption options[] = {
    {"mean", SR_OPT_FLOATS, offsetof(SrNormalize, mean), "[0.485, 0.456, 0.406]", -1e6, 1e6, .help = "Mean of each channel."},
    {"std", SR_OPT_FLOATS, offsetof(SrNormalize, std), "[0.229, 0.224, 0.225]", 1e-6, 1e6, .help = "Standard deviation of each channel."},
    SR_OPTION_END};
// clang-format on

static SrStatus check_channels(const void *params, int channels) {
    const SrNormalize *p = params;
    if (p->mean.n != channels || p->std.n != channels)
        SR_FAIL(SR_ERR_CONFIG, "mean and std have %d and %d entries, expected %d (%s)", p->mean.n,
                p->std.n, channels, channels == 3 ? "red, green, blue" : "DATA.CHANNELS");
    return SR_OK;
}

// In place: the floats are this view's own.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    (void)ctx;
    const SrNormalize *p = params;
    for (int v = 0; v < views->n; v++)
        sr_pixel_normalize(&views->view[v], p->mean.v, p->std.v);
    return SR_OK;
}

const SrTransform sr_transform_normalize = {
    .name = "Normalize",
    .help = "Subtracts each channel's mean and divides by its standard deviation.",
    .fixed = true,
    .options = options,
    .params_bytes = sizeof(SrNormalize),
    .normalizes = true,
    .takes_floats = true,
    .gives_floats = true,
    .check_channels = check_channels,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
