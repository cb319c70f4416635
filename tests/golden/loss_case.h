// A loss on given outputs: the golden cases that hand it embeddings or scores instead of a model.
#ifndef SR_TESTS_GOLDEN_LOSS_CASE_H
#define SR_TESTS_GOLDEN_LOSS_CASE_H

#include "graph/plan.h"
#include "losses/loss.h"
#include "tests/golden/golden.h"

enum { LOSS_CASE_MORE = 3 };

typedef struct LossCase {
    SrGoldenCase *c;
    const SrLoss *kind;
    int batch, n_views; // batch: of all replicas
    int replicas;       // 0: one
    const char *name;   // of the model's output: "embedding"
    SrShape shape;      // its shape, rows of all views
    int n_more;         // further outputs of that shape
    SrShape teacher;    // of what a further forward of the model gives; rank 0: there is none
    const char *teacher_name;
    SrShape prediction;  // of what a head of the loss's own gives; rank 0: there is none
    int64_t n_samples;   // of the data set; > 0: there is an input of sample indices
    const char *options; // flow YAML; NULL: LOSS.<name> of the case's config, or all of it
    // What the case recorded instead of what before_step drew; NULL: nothing.
    SrStatus (*recorded)(struct LossCase *r, int64_t iteration);
    // filled
    SrParams *params;
    SrGraph *graph;
    SrBuilder *builder;
    SrLossContext ctx;
    SrNodeId x, t, loss; // the output, the teacher's, the loss
    SrNodeId p;          // what stands for the loss's own head
    SrNodeId more[LOSS_CASE_MORE];
    void *state;
    SrPlan *plan;
} LossCase;

// The kind is the one that LOSS.name of the case's config names.
SrStatus loss_case_find(LossCase *r);
// Builds and compiles; parameters are drawn.  Close it also when it fails.
SrStatus loss_case_open(LossCase *r);
void loss_case_close(LossCase *r);
// One step on x, outputs one behind the other, and t: hooks, forward, backward, hooks.  No parameter but the
// loss's own state moves.
SrStatus loss_case_step(LossCase *r, const float *x, const float *t, int64_t iteration,
                        int64_t max_iterations);
double loss_case_value(LossCase *r);
const float *loss_case_gradient(LossCase *r); // of the loss by x
const float *loss_case_gradient_of(LossCase *r, int output);
// For `recorded`: the prediction of the step, and the gradient by it after the step.
float *loss_case_prediction(LossCase *r);
const float *loss_case_prediction_gradient(LossCase *r);

#endif
