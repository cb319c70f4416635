// Terms that losses with a teacher share: each crop of the student learns the distributions that
// the teacher gives for other crops or for the same crop.
#ifndef SR_LOSSES_SHARED_CROP_TERMS_H
#define SR_LOSSES_SHARED_CROP_TERMS_H

#include "losses/loss.h"

// Student crops v that learn from teacher crop q of T.
typedef enum {
    SR_CROPS_OTHERS, // every v except q (VISSL's swapped_assignment)
    SR_CROPS_SAME,   // v = q, and every crop that the teacher did not see (v >= T)
} SrCropPairs;

typedef struct {
    SrNodeId student;         // (V * batch, K) scores, crop-major
    SrNodeId targets;         // (T * batch, K) distributions for the student's first T crops
    int n_student, n_teacher; // V, T
    SrCropPairs pairs;
    double temperature; // divides the student's scores
} SrCropTerms;

// Builds the mean cross entropy over all pairs and images, a scalar.  SR_ERR_CONFIG: there is no
// pair.
SrStatus sr_crop_terms_build(SrLossContext *ctx, const SrCropTerms *terms, SrNodeId *loss);

// SR_ERR_CONFIG unless an image has `crops` views; the message names LOSS.<name>.<key>, which holds
// that number.
SrStatus sr_crop_terms_check(SrLossContext *ctx, const char *key, int crops);

// Returns the static array 0, 1, ..., n - 1 for SrModelRun.views.  NULL: n < 1 or n > SR_MAX_VIEWS.
const int *sr_first_views(int n);

#define SR_TEACHER_PREFIX "loss.teacher_model."
// Returns the run of DISTILLATION.TEACHER_MODEL on the first `n_views` crops, for sr_loss_run.
SrModelRun sr_teacher_run(int n_views);
// Builds that run.  SR_ERR_CONFIG: an image has fewer views.
SrStatus sr_teacher_model_build(SrLossContext *ctx, int n_views, SrOutputs *out);

// Builds softmax((x - center) / temperature) of a teacher's scores x.  temperature 0: the value of
// the input node `by` (1) divides instead.  center: table index of an entry (1, K); -1: none.
SrNodeId sr_teacher_targets(SrLossContext *ctx, const char *leaf, SrNodeId x, double temperature,
                            SrNodeId by, int center);

// Builds the student's last map as a teacher's: `map` (N, ., ., C) through the linear layer
// loss.<leaf>, resized to the grid of `like` (N, h, w, D).
SrNodeId sr_student_map(SrLossContext *ctx, const char *leaf, SrNodeId map, SrShape like);

// Builds the mean over rows of KL(softmax(t / temperature) || softmax(s / temperature)), a scalar.
// t, s: scores of teacher and student of one shape, (rows, K) or (N, L, K).
SrNodeId sr_divergence(SrLossContext *ctx, double temperature, SrNodeId t, SrNodeId s);

// Builds the cross entropy of marked patches with their targets: the mean over the marked patches
// of an image, then over the M images, a scalar.  scores, targets: (M, L, K).  mask: (M, L), 1
// marks a patch.  An image without a marked patch adds 0 and counts in the mean.
SrNodeId sr_patch_term(SrLossContext *ctx, SrNodeId scores, SrNodeId targets, SrNodeId mask,
                       double temperature);
// Joins the masks of the first n views, view-major: (n * batch, patches).  SR_ERR_CONFIG: n is
// above SR_OP_MAX_IN, or a view has no mask.
SrStatus sr_view_masks(SrLossContext *ctx, int n, SrNodeId *mask);
// Finds the output of that name.  If views of different sizes have separate nodes, joins them
// view-major.
SrStatus sr_all_views(SrLossContext *ctx, const SrOutputs *outputs, const char *name,
                      SrNodeId *out);

#endif
