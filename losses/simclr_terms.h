// What SimCLR's loss and its multi-crop form share: options and nodes.
#ifndef SR_LOSSES_SIMCLR_TERMS_H
#define SR_LOSSES_SIMCLR_TERMS_H

#include <stddef.h>

#include "losses/loss.h"

typedef struct {
    double temperature;
    int embedding_dim;
    int num_crops; // of DCL and multi-crop SimCLR
} SrSimclrOptions;

// clang-format off
#define SR_SIMCLR_OPTION_ROWS                                                                       \
    {"temperature", SR_OPT_FLOAT, offsetof(SrSimclrOptions, temperature), "0.1", 1e-6, 1e6, NULL,    \
     "Divides the cosines."},                                                                        \
    {"buffer_params.embedding_dim", SR_OPT_INT, offsetof(SrSimclrOptions, embedding_dim), "128", 1,  \
     1 << 24, NULL, "Size of an embedding; the head must give it."},                                 \
    {"buffer_params.world_size", SR_OPT_IGNORED, 0, "64", 0, 0, NULL,                                \
     "the loss sees the rows of all replicas"},                                                      \
    {"buffer_params.effective_batch_size", SR_OPT_IGNORED, 0, "4096", 0, 0, NULL,                    \
     "the loss sees the rows of all replicas"}

#define SR_SIMCLR_OPTION_NUM_CROPS                                                                  \
    {"num_crops", SR_OPT_INT, offsetof(SrSimclrOptions, num_crops), "2", 2, SR_MAX_VIEWS, NULL,      \
     "Views of an image (inferred from the transforms)."}
// clang-format on

// "embedding" (num_crops * batch, D) to length 1 and through nt_xent, decoupled where asked for.  Other numbers of views or
// another width: SR_ERR_CONFIG that names the key.
SrStatus sr_simclr_terms_build(SrLossContext *ctx, const SrSimclrOptions *options, int num_crops,
                               bool decoupled, SrNodeId *loss);

#endif
