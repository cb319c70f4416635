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
    UNBUILT_LOSS("swav_loss", ""),
    UNBUILT_LOSS("swav_momentum_loss", ""),
    UNBUILT_LOSS("msn_loss", "momentum: 0.996, temperature: 0.1, output_dim: 1024"),
    SR_OPTION_END,
};
// clang-format on
