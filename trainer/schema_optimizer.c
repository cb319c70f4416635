// Option tables of LOSS and OPTIMIZER (spec 1.4.6, 1.4.7).  Each loss's own map comes from its file; schedules are
// read by schedule.c.
#include "trainer/schema.h"

#define OFF(field) offsetof(SrOptimizerConfig, field)
#define UNBUILT_LOSS(name) {name, SR_OPT_IGNORED, 0, "{}", 0, 0, NULL, "the loss is not built"}

// clang-format off
// VISSL's losses that no file of ours owns; schema.c drops the row once one does.
const SrOption sr__schema_loss[] = {
    {"name", SR_OPT_STRING, offsetof(SrConfig, loss_name), "CrossEntropyLoss", 0, 0, NULL, "Which loss."},
    UNBUILT_LOSS("CrossEntropyLoss"),
    UNBUILT_LOSS("cross_entropy_multiple_output_single_target"),
    UNBUILT_LOSS("bce_logits_multiple_output_single_target"),
    UNBUILT_LOSS("nce_loss_with_memory"),
    UNBUILT_LOSS("simclr_info_nce_loss"),
    UNBUILT_LOSS("multicrop_simclr_info_nce_loss"),
    UNBUILT_LOSS("swav_loss"),
    UNBUILT_LOSS("swav_momentum_loss"),
    UNBUILT_LOSS("dino_loss"),
    UNBUILT_LOSS("ibot_loss"),
    UNBUILT_LOSS("msn_loss"),
    UNBUILT_LOSS("deepclusterv2_loss"),
    UNBUILT_LOSS("moco_loss"),
    UNBUILT_LOSS("barlow_twins_loss"),
    UNBUILT_LOSS("swav_distillation_loss"),
    UNBUILT_LOSS("dino_distillation_loss"),
    UNBUILT_LOSS("ibot_distillation_loss"),
    UNBUILT_LOSS("msn_distillation_loss"),
    UNBUILT_LOSS("distillation_loss"),
    SR_OPTION_END,
};

#define LR_TREE                                                                                                       \
    "{auto_lr_scaling: {auto_scale: False, base_value: 0.1, base_lr_batch_size: 256, scaling_type: linear},"          \
    " name: multistep, update_interval: epoch, values: [0.1, 0.01, 0.001], milestones: [30, 60], schedulers: [],"     \
    " interval_scaling: [], lengths: [], start_value: 0.1, end_value: 0.0, value: 0.1}"

const SrOption sr__schema_optimizer[] = {
    {"name", SR_OPT_STRING, OFF(name), "sgd", 0, 0, NULL, "sgd, adam, adamw or lars."},
    {"use_zero", SR_OPT_IGNORED, 0, "False", 0, 0, NULL, "one process runs everything"},
    {"use_larc", SR_OPT_BOOL, OFF(use_larc), "False", 0, 0, NULL, "sgd: rates adapted a parameter (LARC)."},
    {"larc_config.clip", SR_OPT_BOOL, OFF(larc_clip), "False", 0, 0, NULL, "LARC: never above the global rate."},
    {"larc_config.eps", SR_OPT_FLOAT, OFF(larc_eps), "1e-8", 0, 1, NULL, "LARC: added to the denominator."},
    {"larc_config.trust_coefficient", SR_OPT_FLOAT, OFF(larc_trust), "0.001", 0, 1e6, NULL,
     "LARC: step length as a share of the parameter's norm."},
    {"weight_decay", SR_OPT_FLOAT, OFF(weight_decay), "1e-4", 0, 1e6, NULL, "L2 penalty (adamw: decoupled)."},
    {"momentum", SR_OPT_FLOAT, OFF(momentum), "0.9", 0, 1, NULL, "sgd, lars: momentum, below 1."},
    {"nesterov", SR_OPT_BOOL, OFF(nesterov), "False", 0, 0, NULL, "sgd: Nesterov's momentum."},
    {"num_epochs", SR_OPT_INT, OFF(num_epochs), "90", 1, 1e9, NULL, "Length of the training."},
    {"betas", SR_OPT_FLOATS, OFF(betas), "[0.9, 0.999]", 0, 1, NULL, "adam, adamw: decay of the two moments."},
    {"eps", SR_OPT_FLOAT, OFF(eps), "1e-8", 0, 1, NULL, "adam, adamw: added to the denominator."},
    {"amsgrad", SR_OPT_BOOL, OFF(amsgrad), "False", 0, 0, NULL, "adam, adamw: the largest second moment so far."},
    {"eta", SR_OPT_FLOAT, OFF(eta), "0.001", 0, 1e6, NULL, "lars: step length as a share of the parameter's norm."},
    {"exclude_bias_and_norm", SR_OPT_BOOL, OFF(exclude_bias_and_norm), "False", 0, 0, NULL,
     "lars: vectors are not adapted."},
    {"regularize_bn", SR_OPT_BOOL, OFF(regularize_bn), "False", 0, 0, NULL, "Norm layers decay."},
    {"regularize_bias", SR_OPT_BOOL, OFF(regularize_bias), "True", 0, 0, NULL, "Biases decay."},
    {"non_regularized_parameters", SR_OPT_STRINGS, OFF(non_regularized_parameters), "[]", 0, 0, NULL,
     "Parameters whose names contain one of these do not decay."},
    {"construct_single_param_group_only", SR_OPT_BOOL, OFF(construct_single_param_group_only), "False", 0, 0, NULL,
     "One group: the same decay and rate for all."},
    {"param_group_constructor", SR_OPT_STRING, OFF(param_group_constructor), "default", 0, 0, NULL,
     "How parameters are grouped."},
    {"layer_wise_lr_decay", SR_OPT_IGNORED, 0, "{decay: 0.9}", 0, 0, NULL, "not built"},
    {"linear_eval_heads", SR_OPT_IGNORED, 0, "[]", 0, 0, SR_REFUSED, "not built"},
    {"head_optimizer_params.use_different_lr", SR_OPT_BOOL, OFF(head_use_different_lr), "False", 0, 0, NULL,
     "Heads follow param_schedulers.lr_head."},
    {"head_optimizer_params.use_different_wd", SR_OPT_BOOL, OFF(head_use_different_wd), "False", 0, 0, NULL,
     "Heads have a decay of their own."},
    {"head_optimizer_params.weight_decay", SR_OPT_FLOAT, OFF(head_weight_decay), "1e-4", 0, 1e6, NULL,
     "The heads' decay."},
    {"param_schedulers.lr", SR_OPT_TREE, OFF(lr), LR_TREE, 0, 0, NULL, "Schedule of the learning rate."},
    {"param_schedulers.lr_head", SR_OPT_TREE, OFF(lr_head), LR_TREE, 0, 0, NULL, "Schedule of the heads' rate."},
    {"param_schedulers.weight_decay", SR_OPT_TREE, OFF(weight_decay_schedule), "{}", 0, 0, NULL,
     "Schedule of the decay, instead of weight_decay."},
    {"param_schedulers.weight_decay_head", SR_OPT_TREE, OFF(weight_decay_head_schedule), "{}", 0, 0, NULL,
     "Schedule of the heads' decay."},
    SR_OPTION_END,
};
// clang-format on
