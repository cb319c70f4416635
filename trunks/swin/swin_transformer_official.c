// The Swin transformer of its authors (vissl/models/trunks/swin_transformer_official.py): the net
// of trunks/swin/swin_transformer.c for images of MODEL.TRUNK.SWIN_TRANSFORMER.IMAGE_SIZE.  Its
// files of weights contain masks, which follow from the sizes and are skipped.
#include "trunks/swin/swin_transformer.h"

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    SrSwin p = *(const SrSwin *)params;
    SrShape s = sr_build_shape(b, in->image);
    p.official = true;
    if (s.d[1] != p.image_size || s.d[2] != p.image_size || p.image_size % p.patch_size)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "swin_transformer_official takes images of " SR_SWIN_TRANSFORMER
            ".IMAGE_SIZE %d in whole patches of %d, not %d x %d; swin_transformer takes any size",
            p.image_size, p.patch_size, s.d[1], s.d[2]);
    return sr_swin_build(b, &p, in->image, out);
}

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, EMBED_DIM: 8, DEPTHS: [2, 1], NUM_HEADS: [2, 2], WINDOW_SIZE: 4, "
     "DROPOUT_RATE: 0.1}",
     32, 0}};

const SrTrunk sr_trunk_swin_transformer_official = {
    .name = "swin_transformer_official",
    .help = "The Swin transformer for images of one size",
    .subtree = SR_SWIN_TRANSFORMER,
    .options = sr_swin_options,
    .params_bytes = sizeof(SrSwin),
    .build = build,
    .decays_by_name = true,
    .examples = SR_LIST(examples),
};
