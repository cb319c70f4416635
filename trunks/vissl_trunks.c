// Lists VISSL's trunks and their maps.  REGNET and EFFICIENT_NETS are empty in VISSL too, because
// their keys are the constructor's.
#include "trunks/vissl_trunks.h"

// clang-format off
const char *const sr_vissl_trunk_names[] = {
    "alexnet_bvlc", "alexnet_colorization", "alexnet_deepcluster", "alexnet_jigsaw", "alexnet_rotnet", "beit",
    "classy_vit", "convit", "convnext", "efficientnet", "mobilenetv3_timm", "mobilenetv3_tv", "regnet", "regnet_v2",
    "resnet", "resnet_sk", "swin_transformer", "swin_transformer_official", "vision_transformer", "xcit", NULL};

const SrOption sr_vissl_trunk_maps[] = {
    {"RESNETS", SR_OPT_IGNORED, 0, "{}", .help = "this trunk is not implemented"},
    {"RESNETS_SK", SR_OPT_IGNORED, 0,
     "{DEPTH: 152, WIDTH_MULTIPLIER: 3, SK_RATIO: 0.0625}", .help = "this trunk is not implemented"},
    {"EFFICIENT_NETS", SR_OPT_IGNORED, 0, "{}", .help = "this trunk is not implemented"},
    {"MOBILE_NET", SR_OPT_IGNORED, 0,
     "{NAME: mobilenetv3_large_100, TIMM_BN: False}", .help = "this trunk is not implemented"},
    {"REGNET", SR_OPT_IGNORED, 0, "{}", .help = "this trunk is not implemented"},
    {"XCIT", SR_OPT_IGNORED, 0,
     "{IMAGE_SIZE: 224, PATCH_SIZE: 16, HIDDEN_DIM: 384, NUM_LAYERS: 12, NUM_HEADS: 8, "
     "MLP_RATIO: 4, DROPOUT_RATE: 0, ATTENTION_DROPOUT_RATE: 0, DROP_PATH_RATE: 0.05, ETA: "
     "1, TOKENS_NORM: True, QKV_BIAS: True, QK_SCALE: False, CHECKPOINT_XCA_BLOCK: False, "
     "CHECKPOINT_ATTN_BLOCK: False}",
     .help = "this trunk is not implemented"},
    {"SWIN_TRANSFORMER", SR_OPT_IGNORED, 0,
     "{IMAGE_SIZE: 224, PATCH_SIZE: 4, EMBED_DIM: 96, DEPTHS: [2, 2, 6, 2], NUM_HEADS: [3, "
     "6, 12, 24], WINDOW_SIZE: 7, MLP_RATIO: 4, DROPOUT_RATE: 0, ATTENTION_DROPOUT_RATE: 0, "
     "DROP_PATH_RATE: 0.1, QKV_BIAS: True, QK_SCALE: False}",
     .help = "this trunk is not implemented"},
    {"BEIT", SR_OPT_IGNORED, 0,
     "{IMAGE_SIZE: 224, PATCH_SIZE: 16, NUM_LAYERS: 12, NUM_HEADS: 12, HIDDEN_DIM: 768, "
     "MLP_RATIO: 4, DROPOUT_RATE: 0, ATTENTION_DROPOUT_RATE: 0, DROP_PATH_RATE: 0, "
     "QKV_BIAS: False, QK_SCALE: False, USE_ABS_POS_EMB: True, USE_REL_POS_BIAS: False, "
     "USE_SHARED_REL_POS_BIAS: False, USE_MEAN_POOLING: True, INIT_VALUES: False}",
     .help = "this trunk is not implemented"},
    {"CONVNEXT", SR_OPT_IGNORED, 0,
     "{DEPTH: [3, 3, 27, 3], DIMS: [96, 192, 384, 768], DROP_PATH_RATE: 0}", .help = "this trunk is not implemented"},
    {"CONVIT", SR_OPT_IGNORED, 0,
     "{N_GPSA_LAYERS: 10, CLASS_TOKEN_IN_LOCAL_LAYERS: False, LOCALITY_STRENGTH: 1.0, "
     "LOCALITY_DIM: 10, USE_LOCAL_INIT: True}",
     .help = "this trunk is not implemented"},
    SR_OPTION_END,
};
// clang-format on
