// A loss on given outputs: for golden cases that record embeddings or scores instead of a whole
// model.
#ifndef SR_TESTS_GOLDEN_LOSS_CASE_H
#define SR_TESTS_GOLDEN_LOSS_CASE_H

#include "graph/plan/plan.h"
#include "losses/loss.h"
#include "tests/golden/golden.h"

enum { LOSS_CASE_MORE = 3 };

typedef struct LossCase {
    SrGoldenCase *c;
    const SrLoss *kind;
    int batch, n_views; // batch: images of all replicas
    int replicas;       // 0: one
    const char *name;   // of the model's output, such as "embedding"
    SrShape shape;      // of that output: rows of all views
    int n_more;         // number of further outputs of that shape
    SrShape teacher;    // of the output of a further forward pass of the model; rank 0: none
    const char *teacher_name;
    SrShape prediction;  // of the output of the loss's own head; rank 0: none
    int64_t n_samples;   // samples in the data set; > 0: the loss gets an input of sample indices
    const char *options; // YAML in flow style; NULL: LOSS.<name> of the case's config, or all of it
    // Overwrites the draws of before_step with those that the case recorded. NULL: keeps them.
    SrStatus (*recorded)(struct LossCase *r, int64_t iteration);
    // set by loss_case_open
    SrParams *params;
    SrGraph *graph;
    SrBuilder *builder;
    SrLossContext ctx;
    SrNodeId x, t, loss; // the model's output, the teacher's, the loss
    SrNodeId p;          // stands for the output of the loss's own head
    SrNodeId more[LOSS_CASE_MORE];
    void *state;
    SrPlan *plan;
} LossCase;

// Sets `kind` to the loss that LOSS.name of the case's config names.
SrStatus loss_case_find(LossCase *r);
// Builds and compiles the loss and draws its parameters. The caller closes r even after an error.
SrStatus loss_case_open(LossCase *r);
void loss_case_close(LossCase *r);
// Runs one step on x (outputs one after the other) and t: hooks, forward, backward, hooks.
// Parameters stay; only state of the loss changes.
SrStatus loss_case_step(LossCase *r, const float *x, const float *t, int64_t iteration,
                        int64_t max_iterations);
double loss_case_value(LossCase *r);
const float *loss_case_gradient(LossCase *r); // gradient of the loss with respect to x
const float *loss_case_gradient_of(LossCase *r, int output);
// Buffers for `recorded`: the prediction of the step, and after the step the gradient with
// respect to it.
float *loss_case_prediction(LossCase *r);
const float *loss_case_prediction_gradient(LossCase *r);

#endif
