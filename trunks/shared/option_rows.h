// Rows of option tables that several trunks share.  The table's file defines FIELD(f), the offset
// of field `f` in its struct, and the struct names its fields as the rows do.
#ifndef SR_TRUNKS_SHARED_OPTION_ROWS_H
#define SR_TRUNKS_SHARED_OPTION_ROWS_H

#include "base/plugin/option.h"

// clang-format off
// ---- transformers

#define SR_ROW_IMAGE_SIZE(initial) \
    {"IMAGE_SIZE", SR_OPT_INT, FIELD(image_size), initial, 1, 65535, \
     .help = "Side in pixels for which there are position embeddings; they are resampled for images of other sizes."}
#define SR_ROW_PATCH_SIZE(initial) \
    {"PATCH_SIZE", SR_OPT_INT, FIELD(patch_size), initial, 1, 1024, .help = "Side of a patch in pixels."}
// Number of blocks, number of heads and width of a token.
#define SR_ROWS_LAYERS(layers_, heads_, dim) \
    {"NUM_LAYERS", SR_OPT_INT, FIELD(layers), layers_, 1, SR_TOKEN_MAX_BLOCKS, .help = "Blocks."}, \
    {"NUM_HEADS", SR_OPT_INT, FIELD(heads), heads_, 1, 1024, .help = "Number of attention heads."}, \
    {"HIDDEN_DIM", SR_OPT_INT, FIELD(hidden_dim), dim, 1, 65536, .help = "Width of a token."}
#define SR_ROW_MLP_DIM(initial) \
    {"MLP_DIM", SR_OPT_INT, FIELD(mlp_dim), initial, 1, 1 << 20, .help = "Hidden width of a block's MLP."}
#define SR_ROW_MLP_RATIO \
    {"MLP_RATIO", SR_OPT_FLOAT, FIELD(mlp_ratio), "4", 0.01, 64, \
     .help = "Hidden width of a block's MLP, as a multiple of HIDDEN_DIM."}
#define SR_ROW_TOKEN_DROPOUT(name) \
    {name, SR_OPT_FLOAT, FIELD(dropout), "0", 0, 0.99, \
     .help = "Dropout of tokens, of the attention's output and in the MLP."}
#define SR_ROW_ATTENTION_DROPOUT(name) \
    {name, SR_OPT_FLOAT, FIELD(attention_dropout), "0", 0, 0.99, .help = "Dropout of attention probabilities."}
#define SR_ROW_DROP_PATH(name, initial) \
    {name, SR_OPT_FLOAT, FIELD(drop_path), initial, 0, 0.99, \
     .help = "Probability of leaving out a branch of the last block; earlier blocks have proportionally less."}
#define SR_ROW_QKV_BIAS(initial) \
    {"QKV_BIAS", SR_OPT_BOOL, FIELD(qkv_bias), initial, .help = "Queries, keys and values have biases."}
#define SR_ROW_QK_SCALE \
    {"QK_SCALE", SR_OPT_TREE, FIELD(qk_scale), "False", \
     .help = "Factor that scales attention scores before the softmax; False: 1 / sqrt(width of a head)."}
// A key of VISSL by which memory is saved.
#define SR_ROW_CHECKPOINT(name) \
    {name, SR_OPT_IGNORED, 0, "False", \
     .help = "MODEL.ACTIVATION_CHECKPOINTING and MACHINE.RECOMPUTE decide what is recomputed"}

// ---- convolutional nets

#define SR_ROW_WIDTH_MULTIPLIER(min) \
    {"WIDTH_MULTIPLIER", SR_OPT_FLOAT, FIELD(width_multiplier), "1", min, 16, \
     .help = "Factor on the channels of every layer."}
#define SR_ROW_DROPOUT(initial) \
    {"DROPOUT", SR_OPT_FLOAT, FIELD(dropout), initial, 0, 0.99, \
     .help = "Probability of dropout in the classifier."}
// clang-format on

#endif
