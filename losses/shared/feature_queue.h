// Queue of a teacher's features, for distillation by similarities to other images (SEED, Fang et
// al., ICLR 2021, arXiv:2101.04731): the features of this step and of the steps before it.  The
// queue begins with zeros.  Checkpoints hold it as loss.queue (size, D) and loss.queue_ptr (1).
#ifndef SR_LOSSES_SHARED_FEATURE_QUEUE_H
#define SR_LOSSES_SHARED_FEATURE_QUEUE_H

#include "losses/loss.h"

// Row of an option table for the size.
#define SR_FEATURE_QUEUE_SIZE(offset)                                                              \
    {                                                                                              \
        "queue_size", SR_OPT_INT, offset, "0", 0, 1 << 24,                                         \
            .help = "Number of the teacher's features in the queue, the step's own included.  0: " \
                    "16 for "                                                                      \
                    "less than 50 images, up to 8192 for 20000 and more."                          \
    }

typedef struct {
    int size, D;
    int queue, pointer; // table indices: queue (size, D), queue_ptr (1)
    SrNodeId t;         // (batch, D) the teacher's features, of length 1
} SrFeatureQueue;

// Builds the term KL(softmax(t Q' / T) || softmax(s Q' / T)), a scalar, and fills `queue`.  Q holds
// the step's t in the place of the oldest rows.
//   teacher      (batch, D) features t before they are divided by their length
//   student      (batch, C) features; a linear layer loss.<projection> makes them s (batch, D)
//   size         rows of Q; 0: a quarter to a half of the images
// SR_ERR_CONFIG: an input is no vector per image, or Q is as large as the set of images.
typedef struct {
    SrNodeId teacher, student;
    const char *projection;
    double temperature; // T
    int size;
} SrFeatureTerm;
SrStatus sr_feature_queue_build(SrLossContext *ctx, const SrFeatureTerm *term,
                                SrFeatureQueue *queue, SrNodeId *loss);

// Writes the step's features over the oldest ones: the hook after_update.
void sr_feature_queue_enter(const SrFeatureQueue *queue, const SrLossStep *step);

#endif
