// Holds the option tables of MODEL and MODEL.TRUNK.  Each trunk's own map comes from its file.
#include <math.h>

#include "trainer/config/schema.h"

#define OFF(field) offsetof(SrModelConfig, field)

// clang-format off
const SrOption sr__schema_model[] = {
    {"INPUT_TYPE", SR_OPT_ENUM, OFF(input_type), "rgb", 0, 0, "rgb|bgr|lab",
     "Channels the trunk sees: as they are, in reverse, or the first alone, the lightness of ImgPil2LabTensor."},
    {"MULTI_INPUT_HEAD_MAPPING", SR_OPT_TREE, OFF(input_mapping), "[]", 0, 0, NULL,
     "List of [input, [layers]] or [input, {feat_names, head_index}]: which head sees which input."},
    {"SINGLE_PASS_EVERY_CROP", SR_OPT_BOOL, OFF(single_pass_every_crop), "False", 0, 0, NULL,
     "One trunk pass a crop instead of one a size."},
    {"NON_TRAINABLE_PARAMS", SR_OPT_STRINGS, OFF(non_trainable_params), "[]", 0, 0, NULL,
     "Names of parameters that never learn."},
    {"TEMP_FROZEN_PARAMS_ITER_MAP", SR_OPT_TREE, OFF(frozen_map), "[]", 0, 0, NULL,
     "List of [parameter name, n]: not updated in the first n iterations."},
    {"_MODEL_INIT_SEED", SR_OPT_INT64, OFF(init_seed), "0", 0, 9e15, NULL,
     "Parameters are drawn with it; always SEED_VALUE, as VISSL infers it."},
    {"ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING", SR_OPT_BOOL, OFF(checkpointing), "False", 0, 0, NULL,
     "Keep only what lies between segments of a trunk pass and compute the rest again in the backward: less memory,"
     " a longer step, the same bits.  Off: batch norms and activations are computed again, which costs little."},
    {"ACTIVATION_CHECKPOINTING.NUM_ACTIVATION_CHECKPOINTING_SPLITS", SR_OPT_INT, OFF(checkpointing_splits), "2", 1,
     1000, NULL, "Segments of a trunk pass."},
    {"FEATURE_EVAL_SETTINGS.EVAL_MODE_ON", SR_OPT_BOOL, OFF(eval_mode_on), "False", 0, 0, NULL,
     "Frozen parts run in eval mode."},
    {"FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_ONLY", SR_OPT_BOOL, OFF(freeze_trunk_only), "False", 0, 0, NULL,
     "The trunk does not learn."},
    {"FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_AND_HEAD", SR_OPT_BOOL, OFF(freeze_trunk_and_head), "False", 0, 0, NULL,
     "Nothing learns."},
    {"FEATURE_EVAL_SETTINGS.EXTRACT_TRUNK_FEATURES_ONLY", SR_OPT_BOOL, OFF(extract_trunk_features_only), "False", 0, 0,
     NULL, "The features are the model's outputs; no head runs."},
    {"FEATURE_EVAL_SETTINGS.EVAL_TRUNK_AND_HEAD", SR_OPT_BOOL, OFF(eval_trunk_and_head), "False", 0, 0, NULL,
     "With EVAL_MODE_ON: initial weights are loaded into the heads too."},
    {"FEATURE_EVAL_SETTINGS.ASSERT_HEAD_LAYER_SHAPE_INIT", SR_OPT_BOOL, OFF(assert_head_shapes), "True", 0, 0, NULL,
     "Initial weights of another shape are an error in the heads too; False: they are skipped."},
    {"FEATURE_EVAL_SETTINGS.CACHE_FEATURES", SR_OPT_ENUM, OFF(cache_features), "auto", 0, 0,
     "auto|memory|disk|off",
     "Features of a frozen trunk are computed once where the transforms draw nothing (ours); auto: in memory, or in a "
     "file of the run folder if they are large."},
    {"FEATURE_EVAL_SETTINGS.SHOULD_FLATTEN_FEATS", SR_OPT_BOOL, OFF(flatten_feats), "True", 0, 0, NULL,
     "Pooled features become vectors."},
    {"FEATURE_EVAL_SETTINGS.LINEAR_EVAL_FEAT_POOL_OPS_MAP", SR_OPT_TREE, OFF(feat_pool_ops), "[]", 0, 0, NULL,
     "List of [layer, [pooling, [arguments]]]: the features, one a head."},
    {"GRAD_CLIP.USE_GRAD_CLIP", SR_OPT_BOOL, OFF(grad_clip), "False", 0, 0, NULL, "Bound the norm of the gradients."},
    {"GRAD_CLIP.NORM_TYPE", SR_OPT_FLOAT, OFF(grad_clip_norm_type), "2", 0.1, HUGE_VAL, NULL,
     "Which norm, over all gradients together; .inf: the largest entry."},
    {"GRAD_CLIP.MAX_NORM", SR_OPT_FLOAT, OFF(grad_clip_max_norm), "1", 0, 1e300, NULL, "Its bound."},
    {"HEAD.PARAMS", SR_OPT_TREE, OFF(head_params), "[]", 0, 0, NULL, "List of heads: [name, {options}] or chains."},
    {"HEAD.PARALLEL", SR_OPT_BOOL, OFF(parallel_heads), "False", 0, 0, NULL,
     "Several heads on one feature stand side by side instead of in a chain."},
    {"HEAD.BATCHNORM_EPS", SR_OPT_FLOAT, OFF(bn_eps), "1e-5", 0, 1, NULL, "eps of the heads' batch norms."},
    {"HEAD.BATCHNORM_MOMENTUM", SR_OPT_FLOAT, OFF(bn_momentum), "0.1", 0, 1, NULL, "Momentum of their statistics."},
    {"HEAD.PARAMS_MULTIPLIER", SR_OPT_FLOAT, OFF(params_multiplier), "1.0", -1e6, 1e6, NULL,
     "Factor on the heads' linear layers after initialisation."},
    {"AMP_PARAMS.USE_AMP", SR_OPT_BOOL, OFF(use_amp), "False", 0, 0, NULL,
     "The trunk's maps and products in bfloat16: training, test phases, features for evaluation, `extract` and the "
     "library alike; parameters, statistics, heads and losses stay float32.  A processor whose bfloat16 products "
     "are slower than its float32 ones (measured once at the start) stores bfloat16 and multiplies floats."},
    {"SYNC_BN_CONFIG.CONVERT_BN_TO_SYNC_BN", SR_OPT_BOOL, OFF(sync_bn), "False", 0, 0, NULL,
     "Batch norms see the images of several replicas (DISTRIBUTED.REPLICAS) together."},
    {"SYNC_BN_CONFIG.GROUP_SIZE", SR_OPT_INT, OFF(sync_bn_group), "-1", -1, 65536, NULL,
     "Replicas of a group of batch norms, a number that divides all replicas (4 of 9 are an error); 0: all; -1: those of"
     " a machine, DISTRIBUTED.NUM_PROC_PER_NODE."},
    {"WEIGHTS_INIT.PARAMS_FILE", SR_OPT_STRING, OFF(params_file), "\"\"", 0, 0, NULL,
     "Checkpoint to start from: a file, or a run's folder, of which the newest is taken."},
    {"WEIGHTS_INIT.STATE_DICT_KEY_NAME", SR_OPT_STRINGS, OFF(state_dict_keys), "classy_state_dict", 0, 0, NULL,
     "Key of the file's dict that holds the weights, or a list of nested keys; the usual ones are recognised."},
    {"WEIGHTS_INIT.SKIP_LAYERS", SR_OPT_STRINGS, OFF(skip_layers), "[num_batches_tracked]", 0, 0, NULL,
     "Tensors whose names contain one of these are not loaded."},
    {"WEIGHTS_INIT.REMOVE_PREFIX", SR_OPT_STRING, OFF(remove_prefix), "\"\"", 0, 0, NULL, "Cut from tensor names."},
    {"WEIGHTS_INIT.APPEND_PREFIX", SR_OPT_STRING, OFF(append_prefix), "\"\"", 0, 0, NULL, "Put before tensor names."},
    {"WEIGHTS_INIT.MIN_TRUNK_SHARE", SR_OPT_FLOAT, OFF(min_trunk_share), "0.5", 0, 1, NULL,
     "Fewer of the trunk's tensors loaded is an error."},
    {"TRUNK", SR_OPT_TREE, OFF(trunk_tree), "{}", 0, 0, NULL, "The backbone."},
    SR_OPTION_END,
};

const SrOption sr__schema_trunk[] = {
    {"NAME", SR_OPT_STRING, OFF(trunk_name), "resnet", 0, 0, NULL, "Which trunk, or a model of one (`sslrun graph` lists them): efficientnet_b0, swin_t."},
    SR_OPTION_END,
};
// clang-format on
