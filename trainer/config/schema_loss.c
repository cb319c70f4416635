// Option table of LOSS (spec 1.4.6).  Each loss's own map comes from its file.
#include "trainer/config/schema.h"

// VISSL's own map stands here until the loss brings its table, so that VISSL's command lines find their keys.
#define UNBUILT_LOSS(name, map) \
    { name, SR_OPT_IGNORED, 0, "{" map "}", 0, 0, NULL, "the loss is not built" }

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
    UNBUILT_LOSS("swav_loss", ""),
    UNBUILT_LOSS("swav_momentum_loss", ""),
    UNBUILT_LOSS("ibot_loss",
                 "teacher_momentum: 0.996, warmup_teacher_temp: 0.04, teacher_temp: 0.04,"
                 " warmup_teacher_patch_temp: 0.04, teacher_patch_temp: 0.07, warmup_teacher_temp_epochs: 30,"
                 " student_temp: 0.1, center_momentum: 0.9, center_momentum2: 0.9, lambda1: 1, lambda2: 1,"
                 " mim_start_epoch: 0, num_global_crops: 2, num_local_crops: 8, out_dim: 8192, patch_out_dim: 8192,"
                 " num_epochs: 10"),
    UNBUILT_LOSS("msn_loss", "momentum: 0.996, temperature: 0.1, output_dim: 1024"),
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
// clang-format on
