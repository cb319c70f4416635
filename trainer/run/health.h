// Is a run learning anything?  Figures of the last step of an epoch, taken without labels, and what they are judged to
// mean: each finding names the likely cause and overrides to try.  Nothing here changes what is trained.
#ifndef SR_TRAINER_RUN_HEALTH_H
#define SR_TRAINER_RUN_HEALTH_H

#include "base/json.h"
#include "measure/representation.h"
#include "trainer/run/step.h"

typedef struct {
    double loss_min, loss_max; // of the epoch
    double chance;             // SrLossFacts; 0: none
    int above_chance;          // epochs in a row whose least loss was a tenth above it
    const char *loss;          // its map: "LOSS.byol_loss"
    double grad_norm, lr;      // of the last step
    bool has_embeddings;
    SrRepresentation embeddings;
    int prototypes, prototypes_used; // 0: the model has no scores; used: largest score of some row
    int score_rows;
    int one_prototype;    // epochs in a row that ended with all rows at one
    SrLossHealth targets; // what the method tells of its own
    int teacher_even,
        teacher_single; // epochs in a row that ended with targets that say nothing, or all the same
    // Over the epoch, the first one excepted; of entries that exist.
    bool teacher_still, queue_still;
} SrHealthFigures;

typedef struct {
    const char *name; // "collapse"
    char text[512];
} SrHealthFinding;

enum { SR_HEALTH_MAX = 12 };

// What a run remembers from epoch to epoch.
typedef struct {
    uint64_t teacher, queue; // hashes of the entries; 0: not seen yet
    int above_chance, one_prototype, teacher_even, teacher_single; // SrHealthFigures
} SrHealth;

// After an epoch's last step, whose gradients and outputs still stand.  Allocates.  Losses of labels have no embeddings.
// SR_ERR_MEMORY.
SrStatus sr_health_measure(SrHealth *health, const SrStep *step, const SrLossStep *view,
                           SrHealthFigures *out);
// -> how many findings; every one fits.
int sr_health_judge(const SrHealthFigures *figures, SrHealthFinding out[SR_HEALTH_MAX]);
// Fields of an epoch's line in metrics.json: grad_norm, embedding_deviation, effective_rank, alignment, uniformity,
// prototypes_used, teacher_entropy, teacher_mean_entropy, clusters_used.
void sr_health_json(const SrHealthFigures *figures, SrText *out);

#endif
