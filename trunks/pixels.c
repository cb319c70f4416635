// pixels: a "trunk" without parameters.  It averages the image over squares until no side is longer
// than `side`.  A probe of any trained trunk has to beat it.
#include "base/compiler.h"
#include "kernels/pool/pool2d.h"
#include "trunks/trunk.h"

typedef struct {
    int side;
} Pixels;

static const SrOption options[] = {
    {"SIDE", SR_OPT_INT, offsetof(Pixels, side), "32", 1, 65500,
     .help = "Largest side in pixels of the result; larger images are averaged over squares."},
    SR_OPTION_END,
};

// Raw pixels at 224 x 224 are 150,000 numbers, and their coarse structure holds most of their
// information.
static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Pixels *p = params;
    SrShape s = sr_build_shape(b, in->image); // (N, H, W, C)
    int square = (SR_MAX(s.d[1], s.d[2]) + p->side - 1) / SR_MAX(p->side, 1);
    SrPool2dParams pool = {.kernel_h = square, .kernel_w = square};
    SrNodeId x = square > 1 ? sr_build(b, "avg_pool2d", "pixels", &pool, in->image)
                            : sr_build(b, "identity", "pixels", NULL, in->image);
    sr_build_alias(b, "pixels", x);
    out->map = x;
    x = sr_build(b, "flatten", "flatten", NULL, x);
    sr_build_alias(b, "flatten", x);
    out->pooled = x;
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {{"{SIDE: 8}", 32, 48}};

const SrTrunk sr_trunk_pixels = {
    .name = "pixels",
    .help = "the pixels of the image themselves, a baseline for probes",
    .subtree = "MODEL.TRUNK.PIXELS",
    .options = options,
    .params_bytes = sizeof(Pixels),
    .build = build,
    .examples = SR_LIST(examples),
};
