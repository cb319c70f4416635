// Option tables of LOSS and OPTIMIZER (spec 1.4.6, 1.4.7).  Each loss's own map comes from its file; schedules are
// read by schedule.c.
#include "trainer/config/schema.h"

#define OFF(field) offsetof(SrOptimizerConfig, field)
// VISSL's own map stands here until the loss brings its table, so that VISSL's command lines find their keys.
#define UNBUILT_LOSS(name, map) \
    { name, SR_OPT_IGNORED, 0, "{" map "}", 0, 0, NULL, "the loss is not built" }
#define NCE_BUFFER "buffer_params: {world_size: 64, embedding_dim: 128, effective_batch_size: 4096}"

// clang-format off
// VISSL's losses that no file of ours owns; schema.c drops the row once one does.
const SrOption sr__schema_loss[] = {
    {"name", SR_OPT_STRING, offsetof(SrConfig, loss_name), "CrossEntropyLoss", 0, 0, NULL, "Which loss."},
    UNBUILT_LOSS("CrossEntropyLoss", "ignore_index: -1"),
    UNBUILT_LOSS("cross_entropy_multiple_output_single_target",
                 "weight: null, reduction: mean, ignore_index: -1, normalize_output: False, temperature: 1.0,"
                 " label_smoothing: 0.0"),
    UNBUILT_LOSS("bce_logits_multiple_output_single_target", "reduction: none, world_size: 1, normalize_output: False"),
    UNBUILT_LOSS("nce_loss_with_memory",
                 "loss_type: nce, norm_embedding: True, temperature: 0.07, loss_weights: [1.0], norm_constant: -1,"
                 " update_mem_with_emb_index: -100, negative_sampling_params: {num_negatives: 16000, type: random},"
                 " memory_params: {memory_size: -1, embedding_dim: 128, momentum: 0.5, norm_init: True,"
                 " update_mem_on_forward: True}, num_train_samples: -1, ignore_index: -1"),
    UNBUILT_LOSS("simclr_info_nce_loss", "temperature: 0.1, " NCE_BUFFER),
    UNBUILT_LOSS("multicrop_simclr_info_nce_loss", "temperature: 0.1, num_crops: 2, " NCE_BUFFER),
    UNBUILT_LOSS("swav_loss", ""),
    UNBUILT_LOSS("swav_momentum_loss", ""),
    UNBUILT_LOSS("dino_loss",
                 "momentum: 0.996, student_temp: 0.1, teacher_temp_min: 0.04, teacher_temp_max: 0.07,"
                 " teacher_temp_warmup_iters: 37500, crops_for_teacher: [0, 1], ema_center: 0.9, output_dim: 65536,"
                 " num_crops: 10, normalize_last_layer: False"),
    UNBUILT_LOSS("ibot_loss",
                 "teacher_momentum: 0.996, warmup_teacher_temp: 0.04, teacher_temp: 0.04,"
                 " warmup_teacher_patch_temp: 0.04, teacher_patch_temp: 0.07, warmup_teacher_temp_epochs: 30,"
                 " student_temp: 0.1, center_momentum: 0.9, center_momentum2: 0.9, lambda1: 1, lambda2: 1,"
                 " mim_start_epoch: 0, num_global_crops: 2, num_local_crops: 8, out_dim: 8192, patch_out_dim: 8192,"
                 " num_epochs: 10"),
    UNBUILT_LOSS("msn_loss", "momentum: 0.996, temperature: 0.1, output_dim: 1024"),
    UNBUILT_LOSS("deepclusterv2_loss",
                 "DROP_LAST: True, BATCHSIZE_PER_REPLICA: 256, num_crops: 2, temperature: 0.1,"
                 " num_clusters: [3000, 3000, 3000], kmeans_iters: 10,"
                 " memory_params: {crops_for_mb: [0], embedding_dim: 128}, num_train_samples: -1"),
    UNBUILT_LOSS("moco_loss", "embedding_dim: 128, queue_size: 65536, momentum: 0.999, temperature: 0.2"),
    UNBUILT_LOSS("barlow_twins_loss", "lambda_: 0.0051, scale_loss: 0.024, embedding_dim: 8192"),
    UNBUILT_LOSS("swav_distillation_loss",
                 "temperature: 0.1, use_double_precision: False, num_iters: 3, epsilon: 0.03, num_crops: 6,"
                 " num_prototypes: [3000], temp_hard_assignment_iters: 0, local_queue_length: 0, queue_start_iter: 0,"
                 " normalize_student_feats: False, use_student_prototypes: True, use_teacher_prototypes: False,"
                 " use_two_crops_for_teacher: True, swapped_assignment: False"),
    UNBUILT_LOSS("dino_distillation_loss",
                 "swapped_assignment: False, teacher_num_crops: 2, teacher_temperature: 0.07, student_num_crops: 10,"
                 " student_temperature: 0.1"),
    UNBUILT_LOSS("ibot_distillation_loss",
                 "swapped_assignment: False, use_teacher_prototypes: False, num_global_crops: 2,"
                 " student_num_crops: 12, student_temp: 0.1, teacher_temp: 0.07, teacher_patch_temp: 0.07, lambda1: 1,"
                 " lambda2: 1"),
    UNBUILT_LOSS("msn_distillation_loss",
                 "swapped_assignment: False, student_temperature: 0.1, teacher_num_crops: 2, student_num_crops: 12"),
    UNBUILT_LOSS("distillation_loss", "loss_type: kl_divergence"),
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
     "How parameters are grouped: default, dino, lr_decay or linear_eval_heads."},
    {"layer_wise_lr_decay.decay", SR_OPT_FLOAT, OFF(layer_decay), "0.9", 1e-6, 1e3, NULL,
     "lr_decay: factor on the rate from a layer to the one below it."},
    {"linear_eval_heads", SR_OPT_TREE, OFF(linear_eval_heads), "[]", 0, 0, NULL,
     "linear_eval_heads: {lr: factor on the rate, weight_decay, regularize_bn} for each head."},
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
