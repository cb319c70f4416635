// What losses with a teacher share: crops of the student learn distributions that the teacher gives for others, or for
// the same.
#ifndef SR_LOSSES_CROP_TERMS_H
#define SR_LOSSES_CROP_TERMS_H

#include "losses/loss.h"

// Which student crop v learns from teacher crop q of T.
typedef enum {
    SR_CROPS_OTHERS, // every v but q (VISSL's swapped_assignment)
    SR_CROPS_SAME,   // q itself, and the crops that the teacher did not see
} SrCropPairs;

typedef struct {
    SrNodeId student;         // (V batch, K) scores, crop-major
    SrNodeId targets;         // (T batch, K) distributions, of the student's first T crops
    int n_student, n_teacher; // V, T
    SrCropPairs pairs;
    double temperature; // of the student
} SrCropTerms;

// The mean over pairs, and over images, of the cross entropy.  -> scalar
SrStatus sr_crop_terms_build(SrLossContext *ctx, const SrCropTerms *terms, SrNodeId *loss);

// LOSS.<name>.<key> says how many crops there are: SR_ERR_CONFIG unless the data have as many.
SrStatus sr_crop_terms_check(SrLossContext *ctx, const char *key, int crops);

// Numbers 0 .. n - 1, for SrModelRun.views.
const int *sr_first_views(int n);

// The forward of DISTILLATION.TEACHER_MODEL on the first `n_views` crops.
SrStatus sr_teacher_model_build(SrLossContext *ctx, int n_views, SrOutputs *out);
#define SR_TEACHER_PREFIX "loss.teacher_model."

// softmax((x - centre) / temperature) of a teacher's scores; temperature 0: the input node `by` (1);
// center: a table index, or -1.
SrNodeId sr_teacher_targets(SrLossContext *ctx, const char *leaf, SrNodeId x, double temperature,
                            SrNodeId by, int center);

// mask (M, L) as weights, the cross entropy of marked patches with their targets: the mean over an image's marked
// patches, then over images.  scores, targets: (M, L, K).
SrNodeId sr_patch_term(SrLossContext *ctx, SrNodeId scores, SrNodeId targets, SrNodeId mask,
                       double temperature);
// The masks of the first n views, view-major: (n batch, patches).
SrStatus sr_view_masks(SrLossContext *ctx, int n, SrNodeId *mask);
// An output that stands in several nodes (views of unlike sizes), view-major in one.
SrStatus sr_all_views(SrLossContext *ctx, const SrOutputs *outputs, const char *name,
                      SrNodeId *out);

#endif
