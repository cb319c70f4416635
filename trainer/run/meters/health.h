// Judges whether a run learns anything, from figures of an epoch's last step that need no
// labels.  Each finding names the likely cause and overrides to try.  Nothing here changes the
// training.
#ifndef SR_TRAINER_RUN_METERS_HEALTH_H
#define SR_TRAINER_RUN_METERS_HEALTH_H

#include "base/text/json.h"
#include "measure/representation.h"
#include "trainer/run/step.h"

typedef struct {
    double loss_min, loss_max; // over the epoch
    double chance;             // SrLossFacts.  0: unknown
    int above_chance;          // consecutive epochs whose least loss was a tenth above chance
    const char *loss;          // map of the loss: "LOSS.byol_loss"
    double grad_norm, lr;      // at the last step
    bool has_embeddings;
    SrRepresentation embeddings;
    // prototypes_used: those with the largest score of some row.  0: the model has no scores
    int prototypes, prototypes_used;
    int score_rows;
    int one_prototype;    // consecutive epochs that ended with all rows at one prototype
    SrLossHealth targets; // figures that the method itself gives
    // Consecutive epochs that ended with uniform targets, or with the same target for all rows
    int teacher_even, teacher_single;
    // Did not change over the epoch; false in the first epoch, and if there is no such entry
    bool teacher_still, queue_still;
} SrHealthFigures;

typedef struct {
    const char *name; // "collapse"
    char text[512];
} SrHealthFinding;

enum { SR_HEALTH_MAX = 12 };

// Memory of a run from epoch to epoch.
typedef struct {
    uint64_t teacher, queue; // hashes of the entries.  0: not seen yet
    int above_chance, one_prototype, teacher_even, teacher_single; // SrHealthFigures
} SrHealth;

// Measures after an epoch's last step, while its gradients and outputs are still there.  Losses
// with labels have no embeddings.  Allocates; SR_ERR_MEMORY.
SrStatus sr_health_measure(SrHealth *health, const SrStep *step, const SrLossStep *view,
                           SrHealthFigures *out);
// Judges the figures; returns the number of findings.
int sr_health_judge(const SrHealthFigures *figures, SrHealthFinding out[SR_HEALTH_MAX]);
// Writes fields of an epoch's line in metrics.json: grad_norm, embedding_deviation, effective_rank,
// alignment, uniformity, views_found, view_rows, prototypes_used, teacher_entropy,
// teacher_mean_entropy, clusters_used.
void sr_health_json(const SrHealthFigures *figures, SrText *out);

#endif
