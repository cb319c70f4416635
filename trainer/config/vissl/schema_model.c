// Holds the option tables of MODEL and MODEL.TRUNK.  Each trunk's own map comes from its file.
#include <math.h>

#include "trainer/config/vissl/schema.h"

#define OFF(field) offsetof(SrModelConfig, field)

// clang-format off
const SrOption sr__schema_model[] = {
    {"INPUT_TYPE", SR_OPT_ENUM, OFF(input_type), "rgb", .choices = "rgb|bgr|lab",
     .help = "Channels that the trunk sees: rgb as they are, bgr in reverse order, lab the first one alone (lightness, from"
     " ImgPil2LabTensor)."},
    {"MULTI_INPUT_HEAD_MAPPING", SR_OPT_TREE, OFF(input_mapping), "[]",
     .help = "Which head sees which input: a list of [input, [layers]] or [input, {feat_names, head_index}]."},
    {"SINGLE_PASS_EVERY_CROP", SR_OPT_BOOL, OFF(single_pass_every_crop), "False",
     .help = "One pass through the trunk per crop, instead of one per crop size."},
    {"NON_TRAINABLE_PARAMS", SR_OPT_STRINGS, OFF(non_trainable_params), "[]",
     .help = "Names of parameters that never learn."},
    {"TEMP_FROZEN_PARAMS_ITER_MAP", SR_OPT_TREE, OFF(frozen_map), "[]",
     .help = "List of [parameter name, n]: the parameter is not updated in the first n iterations."},
    {"_MODEL_INIT_SEED", SR_OPT_INT64, OFF(init_seed), "0", 0, 9e15,
     .help = "Seed of the initial parameters.  It is always SEED_VALUE, as VISSL infers it."},
    {"ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING", SR_OPT_BOOL, OFF(checkpointing), "False",
     .help = "Keep only the values between segments of a trunk pass, and recompute the others in the backward pass: less"
     " memory, a longer step, the same bits.  False: MACHINE.RECOMPUTE decides."},
    {"ACTIVATION_CHECKPOINTING.NUM_ACTIVATION_CHECKPOINTING_SPLITS", SR_OPT_INT, OFF(checkpointing_splits), "2", 1, 1000, .help = "Number of segments of a trunk pass.", .needs = "ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING"},
    {"FEATURE_EVAL_SETTINGS.EVAL_MODE_ON", SR_OPT_BOOL, OFF(eval_mode_on), "False",
     .help = "Frozen parts run in eval mode: batch norms use their running statistics."},
    {"FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_ONLY", SR_OPT_BOOL, OFF(freeze_trunk_only), "False",
     .help = "The trunk does not learn."},
    {"FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_AND_HEAD", SR_OPT_BOOL, OFF(freeze_trunk_and_head), "False",
     .help = "Neither trunk nor heads learn."},
    {"FEATURE_EVAL_SETTINGS.EXTRACT_TRUNK_FEATURES_ONLY", SR_OPT_BOOL, OFF(extract_trunk_features_only), "False", .help = "The features are the model's outputs; no head runs."},
    {"FEATURE_EVAL_SETTINGS.EVAL_TRUNK_AND_HEAD", SR_OPT_BOOL, OFF(eval_trunk_and_head), "False",
     .help = "With EVAL_MODE_ON, initial weights are loaded into the heads too."},
    {"FEATURE_EVAL_SETTINGS.ASSERT_HEAD_LAYER_SHAPE_INIT", SR_OPT_BOOL, OFF(assert_head_shapes), "True",
     .help = "True: initial weights of another shape are an error in the heads too.  False: such weights of heads are"
     " skipped."},
    {"FEATURE_EVAL_SETTINGS.CACHE_FEATURES", SR_OPT_ENUM, OFF(cache_features), "auto", .choices = "auto|memory|disk|off",
     .help = "Where to keep the features of a frozen trunk (not in VISSL).  They are computed once if the transforms are"
     " not random.  auto: in memory, or in a file of the run folder if they are large."},
    {"FEATURE_EVAL_SETTINGS.SHOULD_FLATTEN_FEATS", SR_OPT_BOOL, OFF(flatten_feats), "True",
     .help = "Pooled features are flattened to vectors."},
    {"FEATURE_EVAL_SETTINGS.LINEAR_EVAL_FEAT_POOL_OPS_MAP", SR_OPT_TREE, OFF(feat_pool_ops), "[]",
     .help = "List of [layer, [pooling, [arguments]]]: the features, one for each head."},
    {"GRAD_CLIP.USE_GRAD_CLIP", SR_OPT_BOOL, OFF(grad_clip), "False", .help = "Limit the norm of the gradients."},
    {"GRAD_CLIP.NORM_TYPE", SR_OPT_FLOAT, OFF(grad_clip_norm_type), "2", 0.1, HUGE_VAL,
     .help = "Order of the norm over all gradients together; .inf: the largest absolute value.", .needs = "GRAD_CLIP.USE_GRAD_CLIP"},
    {"GRAD_CLIP.MAX_NORM", SR_OPT_FLOAT, OFF(grad_clip_max_norm), "1", 0, 1e300, .help = "Largest norm that gradients"
     " may have.", .needs = "GRAD_CLIP.USE_GRAD_CLIP"},
    {"LORA.USE_LORA", SR_OPT_BOOL, OFF(use_lora), "False",
     .help = "Train low-rank adapters of the trunk's layers, its norms and its last blocks instead of all its weights (not in"
     " VISSL).  Checkpoints and exports hold the trunk with the adapters merged."},
    {"LORA.RANK", SR_OPT_INT, OFF(lora_rank), "8", 1, 4096, .help = "Rank of the adapters.", .needs = "LORA.USE_LORA"},
    {"LORA.ALPHA", SR_OPT_FLOAT, OFF(lora_alpha), "16", 1e-6, 1e6,
     .help = "Scale of the adapters: their product is multiplied by ALPHA / RANK.", .needs = "LORA.USE_LORA"},
    {"LORA.TARGETS", SR_OPT_STRINGS, OFF(lora_targets), "[qv]",
     .help = "Layers with adapters: qv (queries and values of an attention with one weight for all three), linear (all linear"
     " layers), conv1x1 (convolutions of one pixel).", .needs = "LORA.USE_LORA"},
    {"LORA.UNFREEZE_LAST", SR_OPT_INT, OFF(lora_unfreeze_last), "1", 0, 1000,
     .help = "Number of last blocks (stages of a ResNet) whose weights learn without adapters.", .needs = "LORA.USE_LORA"},
    {"HEAD.PARAMS", SR_OPT_TREE, OFF(head_params), "[]",
     .help = "List of heads: each is [name, {options}] or a chain, a list of such pairs."},
    {"HEAD.PARALLEL", SR_OPT_BOOL, OFF(parallel_heads), "False",
     .help = "Several heads on one feature run in parallel instead of in a chain."},
    {"HEAD.BATCHNORM_EPS", SR_OPT_FLOAT, OFF(bn_eps), "1e-5", 0, 1, .help = "Epsilon of the heads' batch norms."},
    {"HEAD.BATCHNORM_MOMENTUM", SR_OPT_FLOAT, OFF(bn_momentum), "0.1", 0, 1,
     .help = "Momentum of the running statistics in the heads' batch norms."},
    {"HEAD.PARAMS_MULTIPLIER", SR_OPT_FLOAT, OFF(params_multiplier), "1.0", -1e6, 1e6,
     .help = "Factor that multiplies the weights of the heads' linear layers after initialisation."},
    {"AMP_PARAMS.USE_AMP", SR_OPT_BOOL, OFF(use_amp), "False",
     .help = "Compute the trunk's maps and products in bfloat16, in training, test phases, evaluation, `sslrun extract` and"
     " the library.  Parameters, statistics, heads and losses stay float32.  If the processor's bfloat16 products"
     " are slower than its float32 ones (measured once at the start), maps are stored in bfloat16 and multiplied in"
     " float32."},
    {"SYNC_BN_CONFIG.CONVERT_BN_TO_SYNC_BN", SR_OPT_BOOL, OFF(sync_bn), "False",
     .help = "Batch norms share their statistics between several replicas (see DISTRIBUTED.REPLICAS)."},
    {"SYNC_BN_CONFIG.GROUP_SIZE", SR_OPT_INT, OFF(sync_bn_group), "-1", -1, 65536,
     .help = "Replicas per batch-norm group; the number must divide the number of replicas (4 of 9 are an error).  0: all"
     " replicas.  -1: those of one machine, DISTRIBUTED.NUM_PROC_PER_NODE.", .needs = "SYNC_BN_CONFIG.CONVERT_BN_TO_SYNC_BN"},
    {"WEIGHTS_INIT.PARAMS_FILE", SR_OPT_STRING, OFF(params_file), "\"\"",
     .help = "Weights to start from: a file, or a run folder, whose newest checkpoint is taken."},
    {"WEIGHTS_INIT.STATE_DICT_KEY_NAME", SR_OPT_STRINGS, OFF(state_dict_keys), "classy_state_dict",
     .help = "Key that holds the weights in the file's dict, or a list of nested keys.  The usual keys are recognised"
     " without it."},
    {"WEIGHTS_INIT.SKIP_LAYERS", SR_OPT_STRINGS, OFF(skip_layers), "[num_batches_tracked]",
     .help = "Tensors whose names contain one of these are not loaded."},
    {"WEIGHTS_INIT.REMOVE_PREFIX", SR_OPT_STRING, OFF(remove_prefix), "\"\"",
     .help = "Prefix that is removed from tensor names."},
    {"WEIGHTS_INIT.APPEND_PREFIX", SR_OPT_STRING, OFF(append_prefix), "\"\"", .help = "Prefix that is added to"
     " tensor names."},
    {"WEIGHTS_INIT.MIN_TRUNK_SHARE", SR_OPT_FLOAT, OFF(min_trunk_share), "0.5", 0, 1,
     .help = "Smallest share of the trunk's tensors that the file must hold; fewer is an error."},
    {"TRUNK", SR_OPT_TREE, OFF(trunk_tree), "{}", .help = "The backbone."},
    SR_OPTION_END,
};

const SrOption sr__schema_trunk[] = {
    {"NAME", SR_OPT_STRING, OFF(trunk_name), "resnet",
     .help = "Name of a trunk, or of a model, which is a trunk with its options: efficientnet_b0, swin_t (`sslrun list` shows"
     " both)."},
    SR_OPTION_END,
};
// clang-format on
