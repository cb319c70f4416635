// Options and nodes that the SimCLR losses share: simclr_info_nce_loss, its multi-crop form and
// DCL.
#ifndef SR_LOSSES_SHARED_SIMCLR_TERMS_H
#define SR_LOSSES_SHARED_SIMCLR_TERMS_H

#include <stddef.h>

#include "kernels/losses/nt_xent.h"
#include "losses/loss.h"

typedef struct {
    SrNtXentParams op; // num_crops: an option of DCL and multi-crop SimCLR; decoupled: the loss's
    int embedding_dim; // expected width of "embedding"
} SrSimclrOptions;

// clang-format off
#define SR_SIMCLR_OPTION_ROWS                                                                       \
    {"temperature", SR_OPT_FLOAT, offsetof(SrSimclrOptions, op.temperature), "0.1", 1e-6, 1e6,    \
     .help = "Temperature that divides the cosines."},                                                                        \
    {"buffer_params.embedding_dim", SR_OPT_INT, offsetof(SrSimclrOptions, embedding_dim), "128", 1, \
     1 << 24, .help = "Size of an embedding; must equal the size of the head's output."},                                 \
    {"buffer_params.world_size", SR_OPT_IGNORED, 0, "64",                                \
     .help = "the loss uses the number of replicas of the run"},                                                      \
    {"buffer_params.effective_batch_size", SR_OPT_IGNORED, 0, "4096",                    \
     .help = "the loss uses the number of replicas of the run"}

#define SR_SIMCLR_OPTION_NUM_CROPS                                                                  \
    {"num_crops", SR_OPT_INT, offsetof(SrSimclrOptions, op.num_crops), "2", 2, SR_MAX_VIEWS,      \
     .help = "Views per image (inferred from the transforms)."}
// clang-format on

// Builds the loss, a scalar: "embedding" (num_crops * batch, D), normalised to length 1, through
// nt_xent.  decoupled: the positive is not in the denominator (DCL).  SR_ERR_CONFIG: another number
// of views, or another width than embedding_dim.
SrStatus sr_simclr_terms_build(SrLossContext *ctx, const SrSimclrOptions *options, int num_crops,
                               bool decoupled, SrNodeId *loss);

#endif
